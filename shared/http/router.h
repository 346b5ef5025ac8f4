#pragma once
// Method and path pattern to handler. Patterns: "/v1/workflows/{id}/cancel"; "{path...}" as the last segment takes the rest, slashes
// included. A literal segment wins over a parameter.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/http/message.h"

namespace acl {

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct RouteOptions {
  std::size_t max_body = 0;                // 0: takes no body, one is refused
  std::vector<std::string> content_types;  // of a body, without parameters; empty: any
  bool body_required = false;
  bool on_server_thread = false;  // quick and never blocking (health): not sent to the pool
  bool open = false;              // no API key needed
  // Asked first, on the server's thread: it answers what it can without blocking, in much less time than a thread takes to wake; what it
  // leaves (nothing) goes to the handler on the pool.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> quick = {};
};

struct Route {
  std::string method, pattern;
  RouteOptions options;
  HttpHandler handler;
  std::vector<std::string> segments;  // of the pattern
};

class Router {
 public:
  // GET answers HEAD too. The pattern starts with "/"; the same method and pattern twice is a programmer's error.
  void Add(std::string method, std::string pattern, RouteOptions options, HttpHandler handler);

  struct Match {
    const Route* route = nullptr;
    std::map<std::string, std::string> params;
    std::set<std::string> allowed;  // methods the path has, if the asked one is not among them; empty: no such path
    bool malformed = false;         // the path does not decode
  };
  Match Find(std::string_view method, std::string_view path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace acl
