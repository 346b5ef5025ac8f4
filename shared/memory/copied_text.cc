#include "shared/memory/copied_text.h"

#include <array>

#include "shared/memory/plain_text.h"

namespace acl::memory {
namespace {

// The hash of each three words in a row (FNV-1a of the words, then of their hashes), until `see` says true.
template <class See>
bool AnyShingle(std::string_view plain, const See& see) {
  constexpr std::uint64_t kBasis = 14695981039346656037u, kPrime = 1099511628211u;
  std::array<std::uint64_t, Shingles::kWords> last{};
  std::size_t words = 0;
  for (std::size_t i = 0; i < plain.size();) {
    std::uint64_t word = kBasis;
    const std::size_t begin = i;
    for (; i < plain.size() && IsLetter(plain[i]); ++i) word = (word ^ static_cast<unsigned char>(plain[i])) * kPrime;
    if (i == begin) {
      ++i;
      continue;
    }
    last[words++ % last.size()] = word;
    if (words < last.size()) continue;
    std::uint64_t shingle = kBasis;
    for (std::size_t k = 0; k < last.size(); ++k) shingle = (shingle ^ last[(words + k) % last.size()]) * kPrime;
    if (see(shingle)) return true;
  }
  return false;
}

}  // namespace

Shingles::Shingles(std::string_view plain) {
  (void)AnyShingle(plain, [&](std::uint64_t shingle) {
    all_.insert(shingle);
    return false;
  });
}

double Shingles::PartIn(const Shingles& other) const {
  if (all_.empty()) return 0;
  std::size_t common = 0;
  for (const std::uint64_t shingle : all_) common += other.all_.count(shingle);
  return double(common) / double(all_.size());
}

bool Shingles::AnyIn(std::string_view plain) const {
  return !all_.empty() && AnyShingle(plain, [&](std::uint64_t shingle) { return all_.contains(shingle); });
}

}  // namespace acl::memory
