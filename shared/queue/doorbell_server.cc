#include "shared/queue/doorbell_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "shared/base/memory.h"
#include "shared/queue/doorbell_stream.h"
#include "shared/telemetry/names.h"

namespace acl {

namespace asio = boost::asio;
using boost::system::error_code;
using doorbell::Message;
using doorbell::Stream;

namespace {
constexpr std::chrono::milliseconds kAcceptAgain{100};
constexpr std::chrono::seconds kHelloWithin{10};  // after that the place goes to somebody else
}  // namespace

struct DoorbellServer::Impl {
  struct Peer {
    std::shared_ptr<Stream> stream;
    std::shared_ptr<asio::steady_timer> hello_within;  // null once it said hello
    WorkerSessionId session;
    std::vector<std::string> queues;
    bool by_messages = false;
  };

  struct Hints {
    Counter sent, dropped;
  };

  explicit Impl(Options given) : options(std::move(given)), acceptor(io) {
    if (options.metrics == nullptr) return;
    Metrics& metrics = *options.metrics;
    peers_gauge = metrics.gauge(names::kDoorbellPeers);
    for (auto [hints, kind] :
         {std::pair(&work_hints, "work"), {&woken_hints, "woken"}, {&granted_hints, "granted"}, {&pass_on_hints, "pass_on"}}) {
      hints->sent = metrics.counter(names::kDoorbellHints, {{"kind", kind}, {"fate", "sent"}});
      hints->dropped = metrics.counter(names::kDoorbellHints, {{"kind", kind}, {"fate", "dropped"}});
    }
  }

  void Accept() {
    acceptor.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
      if (!error && int(peers.size()) < options.max_peers) Welcome(std::move(socket));
      if (!error) return Accept();
      again.expires_after(kAcceptAgain);  // no file descriptor is left, perhaps: it would fail at once, for ever
      again.async_wait([this](error_code ended) {
        if (!ended) Accept();
      });
    });
  }

  void Welcome(asio::ip::tcp::socket socket) {
    const std::int64_t number = ++next_peer;
    auto stream = std::make_shared<Stream>(
        std::move(socket), [this, number](const Message& message) { Heard(number, message); },
        [this, number] {
          Peer& gone = peers[number];
          if (gone.hello_within) gone.hello_within->cancel();
          peers.erase(number);
          room.Gone(number);
          CountPeers();
        });
    Peer& peer = peers[number];
    peer.stream = stream;
    peer.hello_within = std::make_shared<asio::steady_timer>(io, kHelloWithin);
    peer.hello_within->async_wait([stream, timer = peer.hello_within](error_code ended) {
      if (!ended) stream->Close();
    });
    CountPeers();
    stream->Start();
  }

  void CountPeers() {
    peer_count = std::int64_t(peers.size());
    peers_gauge.Set(double(peers.size()));
  }

  void Heard(std::int64_t number, const Message& message) {
    ++received;
    auto peer = peers.find(number);
    if (peer == peers.end()) return;
    if (message.kind == Message::Kind::kHello) {
      if (peer->second.hello_within) peer->second.hello_within->cancel();
      peer->second.hello_within = nullptr;
      peer->second.session = message.session;
      peer->second.queues = message.queues;
      peer->second.by_messages = message.by_messages;
      room.Hello(number, message.session, message.queues);
      // What was notified before it was known here is found by looking once, now: what is notified from here on reaches it.
      for (const std::string& queue : message.queues) Send(peer->second, doorbell::EncodeWork(queue), work_hints);
    } else if (peer->second.hello_within) {
      if (message.kind != Message::Kind::kPing) peer->second.stream->Close();  // hello comes first
    } else if (message.kind == Message::Kind::kRoom) {
      room.Room(number, message.session, message.limit, message.known_version, message.kinds);
    } else if (message.kind == Message::Kind::kClosed && options.on_closed) {
      options.on_closed(message.subject);
    } else if (message.kind == Message::Kind::kWork) {
      if (!message.queue.empty()) RingWork(message.queue);
      HeardWork(message);
    } else if (message.kind == Message::Kind::kWoken) {
      RingSubject(message.session, message.subject);
    }
  }

  void HeardWork(const Message& message) {
    std::vector<StepMessage> ready;
    for (const std::string& bytes : message.ready) {
      auto row = DecodeStepMessage(bytes);
      if (!row) continue;
      // Nobody vouches for it. The key finds the row or nothing; what else was said could keep workers from looking.
      row->kind.clear();
      row->required_version = 1;
      ready.push_back(std::move(*row));
    }
    const bool all = !message.ready.empty() && ready.size() == message.ready.size();
    if (all && options.on_ready) return options.on_ready(ready);
    if (options.on_work) options.on_work();
  }

  void Send(Peer& peer, std::string frame, Hints& hints) {
    const bool went = peer.stream->Send(std::move(frame));
    ++(went ? sent : dropped);
    (went ? hints.sent : hints.dropped).Add();
  }

  void RingSubject(const WorkerSessionId& holder, const SubjectId& subject) {
    if (holder.is_nil()) return;
    for (auto& [number, peer] : peers) {
      if (peer.session == holder) Send(peer, doorbell::EncodeWoken(subject), woken_hints);
    }
  }

  void RingGranted(const WorkerSessionId& session, const std::vector<SubjectId>& subjects) {
    for (auto& [number, peer] : peers) {
      if (peer.session != session) continue;
      for (std::string& frame : doorbell::EncodeGranted(session, subjects)) Send(peer, std::move(frame), granted_hints);
    }
  }

  void RingWork(const std::string& queue, bool look = false, bool told = false) {
    std::vector<Peer*> takers;
    for (auto& [number, peer] : peers) {
      if (told && peer.by_messages) continue;
      if (std::find(peer.queues.begin(), peer.queues.end(), queue) != peer.queues.end()) takers.push_back(&peer);
    }
    const std::size_t count = std::min<std::size_t>(takers.size(), std::size_t(options.ring_at_once));
    for (std::size_t i = 0; i < count; ++i) Send(*takers[(turn + i) % takers.size()], doorbell::EncodeWork(queue, look), work_hints);
    turn += count;
  }

  void PassOn(const std::vector<StepMessage>& rows) {
    std::vector<Peer*> workers;
    for (auto& [number, peer] : peers) {
      if (!peer.session.is_nil()) workers.push_back(&peer);
    }
    if (workers.empty()) return;  // the others look
    Peer& worker = *workers[pass_on_turn++ % workers.size()];
    std::vector<std::string> messages;
    for (const StepMessage& row : rows) messages.push_back(EncodeStepMessage(row));
    for (std::string& frame : doorbell::EncodePassOn(messages)) Send(worker, std::move(frame), pass_on_hints);
  }

  const Options options;
  asio::io_context io{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard;
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer again{io};
  std::map<std::int64_t, Peer> peers;  // on the io thread only
  std::int64_t next_peer = 0;
  std::size_t turn = 0, pass_on_turn = 0;
  std::atomic<std::int64_t> sent{0}, dropped{0}, received{0}, peer_count{0};
  Gauge peers_gauge;
  Hints work_hints, woken_hints, granted_hints, pass_on_hints;
  GrantBook room;
  HostPort address;
  std::thread thread;
};

DoorbellServer::DoorbellServer(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
DoorbellServer::~DoorbellServer() { Stop(); }

Status DoorbellServer::Start() {
  error_code error;
  asio::ip::tcp::resolver resolver(impl_->io);
  auto found = resolver.resolve(impl_->options.listen.host, std::to_string(impl_->options.listen.port), error);
  if (error || found.empty()) {
    return Error{Code::kInvalid, fmt::format("doorbell: cannot resolve '{}': {}", impl_->options.listen.ToString(), error.message())};
  }
  const asio::ip::tcp::endpoint endpoint = found.begin()->endpoint();
  impl_->acceptor.open(endpoint.protocol(), error);
  if (!error) impl_->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) impl_->acceptor.bind(endpoint, error);
  if (!error) impl_->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{Code::kUnavailable, fmt::format("doorbell: cannot listen on {}: {}; end what uses it, or set ACL_DOORBELL_LISTEN",
                                                 impl_->options.listen.ToString(), error.message())};
  }
  impl_->address = HostPort{impl_->options.listen.host, impl_->acceptor.local_endpoint().port()};
  impl_->guard.emplace(impl_->io.get_executor());
  impl_->Accept();
  impl_->thread = std::thread([this] {
    while (!WithinMemory([this] { impl_->io.run(); })) {  // a hint that is lost costs a poll
    }
  });
  return {};
}

void DoorbellServer::Stop() {
  if (!impl_->thread.joinable()) return;
  asio::post(impl_->io, [this] {
    error_code ignored;
    impl_->acceptor.close(ignored);
    impl_->again.cancel();
    auto peers = impl_->peers;
    for (auto& [number, peer] : peers) peer.stream->Close();
    impl_->guard.reset();
  });
  impl_->thread.join();
}

HostPort DoorbellServer::address() const { return impl_->address; }

void DoorbellServer::RingWork(const std::string& queue, bool look) {
  asio::post(impl_->io, [this, queue, look] { impl_->RingWork(queue, look); });
}

void DoorbellServer::RingHinted(const std::string& queue) {
  asio::post(impl_->io, [this, queue] { impl_->RingWork(queue, false, true); });
}

void DoorbellServer::PassOn(std::vector<StepMessage> rows) {
  asio::post(impl_->io, [this, rows = std::move(rows)] { impl_->PassOn(rows); });
}

void DoorbellServer::RingSubject(const WorkerSessionId& holder, const SubjectId& subject) {
  asio::post(impl_->io, [this, holder, subject] { impl_->RingSubject(holder, subject); });
}

void DoorbellServer::RingGranted(const WorkerSessionId& session, std::vector<SubjectId> subjects) {
  asio::post(impl_->io, [this, session, subjects = std::move(subjects)] { impl_->RingGranted(session, subjects); });
}

GrantBook& DoorbellServer::room() { return impl_->room; }

DoorbellServer::Counts DoorbellServer::counts() const { return {impl_->peer_count, impl_->sent, impl_->dropped, impl_->received}; }

void DoorbellServer::CutAll() {
  asio::post(impl_->io, [this] {
    auto peers = impl_->peers;
    for (auto& [number, peer] : peers) peer.stream->Close();
  });
}

}  // namespace acl
