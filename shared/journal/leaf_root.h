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
// By path, no path twice.
Hash256 RootOfLeaves(std::span<const LeafHash> leaves);

}  // namespace acl
