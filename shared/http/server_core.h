#pragma once
// What a connection needs of its server. Internal: included by server.cc and connection.cc only. All of it lives on the server's thread
// but for what is marked.

#include <boost/asio/io_context.hpp>
#include <memory>
#include <unordered_set>

#include "shared/http/server.h"
#include "shared/telemetry/names.h"
#include "shared/telemetry/outage.h"

namespace acl::internal {

class HttpConnection;

struct HttpServerCore {
  HttpServerCore(HttpServerOptions o, Router r, BlockingPool* p, Metrics* m)
      : options(std::move(o)),
        router(std::move(r)),
        pool(p),
        metrics(m),
        log(options.name),
        unavailable_(log, clock, {"requests are answered 503", "requests are answered again"}) {}

  const HttpServerOptions options;
  const Router router;
  BlockingPool* const pool;
  Metrics* const metrics;
  const SystemClock clock{};
  const Logger log;
  boost::asio::io_context io{1};
  std::unordered_set<std::shared_ptr<HttpConnection>> connections;
  std::size_t body_bytes = 0;    // reserved for bodies in memory
  std::size_t answer_bytes = 0;  // of large answers that are being written
  bool stopping = false;
  std::function<void()> on_connection_gone;

  // Counts and logs one answered request.
  void Account(const HttpRequest& request, int status, std::chrono::steady_clock::duration took);

 private:
  OutageLog unavailable_;
  std::map<std::string, Counter> requests_;
  std::map<std::string, Histogram> times_;
};

}  // namespace acl::internal
