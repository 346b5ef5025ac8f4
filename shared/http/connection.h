#pragma once
// One connection of the HTTP server. Internal.

#include <boost/asio/ip/tcp.hpp>
#include <memory>

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
};

std::shared_ptr<HttpConnection> MakeHttpConnection(HttpServerCore& core, boost::asio::ip::tcp::socket socket);

}  // namespace acl::internal
