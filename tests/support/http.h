#pragma once
// What tests ask over HTTP: the client of chaos/http, which stands outside the fleet as they do.

#include <cstdint>

#include "chaos/http/client.h"

namespace acl::test {

using chaos::Http;
using chaos::HttpAnswer;
using chaos::HttpAsk;

// Patience for sanitizers on a loaded machine.
inline constexpr std::chrono::milliseconds kHttpPatience{20'000};
inline HttpAnswer HttpGet(const std::string& url) { return Http({"GET", url, "", {}, kHttpPatience}); }

// A TCP port on 127.0.0.1 that nobody listens on, below the range the kernel gives to clients.
std::uint16_t FreePort();

}  // namespace acl::test
