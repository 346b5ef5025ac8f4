#include "shared/http/router.h"

#include "shared/base/check.h"
#include "shared/http/url.h"

namespace acl {
namespace {

std::vector<std::string> Split(std::string_view path) {
  std::vector<std::string> out;
  path.remove_prefix(1);
  for (;;) {
    const auto slash = path.find('/');
    out.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

bool IsParam(const std::string& segment) { return segment.starts_with('{'); }
bool IsRest(const std::string& segment) { return segment.ends_with("...}"); }
std::string ParamName(const std::string& segment) { return segment.substr(1, segment.size() - (IsRest(segment) ? 5 : 2)); }

// -1: no match; else how many segments matched literally.
int Fit(const Route& route, const std::vector<std::string>& path, std::map<std::string, std::string>& params) {
  int literal = 0;
  const auto& pattern = route.segments;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (i >= path.size()) return -1;
    if (!IsParam(pattern[i])) {
      if (pattern[i] != path[i]) return -1;
      ++literal;
    } else if (IsRest(pattern[i])) {
      std::string rest = path[i];
      for (std::size_t k = i + 1; k < path.size(); ++k) rest += "/" + path[k];
      if (rest.empty()) return -1;
      params[ParamName(pattern[i])] = std::move(rest);
      return literal;
    } else {
      if (path[i].empty()) return -1;
      params[ParamName(pattern[i])] = path[i];
    }
  }
  return pattern.size() == path.size() ? literal : -1;
}

}  // namespace

void Router::Add(std::string method, std::string pattern, RouteOptions options, HttpHandler handler) {
  ACL_CHECK(pattern.starts_with('/'), "a pattern starts with /");
  for (const auto& route : routes_) ACL_CHECK(route.method != method || route.pattern != pattern, "the route is there already");
  auto segments = Split(pattern);
  routes_.push_back({std::move(method), std::move(pattern), std::move(options), std::move(handler), std::move(segments)});
}

Router::Match Router::Find(std::string_view method, std::string_view path) const {
  Match best;
  if (!path.starts_with('/')) return best;
  std::vector<std::string> segments = Split(path);
  for (auto& segment : segments) {
    auto decoded = PercentDecode(segment);
    if (!decoded) {
      best.malformed = true;
      return best;
    }
    segment = std::move(*decoded);
  }
  // The most literal pattern that fits is what the path names; the methods of others, which would fit too, are not its own.
  int best_score = -1;
  for (const auto& route : routes_) {
    std::map<std::string, std::string> params;
    const int score = Fit(route, segments, params);
    if (score < 0 || score < best_score) continue;
    if (score > best_score) best = Match();
    best_score = score;
    best.allowed.insert(route.method);
    if (route.method == "GET") best.allowed.insert("HEAD");
    if (route.method != method && !(method == "HEAD" && route.method == "GET")) continue;
    best.route = &route;
    best.params = std::move(params);
  }
  if (best.route != nullptr) best.allowed.clear();
  return best;
}

}  // namespace acl
