#pragma once
// The nodes of a Document and the pure functions that make new ones out of old ones. Shape and hashes: document.h.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/json_object.h"
#include "shared/base/once.h"
#include "shared/journal/document.h"

namespace acl {

// What it says is immutable once made. A leaf holds an entry; an inner node holds at least two leaves below it, perhaps all on one side.
// Hash and size are worked out when they are first asked for: of what changes twice before anybody asks, only the second is.
struct Document::Node {
  struct Measure {
    Hash256 hash{};
    std::size_t bytes = 0;  // stored text of the leaves below
  };
  Measure Measured() const;  // from any thread
  // Of a leaf, for whoever has the texts of its value: what else is worked out from it.
  void Know(std::size_t stored_bytes, std::string_view canonical) const;
  void Know(std::size_t stored_bytes, const Hash256& canonical) const;  // the hash of that text

  bool is_leaf() const { return shape == Shape::kLeaf; }

  enum class Shape { kLeaf, kInner, kOverlay };
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

class Leaf : public Document::Node {
 public:
  Leaf(const Hash256& path_of_key, std::string its_key, Json value)
      : Node(Shape::kLeaf), path(path_of_key), key(std::move(its_key)), value_(std::move(value)) {}
  // From the text of its value, which is read when somebody asks.
  Leaf(const Hash256& path_of_key, std::string its_key, std::string stored)
      : Node(Shape::kLeaf), path(path_of_key), key(std::move(its_key)), text_(std::move(stored)) {}
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;
  ~Leaf() { DestroyIteratively(value_); }

  const Hash256 path;  // SHA-256(key)
  const std::string key;
  const Json& value() const { return text_.empty() || read_.done() ? value_ : Read(); }  // from any thread

 private:
  const Json& Read() const;

  const std::string text_;  // empty: the value was there from the start
  mutable Once read_;
  mutable Json value_;
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
struct Overlay : Document::Node {
  Overlay() : Node(Shape::kOverlay) {}
  NodePtr base;               // no Overlay itself
  std::vector<Change> over;   // by path, no path twice; put, all of them
  NodePtr Flattened() const;  // from any thread
  bool flattened() const { return once_.done(); }

 private:
  mutable Once once_;
  mutable NodePtr flattened_;
};

inline const Leaf& AsLeaf(const Document::Node& node) { return static_cast<const Leaf&>(node); }
inline const Inner& AsInner(const Document::Node& node) { return static_cast<const Inner&>(node); }

std::shared_ptr<const Leaf> MakeLeaf(std::string key, Json value);
std::shared_ptr<const Leaf> MakeLeaf(const Hash256& path, std::string key, Json value);  // for whoever has the path of the key
// From the text of its value as DumpJson writes it.
std::shared_ptr<const Leaf> MakeLeafOfText(const Hash256& path, std::string key, std::string stored);
// SHA-256(key); of short keys remembered by the thread, for most are asked for again and again.
Hash256 PathOf(std::string_view key);
// All at once. No path twice. The same root if nothing changes. A few changes are laid over the root.
NodePtr Apply(const NodePtr& root, std::vector<Change> changes);
// The same for whoever changes nothing more before the root is asked for: in the trie at once.
NodePtr ApplyNow(const NodePtr& root, std::vector<Change> changes);
// Leaves and inner nodes only; null if there is no entry.
NodePtr Flattened(const NodePtr& root);
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
