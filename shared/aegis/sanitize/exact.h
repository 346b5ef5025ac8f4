#pragma once
// Finds secrets that are known, in every form in which programs write them: as they are, base64 and base64url (also as a part of something
// longer), hex, percent-encoded, escaped in JSON.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shared/base/result.h"

namespace acl::aegis {

struct LiveSecret {
  std::string name;  // as settings or the project call it; errors name it
  std::string value;
};

inline constexpr std::size_t kShortestLiveSecret = 6, kLongestLiveSecret = 16384, kMostLiveSecrets = 1000;

class ExactMatcher {
 public:
  // kInvalid if a secret cannot be found by its value: shorter than kShortestLiveSecret, where half of all texts would be cut, or beyond
  // the other limits. The message has its name.
  static Result<ExactMatcher> Make(const std::vector<LiveSecret>& secrets);

  struct Found {
    std::size_t begin = 0, end = 0;
    std::size_t secret = 0;  // its place among those given
  };
  // The longest form first where several begin at one place; none overlaps another.
  std::vector<Found> FindAll(std::string_view text) const;
  // Where one begins that may be going on behind the end of the text; the text's size if none does.
  std::size_t OpenFrom(std::string_view text) const;

 private:
  struct Form {
    std::string text;
    std::size_t secret;
  };
  std::unordered_map<std::uint32_t, std::vector<Form>> by_head_;  // by their first four bytes, the longest first
  std::size_t longest_ = 0;
};

// The forms of a value, each at least kShortestLiveSecret bytes long.
std::vector<std::string> FormsOf(std::string_view value);

}  // namespace acl::aegis
