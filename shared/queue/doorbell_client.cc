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

#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/queue/doorbell_stream.h"
#include "shared/runtime/backoff.h"
#include "shared/telemetry/outage.h"

namespace acl {

namespace asio = boost::asio;
using boost::system::error_code;
using doorbell::Message;
using doorbell::Stream;

struct DoorbellClient::Impl {
  // One coordinator: resolving, connecting, connected or waiting to try again. Whatever waits for it keeps it.
  struct Line : std::enable_shared_from_this<Line> {
    Line(Impl& impl, HostPort at)
        : peer(std::move(at)),
          resolver(impl.io),
          wait(impl.io),
          backoff({.initial = impl.options.retry_min, .max = impl.options.retry_max}, impl.random),
          outage(Logger("doorbell").With({{"coordinator", peer.ToString()}}), impl.clock,
                 {"a coordinator's doorbell is not reached, trying again; work is found by looking meanwhile",
                  "the doorbell is reached again"},
                 {.settle = std::chrono::milliseconds(0)}) {}
    HostPort peer;
    asio::ip::tcp::resolver resolver;
    asio::steady_timer wait;
    Backoff backoff;
    std::shared_ptr<asio::ip::tcp::socket> connecting;
    std::shared_ptr<Stream> stream;
    asio::ip::tcp::endpoint remote;  // while connected
    OutageLog outage;
    bool of_settings = false;
    bool covered = false;  // another line goes to the same place
    bool given_up = false;
    std::uint64_t heard = 0, limit = 0;  // runs granted over this line since its last hello; how many it may grant
  };

  explicit Impl(Options given) : options(std::move(given)) {}

  void Connect(Line& line) {
    if (stopping || line.given_up) return;
    line.resolver.async_resolve(
        line.peer.host, std::to_string(line.peer.port),
        [this, &line, kept = line.shared_from_this()](error_code error, asio::ip::tcp::resolver::results_type found) {
          if (error) return Retry(line, error);
          Try(line, std::make_shared<const std::vector<asio::ip::tcp::endpoint>>(found.begin(), found.end()), 0, {});
        });
  }

  // One address after the other, each within its time.
  void Try(Line& line, const std::shared_ptr<const std::vector<asio::ip::tcp::endpoint>>& addresses, std::size_t n, error_code why) {
    if (stopping || line.given_up) return;
    if (n == addresses->size()) return Retry(line, why);
    if (Covered(line, addresses->at(n))) return;
    line.connecting = std::make_shared<asio::ip::tcp::socket>(io);
    line.wait.expires_after(options.connect_within);
    line.wait.async_wait([socket = line.connecting](error_code early) {
      error_code ignored;
      if (!early) socket->close(ignored);
    });
    line.connecting->async_connect(addresses->at(n), [this, &line, kept = line.shared_from_this(), addresses, n](error_code failed) {
      line.wait.cancel();
      auto socket = std::exchange(line.connecting, nullptr);
      if (failed || stopping || line.given_up) return Try(line, addresses, n + 1, failed);
      if (Covered(line, addresses->at(n))) return;  // two were on their way at the same time
      line.remote = addresses->at(n);
      Connected(line, std::move(*socket));
    });
  }

  // Another line goes there: this one only looks again now and then.
  bool Covered(Line& line, const asio::ip::tcp::endpoint& remote) {
    line.covered = std::any_of(lines.begin(), lines.end(), [&](const auto& other) { return other->stream && other->remote == remote; });
    if (!line.covered) return false;
    TellLines();
    Retry(line, {});
    return true;
  }

  void Connected(Line& line, asio::ip::tcp::socket socket) {
    line.backoff.Reset();
    line.outage.Worked();
    line.stream = std::make_shared<Stream>(
        std::move(socket), [this, &line](const Message& message) { Heard(line, message); },
        [this, &line] {
          line.stream.reset();
          --connected;
          for (const auto& other : lines) other->covered = false;  // perhaps by this one: they find out at their next try
          TellLines();
          Retry(line, asio::error::eof);
        });
    ++connected;
    TellLines();
    line.stream->Start();
    SayHello(line);  // its answer rings for each queue: what was notified while there was no line is found by looking once
  }

  void TellLines() {
    if (!options.on_lines) return;
    const bool known = !living.empty();
    options.on_lines(std::all_of(lines.begin(), lines.end(), [&](const auto& line) {
      return line->stream || line->covered || (known ? !Lives(*line) : !line->of_settings);
    }));
  }

  bool Lives(const Line& line) const { return std::find(living.begin(), living.end(), line.peer) != living.end(); }

  // `why`: nothing, if nothing is wrong.
  void Retry(Line& line, error_code why) {
    if (stopping || line.given_up) return;
    if (!line.of_settings && !living.empty() && !Lives(line)) return GiveUp(line);
    if (why && (living.empty() || Lives(line))) line.outage.Failed({{"error", why.message()}});
    line.wait.expires_after(options.retry_min / 2 + line.backoff.Next());
    line.wait.async_wait([this, &line, kept = line.shared_from_this()](error_code error) {
      if (!error) Connect(line);
    });
  }

  void GiveUp(Line& line) {
    line.given_up = true;
    line.resolver.cancel();
    line.wait.cancel();
    error_code ignored;
    if (line.connecting) line.connecting->close(ignored);
    std::erase_if(lines, [&line, kept = line.shared_from_this()](const auto& one) { return one.get() == &line; });
  }

  void Add(const HostPort& peer, bool of_settings) {
    lines.push_back(std::make_shared<Line>(*this, peer));
    lines.back()->of_settings = of_settings;
    Connect(*lines.back());
  }

  void Learn(std::vector<HostPort> found) {
    if (stopping || found == living) return;
    living = std::move(found);
    for (const HostPort& peer : living) {
      if (std::none_of(lines.begin(), lines.end(), [&](const auto& line) { return line->peer == peer; })) Add(peer, false);
    }
    // Who says nothing any more is heard for as long as its line holds.
    std::vector<std::shared_ptr<Line>> gone;
    for (const auto& line : lines) {
      if (!living.empty() && !line->of_settings && !line->stream && !Lives(*line)) gone.push_back(line);
    }
    for (const auto& line : gone) GiveUp(*line);
    TellLines();
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

  // What one coordinator wants the others to know, who may have what it has not: the job to relay.
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
    const auto announced_room = std::exchange(room_to_tell, std::nullopt);
    lock.unlock();
    if (announced_room && announced_room->first == session) {
      room = announced_room->second;
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
  SystemClock clock;
  std::vector<std::shared_ptr<Line>> lines;
  std::vector<HostPort> living;  // as far as it is known
  WorkerSessionId session;
  int room = 0;
  bool stopping = false;  // on the io thread
  std::atomic<int> connected{0};
  std::atomic<bool> work_to_tell{false};
  // What waits to be told by the thread, which is woken once for all of it.
  std::mutex to_tell_mutex;
  std::vector<SubjectId> closed_to_tell;
  std::vector<std::string> ready_to_tell;  // encoded
  std::optional<std::pair<WorkerSessionId, int>> room_to_tell;
  std::thread thread;
};

DoorbellClient::DoorbellClient(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
DoorbellClient::~DoorbellClient() { Stop(); }

Status DoorbellClient::Start() {
  impl_->guard.emplace(impl_->io.get_executor());
  for (const HostPort& coordinator : impl_->options.coordinators) {
    impl_->Add(coordinator, true);
  }
  impl_->thread = std::thread([this] {
    while (!WithinMemory([this] { impl_->io.run(); })) {  // a hint that is lost costs a poll
    }
  });
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

void DoorbellClient::SetLiving(std::vector<HostPort> living) {
  asio::post(impl_->io, [this, living = std::move(living)]() mutable { impl_->Learn(std::move(living)); });
}

void DoorbellClient::SetSession(const WorkerSessionId& session) {
  asio::post(impl_->io, [this, session] {
    impl_->session = session;
    impl_->room = 0;
    for (auto& line : impl_->lines) {
      if (line->stream) impl_->SayHello(*line);
    }
  });
}

void DoorbellClient::SetRoom(const WorkerSessionId& session, int room) {
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

void DoorbellClient::TellWoken(const SubjectId& subject, const WorkerSessionId& holder) {
  asio::post(impl_->io, [this, subject, holder] { impl_->ToAll(doorbell::EncodeWoken(subject, holder)); });
}

int DoorbellClient::connected() const { return impl_->connected; }

}  // namespace acl
