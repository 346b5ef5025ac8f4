#pragma once
// One connection of the HTTP server. Internal.

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "shared/http/server_core.h"

namespace acl::internal {

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void Start() = 0;
  // The server stops: an idle connection closes now, a busy one after its answer, a stream ends.
  virtual void Drain() = 0;
  // Closes whatever it does.
  virtual void Abort() = 0;
  // Of a stream: ends it if its reader may no longer have it.
  virtual void Recheck() = 0;
  // Since when it waits for its client, if another connection may have its place: it is idle, still sends its head, or reads an answer
  // that needed no key. Nothing while a request of somebody known is under way.
  virtual std::optional<std::chrono::steady_clock::time_point> IdleSince() const = 0;
  virtual bool probes_only() const = 0;  // it has one of the places for probes
};

// `probes_only`: every place is taken, so it is answered on routes without a key (health, metrics) alone, and once.
std::shared_ptr<HttpConnection> MakeHttpConnection(HttpServerCore& core, boost::asio::ip::tcp::socket socket, bool probes_only);

}  // namespace acl::internal
