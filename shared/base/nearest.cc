#include "shared/base/nearest.h"

#include <algorithm>

namespace acl {

int EditDistance(std::string_view from, std::string_view to) {
  const std::size_t width = to.size() + 1;
  std::vector<int> before(width), last(width), now(width);
  for (std::size_t j = 0; j < width; ++j) last[j] = int(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    now[0] = int(i);
    for (std::size_t j = 1; j < width; ++j) {
      const int cost = from[i - 1] == to[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + cost});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[to.size()];
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 200;  // nobody mistypes more than that, and the work is quadratic
  if (word.size() > kLongest) return "";
  std::string best;
  int best_distance = 0;
  for (const auto& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const int distance = EditDistance(word, candidate);
    const int allowed = std::max(1, int(std::max(word.size(), candidate.size())) / 3);
    if (distance <= allowed && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace acl
