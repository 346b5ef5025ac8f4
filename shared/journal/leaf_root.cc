#include "shared/journal/leaf_root.h"

#include <algorithm>
#include <string_view>

#include "shared/base/check.h"
#include "shared/base/sha256.h"

namespace acl {
namespace {

constexpr std::string_view kLeafMark("\x00", 1), kInnerMark("\x01", 1);

Hash256 RootAt(std::span<const LeafHash> leaves, int depth) {
  if (leaves.empty()) return {};
  if (leaves.size() == 1) return leaves.front().hash;
  ACL_CHECK(depth < kPathBits, "the same path twice");
  const auto right = std::partition_point(leaves.begin(), leaves.end(), [&](const LeafHash& leaf) { return !PathBit(leaf.path, depth); });
  const auto on_left = std::size_t(right - leaves.begin());
  return HashOfInner(RootAt(leaves.first(on_left), depth + 1), RootAt(leaves.subspan(on_left), depth + 1));
}

}  // namespace

Hash256 HashOfLeaf(const Hash256& path, const Hash256& canonical) { return Sha256({kLeafMark, AsBytes(path), AsBytes(canonical)}); }

Hash256 HashOfInner(const Hash256& left, const Hash256& right) { return Sha256({kInnerMark, AsBytes(left), AsBytes(right)}); }

Hash256 RootOfLeaves(std::span<const LeafHash> leaves) { return RootAt(leaves, 0); }

}  // namespace acl
