#include "shared/journal/trie.h"

#include <algorithm>
#include <span>

#include "shared/base/canonical_json.h"
#include "shared/base/json_text.h"
#include "shared/base/sha256.h"
#include "shared/journal/leaf_root.h"

namespace acl::trie {

namespace {

using Node = Document::Node;

// Of leaves and inner nodes.
std::size_t LeavesBelow(const NodePtr& node) {
  if (node == nullptr) return 0;
  return node->is_leaf() ? 1 : AsInner(*node).leaves;
}

NodePtr MakeInner(NodePtr left, NodePtr right) {
  auto node = std::make_shared<Inner>();
  node->leaves = LeavesBelow(left) + LeavesBelow(right);
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

// A subtree of one leaf is that leaf; of none, nothing.
NodePtr Join(NodePtr left, NodePtr right) {
  if (left == nullptr && (right == nullptr || right->is_leaf())) return right;
  if (right == nullptr && left->is_leaf()) return left;
  return MakeInner(std::move(left), std::move(right));
}

using Changes = std::span<const Change>;

// Where the bit at `depth` becomes one.
std::size_t FirstRight(Changes changes, int depth) {
  return std::size_t(std::partition_point(changes.begin(), changes.end(), [&](const Change& c) { return !PathBit(c.path, depth); }) -
                     changes.begin());
}

// A subtree of these leaves alone.
NodePtr BuildAt(Changes leaves, int depth) {
  if (leaves.empty()) return nullptr;
  if (leaves.size() == 1) return leaves.front().leaf;
  ACL_CHECK(depth < kPathBits, "two keys with the same SHA-256");
  const std::size_t right = FirstRight(leaves, depth);
  return MakeInner(BuildAt(leaves.first(right), depth + 1), BuildAt(leaves.subspan(right), depth + 1));
}

NodePtr ApplyAt(const NodePtr& node, Changes changes, int depth) {
  if (changes.empty()) return node;
  if (node == nullptr || node->is_leaf()) {
    const Change& first = changes.front();  // mostly the only one, in the place of what it replaces
    if (changes.size() == 1 && (node == nullptr || AsLeaf(*node).path == first.path)) return first.leaf;
    std::vector<Change> leaves;
    leaves.reserve(changes.size() + 1);
    auto old = std::static_pointer_cast<const Leaf>(node);
    for (const Change& change : changes) {
      if (old && old->path <= change.path) {
        if (old->path != change.path) leaves.push_back({old->path, old});
        old = nullptr;
      }
      if (change.leaf) leaves.push_back(change);
    }
    if (old) leaves.push_back({old->path, old});
    if (leaves.size() == 1 && leaves.front().leaf == node) return node;
    return BuildAt(leaves, depth);
  }
  const Inner& inner = AsInner(*node);
  const std::size_t right = FirstRight(changes, depth);
  NodePtr left_side = ApplyAt(inner.left, changes.first(right), depth + 1);
  NodePtr right_side = ApplyAt(inner.right, changes.subspan(right), depth + 1);
  if (left_side == inner.left && right_side == inner.right) return node;
  return left_side || right_side ? Join(std::move(left_side), std::move(right_side)) : nullptr;
}

const Overlay* AsOverlay(const NodePtr& root) {
  return root && root->shape == Node::Shape::kOverlay ? static_cast<const Overlay*>(root.get()) : nullptr;
}

// Where the leaf of that path stands; null if there is none.
const NodePtr* PlaceOf(const NodePtr& root, const Hash256& path) {
  const NodePtr* node = &root;
  for (int depth = 0; *node != nullptr && !(*node)->is_leaf(); ++depth) {
    const Inner& inner = AsInner(**node);
    node = PathBit(path, depth) ? &inner.right : &inner.left;
  }
  return *node != nullptr && AsLeaf(**node).path == path ? node : nullptr;
}

const Leaf* FindFlattened(const NodePtr& root, const Hash256& path) {
  const NodePtr* place = PlaceOf(root, path);
  return place ? &AsLeaf(**place) : nullptr;
}

void SortByPath(std::vector<Change>& changes) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.path < b.path; });
}

// Both by path; where both name one, the later holds.
std::vector<Change> Merge(const std::vector<Change>& before, std::vector<Change> later) {
  std::vector<Change> merged;
  merged.reserve(before.size() + later.size());
  auto old = before.begin();
  for (Change& change : later) {
    for (; old != before.end() && old->path < change.path; ++old) merged.push_back(*old);
    if (old != before.end() && old->path == change.path) ++old;
    merged.push_back(std::move(change));
  }
  merged.insert(merged.end(), old, before.end());
  return merged;
}

// Whether the stored text has the length of the canonical one: all but some numbers have.
bool SameText(const Json& value) {
  constexpr std::int64_t kExact = std::int64_t(1) << 53;
  switch (value.type()) {
    case Json::value_t::number_float: return false;
    case Json::value_t::number_unsigned: return value.get<std::uint64_t>() <= std::uint64_t(kExact);
    case Json::value_t::number_integer: return value.get<std::int64_t>() <= kExact && value.get<std::int64_t>() >= -kExact;
    case Json::value_t::object: {
      const auto& members = value.get_ref<const Json::object_t&>();
      return std::all_of(members.begin(), members.end(), [](const auto& member) { return SameText(member.second); });
    }
    case Json::value_t::array: {
      const auto& items = value.get_ref<const Json::array_t&>();
      return std::all_of(items.begin(), items.end(), SameText);
    }
    default: return true;
  }
}

}  // namespace

// `bytes`: of the stored text of its value.
Node::Measure MeasureOf(const Leaf& leaf, const Hash256& value, std::size_t bytes) {
  const bool plain =
      std::none_of(leaf.key.begin(), leaf.key.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; });
  const std::size_t quoted = plain ? leaf.key.size() + 2 : WithScratch([&](std::string& out) {
    AppendJsonString(leaf.key, out);
    return out.size();
  });
  return {HashOfLeaf(leaf.path, value), quoted + bytes + 2};  // "key":value,
}

Hash256 PathOf(std::string_view key) {
  constexpr std::size_t kLongest = 64, kKept = 1024;  // a power of two
  if (key.size() > kLongest) return Sha256(key);
  struct Known {
    std::string key;
    Hash256 path{};
    bool set = false;
  };
  thread_local std::vector<Known> known(kKept);
  Known& place = known[std::hash<std::string_view>()(key) & (kKept - 1)];
  if (!place.set || place.key != key) {
    place.key = key;
    place.path = Sha256(key);
    place.set = true;
  }
  return place.path;
}

NodePtr Overlay::Flattened() const {
  once_.Do([this] { flattened_ = ApplyAt(base, over, 0); });
  return flattened_;
}

NodePtr Flattened(const NodePtr& root) {
  const Overlay* overlay = AsOverlay(root);
  return overlay ? overlay->Flattened() : root;
}

NodePtr ApplyNow(const NodePtr& root, std::vector<Change> changes) {
  SortByPath(changes);
  return ApplyAt(Flattened(root), changes, 0);
}

NodePtr Apply(const NodePtr& root, std::vector<Change> changes) {
  constexpr std::size_t kFew = 24;  // looked through at each search
  SortByPath(changes);
  const Overlay* overlay = AsOverlay(root);
  if (overlay && (overlay->flattened() || overlay->over.size() + changes.size() > kFew))
    return Apply(overlay->Flattened(), std::move(changes));
  // What removes may leave nothing, or nothing else than before.
  const bool puts = std::all_of(changes.begin(), changes.end(), [](const Change& change) { return change.leaf != nullptr; });
  if (!puts || changes.size() > kFew) return ApplyAt(Flattened(root), changes, 0);
  if (changes.empty()) return root;
  auto over = std::make_shared<Overlay>();
  over->base = overlay ? overlay->base : root;
  over->over = overlay ? Merge(overlay->over, std::move(changes)) : std::move(changes);
  return over;
}

std::shared_ptr<const Leaf> MakeLeaf(std::string key, Json value) {
  const Hash256 path = PathOf(key);
  return MakeLeaf(path, std::move(key), std::move(value));
}

std::shared_ptr<const Leaf> MakeLeaf(const Hash256& path, std::string key, Json value) {
  return std::make_shared<Leaf>(path, std::move(key), std::move(value));
}

std::shared_ptr<const Leaf> MakeLeafOfText(const Hash256& path, std::string key, std::string stored) {
  return std::make_shared<Leaf>(path, std::move(key), std::move(stored));
}

const Json& Leaf::Read() const {
  read_.Do([this] {
    auto read = ParseJson(text_, kStoredJson);
    ACL_CHECK(read.ok(), "the text of an entry is not JSON");
    value_ = std::move(*read);
  });
  return value_;
}

NodePtr Insert(const NodePtr& root, std::shared_ptr<const Leaf> leaf) {
  const Hash256 path = leaf->path;
  return Apply(root, {{path, std::move(leaf)}});
}

NodePtr Remove(const NodePtr& root, const Hash256& path) { return Find(root, path) ? Apply(root, {{path, nullptr}}) : root; }

const Leaf* Find(const NodePtr& root, const Hash256& path) {
  const Overlay* overlay = AsOverlay(root);
  if (!overlay) return FindFlattened(root, path);
  for (const Change& change : overlay->over) {
    if (change.path == path) return change.leaf.get();
  }
  return FindFlattened(overlay->base, path);
}

std::shared_ptr<const Leaf> FindShared(const NodePtr& root, const Hash256& path) {
  const Overlay* overlay = AsOverlay(root);
  if (overlay) {
    for (const Change& change : overlay->over) {
      if (change.path == path) return change.leaf;
    }
  }
  const NodePtr* place = PlaceOf(overlay ? overlay->base : root, path);
  return place ? std::static_pointer_cast<const Leaf>(*place) : nullptr;
}

std::size_t Leaves(const NodePtr& root) { return LeavesBelow(Flattened(root)); }

Hash256 RootHash(const NodePtr& root) { return root ? root->Measured().hash : Hash256{}; }

}  // namespace acl::trie

namespace acl {

Document::Node::Measure Document::Node::Work() const {
  if (!is_leaf()) {
    const trie::Inner& inner = trie::AsInner(*this);
    const Measure on_left = inner.left ? inner.left->Measured() : Measure();
    const Measure on_right = inner.right ? inner.right->Measured() : Measure();
    return {HashOfInner(on_left.hash, on_right.hash), on_left.bytes + on_right.bytes};
  }
  const trie::Leaf& leaf = trie::AsLeaf(*this);
  const CanonicalMeasure text = MeasureCanonical(leaf.value());
  return trie::MeasureOf(leaf, text.hash, trie::SameText(leaf.value()) ? text.bytes : DumpJson(leaf.value()).size());
}

void Document::Node::Know(std::size_t stored_bytes, std::string_view canonical) const {
  if (measured_.load(std::memory_order_acquire) == kThere) return;
  Know(stored_bytes, Sha256(canonical));
}

void Document::Node::Know(std::size_t stored_bytes, const Hash256& canonical) const {
  Keep(trie::MeasureOf(trie::AsLeaf(*this), canonical, stored_bytes));
}

// Two that come at once work it out both, and one of them writes it.
Document::Node::Measure Document::Node::Measured() const {
  if (shape == Shape::kOverlay) {
    const trie::NodePtr flattened = static_cast<const trie::Overlay&>(*this).Flattened();
    return flattened ? flattened->Measured() : Measure();
  }
  if (measured_.load(std::memory_order_acquire) == kThere) return measure_;
  return Keep(Work());
}

Document::Node::Measure Document::Node::Keep(const Measure& measure) const {
  int before = kNotYet;
  if (measured_.compare_exchange_strong(before, kBeingWritten, std::memory_order_relaxed)) {
    measure_ = measure;
    measured_.store(kThere, std::memory_order_release);
  }
  return measure;
}

}  // namespace acl
