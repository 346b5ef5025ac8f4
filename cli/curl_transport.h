#pragma once
// Transport over libcurl: one handle, so that connections are kept alive. No redirects, no proxies for loopback, http and https only.

#include "cli/api_client.h"

namespace acl::cli {

// `server`: http://host:port without a path behind it.
std::unique_ptr<Transport> MakeCurlTransport(const std::string& server);

}  // namespace acl::cli
