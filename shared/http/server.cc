#include "shared/http/server.h"

#include <pthread.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>

#include "shared/base/memory.h"
#include "shared/http/connection.h"

namespace acl {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace internal {

void HttpServerCore::Account(const HttpRequest& request, int status, std::chrono::steady_clock::duration took) {
  if (options.on_answer) options.on_answer(request, status, took);
  const double seconds = std::chrono::duration<double>(took).count();
  const std::string route = request.route.empty() ? "none" : request.route;
  if (metrics != nullptr) {
    const auto key = request.method + " " + route + " " + std::to_string(status);
    auto it = requests_.find(key);
    if (it == requests_.end()) {
      const bool known = !request.route.empty();  // else the method is the client's invention
      const MetricLabels labels = {{"route", route}, {"method", known ? request.method : "none"}, {"status", std::to_string(status)}};
      if (requests_.size() > 2000) requests_.clear();
      it = requests_.emplace(key, metrics->counter(names::kHttpRequests, labels)).first;
    }
    it->second.Add();
    auto time = times_.find(route);
    if (time == times_.end()) time = times_.emplace(route, metrics->histogram(names::kHttpTime, {{"route", route}})).first;
    time->second.Observe(seconds);
  }
  // While what the API stands on is away, every request is answered so: said as one outage, not by each.
  const bool passing = status == 503;
  if (passing && request.path != "/readyz") unavailable_.Failed({{"path", request.path}, {"request_id", request.request_id}});
  if (!passing && request.path != "/readyz") unavailable_.Worked();
  const LogLevel level = status >= 500 && !passing                             ? LogLevel::kWarn
                         : request.method == "GET" || request.method == "HEAD" ? LogLevel::kDebug
                                                                               : LogLevel::kInfo;
  log.Write(level, "request",
            {{"method", request.method},
             {"path", request.path},
             {"status", status},
             {"duration_ms", seconds * 1000},
             {"request_id", request.request_id},
             {"trace_id", request.trace_id},
             {"peer", request.peer},
             {"principal", request.principal}});
}

}  // namespace internal

struct HttpServer::Impl {
  Impl(HttpServerOptions options, Router router, BlockingPool* pool, Metrics* metrics)
      : core(std::move(options), std::move(router), pool, metrics),
        accepting(core.log, core.clock, {"accept failed, trying again", "connections are accepted again"}),
        acceptor(core.io),
        retry(core.io),
        drain(core.io),
        recheck(core.io) {
    if (metrics != nullptr) open = metrics->gauge(names::kHttpConnections, {{"listener", core.options.name}});
  }

  internal::HttpServerCore core;
  OutageLog accepting;
  tcp::acceptor acceptor;
  asio::steady_timer retry, drain, recheck;
  Gauge open;
  HostPort address;
  std::optional<std::chrono::steady_clock::time_point> said_full;
  std::int64_t turned_away = 0;
  std::mutex mutex;  // Start and Stop
  std::thread thread;

  Status Listen();
  void Accept();
  void Welcome(tcp::socket socket);
  bool MakeRoom(bool for_probe);
  void RecheckStreams();
  void SayFull(bool room_was_made);
  void BeginStop();
};

Status HttpServer::Impl::Listen() {
  const auto& listen = core.options.listen;
  const auto fail = [&](const std::string& what, const error_code& error) {
    std::string hint;
    if (error == asio::error::address_in_use) hint = "; another process listens there: stop it, or choose another port (0 = any free one)";
    if (error == asio::error::access_denied) hint = "; ports below 1024 need a privilege: choose a higher one";
    return Error{Code::kUnavailable, "cannot " + what + " " + listen.ToString() + ": " + error.message() + hint};
  };
  error_code error;
  tcp::resolver resolver(core.io);
  const auto found =
      resolver.resolve(listen.host, std::to_string(listen.port), tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) return fail("resolve", error);
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    error_code ignored;
    acceptor.close(ignored);
    return fail("listen on", error);
  }
  address = {listen.host, acceptor.local_endpoint().port()};
  return {};
}

void HttpServer::Impl::Accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (core.stopping) return;
    if (error) {
      // Out of descriptors, or the peer is gone already: breathe, then go on.
      accepting.Failed({{"error", error.message()}});
      retry.expires_after(std::chrono::milliseconds(50));
      retry.async_wait([this](error_code cancelled) {
        if (!cancelled && !core.stopping) UntilThereIsMemory([this] { Accept(); });
      });
      return;
    }
    accepting.Worked();
    (void)WithinMemory([&] { Welcome(std::move(socket)); });  // without memory it is closed, as one too many is
    UntilThereIsMemory([this] { Accept(); });
  });
}

// Whoever keeps connections open without asking anything keeps nobody out. The places for probes are counted apart: none of them takes one
// of the others, and closing one makes no room there.
bool HttpServer::Impl::MakeRoom(bool for_probe) {
  const std::size_t places = for_probe ? core.options.spare_connections : core.options.max_connections;
  if (core.connections.size() < places) return true;
  std::size_t taken = 0;
  std::shared_ptr<internal::HttpConnection> oldest;
  std::optional<std::chrono::steady_clock::time_point> since;
  for (const auto& connection : core.connections) {
    if (connection->probes_only() != for_probe) continue;
    ++taken;
    const auto idle = connection->IdleSince();
    if (idle && (!since || *idle < *since)) oldest = connection, since = idle;
  }
  if (taken < places) return true;
  if (!for_probe) SayFull(since.has_value());
  if (oldest) oldest->Abort();
  return oldest != nullptr;
}

// At most a line a minute.
void HttpServer::Impl::SayFull(bool room_was_made) {
  ++turned_away;
  const auto now = SystemClock().Steady();
  if (said_full && now - *said_full < std::chrono::minutes(1)) return;
  said_full = now;
  core.log.Warn(
      room_was_made ? "all connections are in use: idle ones are closed for new ones" : "all connections are in use: new ones are refused",
      {{"max_connections", std::int64_t(core.options.max_connections)}, {"since_start", turned_away}});
}

void HttpServer::Impl::Welcome(tcp::socket socket) {
  const bool room = MakeRoom(false);
  if (!room && !MakeRoom(true)) return;
  auto connection = internal::MakeHttpConnection(core, std::move(socket), !room);
  core.connections.insert(connection);
  open.Set(double(core.connections.size()));
  connection->Start();
}

void HttpServer::Impl::RecheckStreams() {
  recheck.expires_after(core.options.recheck);
  recheck.async_wait([this](error_code cancelled) {
    if (cancelled || core.stopping) return;
    const auto all = core.connections;  // ending one takes it out of the set
    for (const auto& connection : all) connection->Recheck();
    RecheckStreams();
  });
}

void HttpServer::Impl::BeginStop() {
  core.stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  retry.cancel();
  recheck.cancel();
  const auto all = core.connections;  // draining takes connections out of the set
  for (const auto& connection : all) connection->Drain();
  drain.expires_after(core.options.drain);
  drain.async_wait([this](error_code cancelled) {
    if (cancelled) return;
    const auto left = core.connections;
    for (const auto& connection : left) connection->Abort();
  });
  if (core.connections.empty()) drain.cancel();
}

HttpServer::HttpServer(HttpServerOptions options, Router router, BlockingPool* pool, Metrics* metrics)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(router), pool, metrics)) {
  for (const auto& route : impl_->core.router.routes()) {
    ACL_CHECK(pool != nullptr || route.options.on_server_thread, "a route that may block needs a pool");
  }
  impl_->core.on_connection_gone = [impl = impl_.get()] {
    impl->open.Set(double(impl->core.connections.size()));
    if (impl->core.stopping && impl->core.connections.empty()) impl->drain.cancel();
  };
}

HttpServer::~HttpServer() { Stop(); }

Status HttpServer::Start() {
  std::lock_guard lock(impl_->mutex);
  ACL_CHECK(!impl_->thread.joinable(), "started twice");
  if (auto status = impl_->Listen(); !status) return status;
  impl_->Accept();
  if (impl_->core.options.still_allowed) impl_->RecheckStreams();
  impl_->thread = std::thread([impl = impl_.get()] {
    pthread_setname_np(pthread_self(), impl->core.options.name.substr(0, 15).c_str());
    while (!WithinMemory([&] { impl->core.io.run(); })) {  // returns when nothing is left to do: after BeginStop
    }
  });
  return {};
}

void HttpServer::Stop() {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->thread.joinable()) return;
  UntilThereIsMemory([this] { asio::post(impl_->core.io, [impl = impl_.get()] { impl->BeginStop(); }); });
  impl_->thread.join();
}

HostPort HttpServer::address() const { return impl_->address; }
const Router& HttpServer::router() const { return impl_->core.router; }

}  // namespace acl
