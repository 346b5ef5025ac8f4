#pragma once
// "did you mean": the nearest of some known words.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace acl {

// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other.
inline int EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = int(i);
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = int(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// As other engines write names: continueOnError, on-failure, If.
inline std::string InSnakeCase(std::string_view name) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (upper(name[i]) && i > 0 && name[i - 1] >= 'a' && name[i - 1] <= 'z') out += '_';
    out += name[i] == '-' ? '_' : upper(name[i]) ? char(name[i] + 32) : name[i];
  }
  return out;
}

// Empty if nothing is near (more than a third of the word would have to change). Words over 100 bytes are near nothing.
inline std::string NearestSpelling(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.empty() || word.size() > 100) return "";
  std::string_view best;
  int best_distance = std::max(1, int(word.size()) / 3) + 1;
  for (auto candidate : known) {
    int distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

}  // namespace acl
