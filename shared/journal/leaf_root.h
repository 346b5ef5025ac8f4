#pragma once
// The root of a state whose leaves are known by their hashes (document.h says what they are of): for whoever makes many states that differ
// in a few entries, and has no use for the others' values.

#include <span>

#include "shared/base/ids.h"

namespace acl {

struct LeafHash {
  Hash256 path{}, hash{};
};

// Of an entry whose value's RFC 8785 text has this hash.
Hash256 HashOfLeaf(const Hash256& path, const Hash256& canonical);
Hash256 HashOfInner(const Hash256& left, const Hash256& right);
// Paths are as long as a hash; bit `depth` says which way a leaf's goes, from the most significant bit of the first byte.
inline constexpr int kPathBits = 256;
inline bool PathBit(const Hash256& path, int depth) { return (path[std::size_t(depth / 8)] >> (7 - depth % 8) & 1) != 0; }
// By path, no path twice.
Hash256 RootOfLeaves(std::span<const LeafHash> leaves);

}  // namespace acl
