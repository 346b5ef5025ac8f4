#pragma once
// The HTTP/1.1 server: one thread for all sockets, handlers on a BlockingPool. Every head goes through the strict gate (gate.h); bodies,
// heads, waiting and memory are bounded. No TLS and no HTTP/2: off one machine a proxy that ends TLS stands before it.
//
//   Router router;  router.Add("GET", "/v1/things/{id}", {}, [](const HttpRequest& r) { ... });
//   HttpServer server({.listen = {"127.0.0.1", 0}}, std::move(router), &pool, &metrics);
//   if (auto status = server.Start(); !status) ...   // port taken: the message says so
//   server.address().port
//
// A handler that throws is answered with 500 (503 if memory could not be had) and logged; what a connection cannot allocate ends it alone.
// Stop: no new connections, running requests are answered, streams end, then Stop returns; a handler that never returns holds it up, so
// handlers have deadlines of their own.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "shared/base/host_port.h"
#include "shared/http/gate.h"
#include "shared/http/router.h"
#include "shared/runtime/blocking_pool.h"
#include "shared/runtime/service.h"
#include "shared/telemetry/metrics.h"

namespace acl {

// Asked before a body is read, on the server's thread: may fill `principal`; an answer refuses the request. Must not block.
using HttpAuthorizer = std::function<std::optional<HttpResponse>(HttpRequest& head, const Route& route)>;

struct HttpServerOptions {
  HostPort listen{"127.0.0.1", 0};
  std::string name = "http";  // of the thread and in logs
  GateOptions gate;
  HttpAuthorizer authorize;  // none: everything is allowed
  // Asked of each stream every `recheck`, on the server's thread: false ends it (its key was revoked). None: streams are not asked about.
  std::function<bool(const HttpRequest&)> still_allowed;
  std::chrono::milliseconds recheck{2'000};
  // Asked on the pool, where it may block, about a request that `authorize` refused as `undecided`: its word counts. None: refused it
  // stays.
  HttpAuthorizer look_again;
  // Told of each answer, on the server's thread: must not block.
  std::function<void(const HttpRequest&, int status, std::chrono::steady_clock::duration took)> on_answer;
  std::size_t max_head = 16 * 1024;
  // One more takes the place of the connection that is idle the longest; if none is, it may ask routes without a key (probes), up to
  // `spare_connections` of them; beyond that it is closed at once.
  std::size_t max_connections = 1024, spare_connections = 32;
  std::size_t max_bodies = 256u << 20;   // bytes of bodies in memory, all connections together; above: 503
  std::size_t max_answers = 256u << 20;  // bytes of answers that wait for their readers; above: 503 for a large one, if others wait
  std::chrono::milliseconds head_timeout{10'000};   // from connecting to the end of the first head
  std::chrono::milliseconds idle_timeout{60'000};   // from an answer to the end of the next head
  std::chrono::milliseconds body_timeout{60'000};   // for a body as a whole
  std::chrono::milliseconds write_timeout{60'000};  // for an answer, and for each part of a stream
  std::chrono::milliseconds drain{5'000};           // Stop: how long clients may take to read their answers
};

class HttpServer final : public Service {
 public:
  // `pool` may be null if every route is on_server_thread; both outlive the server.
  HttpServer(HttpServerOptions options, Router router, BlockingPool* pool, Metrics* metrics);
  ~HttpServer() override;

  Status Start() override;
  void Stop() override;
  HostPort address() const;  // with the port in force; after Start
  const Router& router() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acl
