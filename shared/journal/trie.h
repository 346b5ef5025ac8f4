#pragma once
// The nodes of a Document and the pure functions that make new ones out of old ones. Shape and hashes: document.h.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shared/base/json_object.h"
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
  // Of a leaf, for whoever has the texts of its value: what else is worked out from it.
  void Know(std::size_t stored_bytes, std::string_view canonical) const;

  bool is_leaf() const { return shape == Shape::kLeaf; }

  enum class Shape { kLeaf, kInner, kLaid };
  const Shape shape;

 protected:
  explicit Node(Shape of) : shape(of) {}
  ~Node() = default;  // through the pointer that made it

 private:
  Measure Work() const;
  Measure Keep(const Measure& measure) const;

  enum : int { kNotYet, kBeingWritten, kThere };
  mutable std::atomic<int> measured_{kNotYet};
  mutable Measure measure_;  // read once it is there
};

namespace trie {

using NodePtr = std::shared_ptr<const Document::Node>;

struct Leaf : Document::Node {
  Leaf() : Node(Shape::kLeaf) {}
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;
  ~Leaf() { Dismiss(value); }
  Hash256 path{};  // SHA-256(key)
  std::string key;
  Json value;
};

struct Inner : Document::Node {
  Inner() : Node(Shape::kInner) {}
  NodePtr left, right;  // null is an empty subtree
  std::size_t leaves = 0;
};

// One entry put (a leaf) or removed (no leaf).
struct Change {
  Hash256 path{};
  std::shared_ptr<const Leaf> leaf;
};

// A trie with a few changes that are not in it yet. The events of one commit change the state one after another, and only the last state is
// asked for its root: the inner nodes above what they change are made once then, not once an event.
struct Laid : Document::Node {
  Laid() : Node(Shape::kLaid) {}
  NodePtr base;              // no Laid itself
  std::vector<Change> over;  // by path, no path twice; put, all of them
  NodePtr Settled() const;   // from any thread
  bool settled() const { return is_settled_.load(std::memory_order_acquire); }

 private:
  mutable std::once_flag once_;
  mutable NodePtr settled_;
  mutable std::atomic<bool> is_settled_{false};
};

inline const Leaf& AsLeaf(const Document::Node& node) { return static_cast<const Leaf&>(node); }
inline const Inner& AsInner(const Document::Node& node) { return static_cast<const Inner&>(node); }

std::shared_ptr<const Leaf> MakeLeaf(std::string key, Json value);
std::shared_ptr<const Leaf> MakeLeaf(const Hash256& path, std::string key, Json value);  // for whoever has the path of the key
// SHA-256(key); of short keys remembered by the thread, for most are asked for again and again.
Hash256 PathOf(std::string_view key);
// All at once. No path twice. The same root if nothing changes. A few changes are laid over the root.
NodePtr Apply(const NodePtr& root, std::vector<Change> changes);
// The same for whoever changes nothing more before the root is asked for: in the trie at once.
NodePtr ApplyNow(const NodePtr& root, std::vector<Change> changes);
// Leaves and inner nodes only; null if there is no entry.
NodePtr Settled(const NodePtr& root);
// Inserts the leaf, or puts it in the place of the leaf of the same key.
NodePtr Insert(const NodePtr& root, std::shared_ptr<const Leaf> leaf);
// The same root if there is no such path.
NodePtr Remove(const NodePtr& root, const Hash256& path);
const Leaf* Find(const NodePtr& root, const Hash256& path);
std::shared_ptr<const Leaf> FindShared(const NodePtr& root, const Hash256& path);
std::size_t Leaves(const NodePtr& root);
// 32 zero bytes for an empty tree.
Hash256 RootHash(const NodePtr& root);

}  // namespace trie
}  // namespace acl
