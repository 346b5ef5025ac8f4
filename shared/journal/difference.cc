#include "shared/journal/difference.h"

#include <algorithm>

#include "shared/journal/trie.h"

namespace acl {
namespace {

using trie::NodePtr;

void AddLeaves(const NodePtr& node, std::vector<const trie::Leaf*>& leaves) {
  if (node == nullptr) return;
  if (node->is_leaf()) {
    leaves.push_back(&trie::AsLeaf(*node));
    return;
  }
  AddLeaves(trie::AsInner(*node).left, leaves);
  AddLeaves(trie::AsInner(*node).right, leaves);
}

bool IsInner(const NodePtr& node) { return node != nullptr && !node->is_leaf(); }

void Compare(const NodePtr& before, const NodePtr& after, std::vector<std::string>& changed) {
  if (before == after) return;
  if (IsInner(before) && IsInner(after)) {
    Compare(trie::AsInner(*before).left, trie::AsInner(*after).left, changed);
    Compare(trie::AsInner(*before).right, trie::AsInner(*after).right, changed);
    return;
  }
  // One entry at most on one side: each leaf of the other but that one.
  std::vector<const trie::Leaf*> both[2];
  AddLeaves(before, both[0]);
  AddLeaves(after, both[1]);
  const auto in = [](const std::vector<const trie::Leaf*>& leaves, const trie::Leaf* leaf) {
    return std::find(leaves.begin(), leaves.end(), leaf) != leaves.end();
  };
  for (const trie::Leaf* leaf : both[0]) {
    const auto same_key = [&](const trie::Leaf* one) { return one->key == leaf->key; };
    if (std::none_of(both[1].begin(), both[1].end(), same_key)) changed.push_back(leaf->key);
  }
  for (const trie::Leaf* leaf : both[1]) {
    if (!in(both[0], leaf)) changed.push_back(leaf->key);
  }
}

}  // namespace

std::vector<std::string> Difference(const Document& before, const Document& after) {
  std::vector<std::string> changed;
  Compare(trie::Flattened(before.root_node()), trie::Flattened(after.root_node()), changed);
  return changed;
}

}  // namespace acl
