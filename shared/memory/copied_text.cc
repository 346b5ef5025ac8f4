#include "shared/memory/copied_text.h"

#include "shared/memory/plain_text.h"

namespace acl::memory {

Shingles::Shingles(std::string_view plain) {
  const auto words = Words(plain);
  for (std::size_t i = 0; i + kWords <= words.size(); ++i) {
    std::string shingle;
    for (std::size_t k = 0; k < kWords; ++k) shingle += words[i + k].text + ' ';
    all_.insert(std::move(shingle));
  }
}

double Shingles::PartIn(const Shingles& other) const {
  if (all_.empty()) return 0;
  std::size_t common = 0;
  for (const auto& shingle : all_) common += other.all_.count(shingle);
  return double(common) / double(all_.size());
}

}  // namespace acl::memory
