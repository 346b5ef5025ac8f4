#pragma once
// How much of one text stands in another, by shingles of three words: what is copied with some words changed is still known.

#include <string>
#include <string_view>
#include <unordered_set>

namespace acl::memory {

class Shingles {
 public:
  static constexpr std::size_t kWords = 3;

  explicit Shingles(std::string_view plain);
  // A text of so few shingles says nothing of its own ("run the tests").
  bool is_short() const { return all_.size() < 3; }
  // The part of these shingles that stands in the other text: 0 to 1.
  double PartIn(const Shingles& other) const;

 private:
  std::unordered_set<std::string> all_;
};

}  // namespace acl::memory
