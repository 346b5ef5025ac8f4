#pragma once
// The nodes of a Document and the pure functions that make new ones out of old ones. Shape and hashes: document.h.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "shared/journal/document.h"

namespace acl {

// Immutable once made. A leaf holds an entry; an inner node holds at least two leaves below it, perhaps all on one side. Hash and size are
// worked out when they are first asked for: of what changes twice before anybody asks, only the second is.
struct Document::Node {
  struct Measure {
    Hash256 hash{};
    std::size_t bytes = 0;  // stored text of the leaves below
  };
  Measure Measured() const;  // from any thread
  std::size_t leaves = 1;

  Hash256 path{};  // leaf: SHA-256(key)
  std::string key;
  Json value;

  std::shared_ptr<const Node> left, right;  // inner; null is an empty subtree

  bool is_leaf() const { return left == nullptr && right == nullptr; }

 private:
  Measure Work() const;

  enum : int { kNotYet, kBeingWritten, kThere };
  mutable std::atomic<int> measured_{kNotYet};
  mutable Measure measure_;  // read once it is there
};

namespace trie {

using NodePtr = std::shared_ptr<const Document::Node>;

NodePtr MakeLeaf(std::string key, Json value);
// SHA-256(key); of short keys remembered by the thread, for most are asked for again and again.
Hash256 PathOf(std::string_view key);
// One entry put (a leaf) or removed (no leaf).
struct Change {
  Hash256 path{};
  NodePtr leaf;
};
// All at once: every inner node above them is made once. No path twice. The same root if nothing changes.
NodePtr Apply(const NodePtr& root, std::vector<Change> changes);
// Inserts the leaf, or puts it in the place of the leaf of the same key.
NodePtr Insert(const NodePtr& root, const NodePtr& leaf);
// The same root if there is no such path.
NodePtr Remove(const NodePtr& root, const Hash256& path);
const Document::Node* Find(const NodePtr& root, const Hash256& path);
// 32 zero bytes for an empty tree.
Hash256 RootHash(const NodePtr& root);

}  // namespace trie
}  // namespace acl
