#include "shared/queue/doorbell_client.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/random.h"
#include "shared/queue/doorbell_stream.h"
#include "shared/runtime/backoff.h"

namespace acl {

namespace asio = boost::asio;
using boost::system::error_code;
using doorbell::Message;
using doorbell::Stream;

struct DoorbellClient::Impl {
  // One coordinator: resolving, connecting, connected or waiting to try again.
  struct Line {
    Line(Impl& impl, HostPort at)
        : peer(std::move(at)),
          resolver(impl.io),
          wait(impl.io),
          backoff({.initial = impl.options.retry_min, .max = impl.options.retry_max}, impl.random) {}
    HostPort peer;
    asio::ip::tcp::resolver resolver;
    asio::steady_timer wait;
    Backoff backoff;
    std::shared_ptr<asio::ip::tcp::socket> connecting;
    std::shared_ptr<Stream> stream;
    std::uint64_t heard = 0, limit = 0;  // runs granted over this line since its last hello; how many it may grant
  };

  explicit Impl(Options given) : options(std::move(given)) {}

  void Connect(Line& line) {
    if (stopping) return;
    line.resolver.async_resolve(line.peer.host, std::to_string(line.peer.port),
                                [this, &line](error_code error, asio::ip::tcp::resolver::results_type found) {
                                  if (error) return Retry(line);
                                  Try(line, std::make_shared<const std::vector<asio::ip::tcp::endpoint>>(found.begin(), found.end()), 0);
                                });
  }

  // One address after the other, each within its time.
  void Try(Line& line, const std::shared_ptr<const std::vector<asio::ip::tcp::endpoint>>& addresses, std::size_t n) {
    if (stopping) return;
    if (n == addresses->size()) return Retry(line);
    line.connecting = std::make_shared<asio::ip::tcp::socket>(io);
    line.wait.expires_after(options.connect_within);
    line.wait.async_wait([socket = line.connecting](error_code early) {
      error_code ignored;
      if (!early) socket->close(ignored);
    });
    line.connecting->async_connect(addresses->at(n), [this, &line, addresses, n](error_code failed) {
      line.wait.cancel();
      auto socket = std::exchange(line.connecting, nullptr);
      if (failed || stopping) return Try(line, addresses, n + 1);
      Connected(line, std::move(*socket));
    });
  }

  void Connected(Line& line, asio::ip::tcp::socket socket) {
    line.backoff.Reset();
    line.stream = std::make_shared<Stream>(
        std::move(socket), [this, &line](const Message& message) { Heard(line, message); },
        [this, &line] {
          line.stream.reset();
          --connected;
          TellLines();
          Retry(line);
        });
    ++connected;
    TellLines();
    line.stream->Start();
    SayHello(line);  // its answer rings for each queue: what was rung while there was no line is found by looking once
  }

  void TellLines() {
    if (options.on_lines) options.on_lines(connected == int(lines.size()));
  }

  void Retry(Line& line) {
    if (stopping) return;
    line.wait.expires_after(options.retry_min / 2 + line.backoff.Next());
    line.wait.async_wait([this, &line](error_code error) {
      if (!error) Connect(line);
    });
  }

  void SayHello(Line& line) {
    line.heard = line.limit = 0;
    line.stream->Send(Hello());
    TellRoom(line);
  }

  // Said anew when a quarter of the share was used, not for every run.
  void TellRoom(Line& line) {
    const std::uint64_t share = session.is_nil() ? 0 : std::uint64_t(room / std::max(1, connected.load()));
    const std::uint64_t left = line.limit > line.heard ? line.limit - line.heard : 0;
    if (!line.stream || (left == share) || (left < share && left > share - share / 4)) return;
    line.limit = line.heard + share;
    line.stream->Send(doorbell::EncodeRoom(session, line.limit, options.known_version, options.kinds));
  }

  void Heard(Line& line, const Message& message) {
    if (message.kind == Message::Kind::kGranted && message.session == session && options.on_granted) {
      line.heard += message.subjects.size();
      options.on_granted(message.session, message.subjects);
      TellRoom(line);
    }
    if (message.kind == Message::Kind::kWork && message.look && options.on_look) options.on_look();
    if (message.kind == Message::Kind::kWork) options.on_work(message.queue);
    if (message.kind == Message::Kind::kWoken) options.on_woken(message.subject);
    if (message.kind == Message::Kind::kPassOn) PassOn(line, message.ready);
  }

  // What one coordinator wants the others to know, who may have what it has not: the duty to relay.
  void PassOn(const Line& from, const std::vector<std::string>& ready) {
    const auto frames = ready.empty() ? std::vector{doorbell::EncodeWork("")} : doorbell::EncodeReady(ready);
    for (auto& line : lines) {
      if (line.get() == &from || !line->stream) continue;
      for (const std::string& frame : frames) line->stream->Send(frame);
    }
  }

  std::string Hello() const { return doorbell::EncodeHello(session, options.queues, options.worker_name, options.by_messages); }

  // Has something wait to be told.
  void Wait(const std::function<void(Impl&)>& what) {
    bool first;
    {
      std::lock_guard lock(to_tell_mutex);
      first = closed_to_tell.empty() && ready_to_tell.empty() && !room_to_tell;
      what(*this);
    }
    if (first) asio::post(io, [this] { TellThose(); });
  }

  void TellThose() {
    std::unique_lock lock(to_tell_mutex);
    const auto closed = std::exchange(closed_to_tell, {});
    const auto ready = std::exchange(ready_to_tell, {});
    const auto told_room = std::exchange(room_to_tell, std::nullopt);
    lock.unlock();
    if (told_room && told_room->first == session) {
      room = told_room->second;
      for (auto& line : lines) TellRoom(*line);
    }
    std::string frames;
    for (const SubjectId& subject : closed) frames += doorbell::EncodeClosed(subject);
    if (!frames.empty()) ToAll(frames);
    for (const std::string& frame : doorbell::EncodeReady(ready)) ToAll(frame);
  }

  void ToAll(const std::string& frame) {
    for (auto& line : lines) {
      if (line->stream) line->stream->Send(frame);
    }
  }

  const Options options;
  SystemRandom random;
  asio::io_context io{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard;
  std::vector<std::unique_ptr<Line>> lines;
  SessionId session;
  int room = 0;
  bool stopping = false;  // on the io thread
  std::atomic<int> connected{0};
  std::atomic<bool> work_to_tell{false};
  // What waits to be told by the thread, which is woken once for all of it.
  std::mutex to_tell_mutex;
  std::vector<SubjectId> closed_to_tell;
  std::vector<std::string> ready_to_tell;  // encoded
  std::optional<std::pair<SessionId, int>> room_to_tell;
  std::thread thread;
};

DoorbellClient::DoorbellClient(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
DoorbellClient::~DoorbellClient() { Stop(); }

Status DoorbellClient::Start() {
  impl_->guard.emplace(impl_->io.get_executor());
  for (const HostPort& coordinator : impl_->options.coordinators) {
    impl_->lines.push_back(std::make_unique<Impl::Line>(*impl_, coordinator));
    impl_->Connect(*impl_->lines.back());
  }
  impl_->thread = std::thread([this] { impl_->io.run(); });
  return {};
}

void DoorbellClient::Stop() {
  if (!impl_->thread.joinable()) return;
  asio::post(impl_->io, [this] {
    impl_->stopping = true;
    for (auto& line : impl_->lines) {
      line->resolver.cancel();
      line->wait.cancel();
      error_code ignored;
      if (line->connecting) line->connecting->close(ignored);
      if (auto stream = line->stream) stream->Close();
    }
    impl_->guard.reset();
  });
  impl_->thread.join();
}

void DoorbellClient::SetSession(const SessionId& session) {
  asio::post(impl_->io, [this, session] {
    impl_->session = session;
    impl_->room = 0;
    for (auto& line : impl_->lines) {
      if (line->stream) impl_->SayHello(*line);
    }
  });
}

void DoorbellClient::SetRoom(const SessionId& session, int room) {
  impl_->Wait([&](Impl& impl) { impl.room_to_tell = {session, room}; });
}

void DoorbellClient::TellClosed(const SubjectId& subject) {
  impl_->Wait([&](Impl& impl) { impl.closed_to_tell.push_back(subject); });
}

void DoorbellClient::TellWork() {
  if (impl_->work_to_tell.exchange(true)) return;
  asio::post(impl_->io, [this] {
    impl_->work_to_tell = false;
    impl_->ToAll(doorbell::EncodeWork(""));
  });
}

void DoorbellClient::TellReady(const std::vector<StepMessage>& rows) {
  if (rows.empty()) return;
  impl_->Wait([&](Impl& impl) {
    for (const StepMessage& row : rows) impl.ready_to_tell.push_back(EncodeStepMessage(row));
  });
}

void DoorbellClient::TellWork(const std::string& queue) {
  asio::post(impl_->io, [this, queue] { impl_->ToAll(doorbell::EncodeWork(queue)); });
}

void DoorbellClient::TellWoken(const SubjectId& subject, const SessionId& holder) {
  asio::post(impl_->io, [this, subject, holder] { impl_->ToAll(doorbell::EncodeWoken(subject, holder)); });
}

int DoorbellClient::connected() const { return impl_->connected; }

}  // namespace acl
