#pragma once
// How much of one text stands in another, by shingles of three words: what is copied with some words changed is still known.

#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace acl::memory {

class Shingles {
 public:
  static constexpr int kWords = 3;

  explicit Shingles(std::string_view plain);
  // A text of so few shingles says nothing of its own ("run the tests").
  bool is_short() const { return all_.size() < 3; }
  // The part of these shingles that stands in the other text: 0 to 1.
  double PartIn(const Shingles& other) const;
  // Whether any stands in the text: far cheaper than the shingles of that text, of which a project has thousands.
  bool AnyIn(std::string_view plain) const;

 private:
  std::unordered_set<std::uint64_t> all_;  // hashes
};

}  // namespace acl::memory
