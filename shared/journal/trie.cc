#include "shared/journal/trie.h"

#include <algorithm>
#include <span>

#include "shared/base/canonical_json.h"
#include "shared/base/json_text.h"
#include "shared/base/sha256.h"

namespace acl::trie {

namespace {

using Node = Document::Node;

constexpr std::string_view kLeafMark("\x00", 1), kInnerMark("\x01", 1);
constexpr int kPathBits = 256;

// Bit `depth` of the path, from the most significant bit of the first byte.
bool Bit(const Hash256& path, int depth) { return (path[std::size_t(depth / 8)] >> (7 - depth % 8) & 1) != 0; }

NodePtr MakeInner(NodePtr left, NodePtr right) {
  auto node = std::make_shared<Node>();
  node->leaves = (left ? left->leaves : 0) + (right ? right->leaves : 0);
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
  return std::size_t(std::partition_point(changes.begin(), changes.end(), [&](const Change& c) { return !Bit(c.path, depth); }) -
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
    std::vector<Change> leaves;
    bool old = node != nullptr;
    for (const Change& change : changes) {
      if (old && node->path <= change.path) {
        if (node->path != change.path) leaves.push_back({node->path, node});
        old = false;
      }
      if (change.leaf) leaves.push_back(change);
    }
    if (old) leaves.push_back({node->path, node});
    if (leaves.size() == 1 && leaves.front().leaf == node) return node;
    return BuildAt(leaves, depth);
  }
  const std::size_t right = FirstRight(changes, depth);
  NodePtr left_side = ApplyAt(node->left, changes.first(right), depth + 1);
  NodePtr right_side = ApplyAt(node->right, changes.subspan(right), depth + 1);
  if (left_side == node->left && right_side == node->right) return node;
  return left_side || right_side ? Join(std::move(left_side), std::move(right_side)) : nullptr;
}

// Whether the stored text has the length of the canonical one: all but some numbers have.
bool SameText(const Json& value) {
  constexpr std::int64_t kExact = std::int64_t(1) << 53;
  switch (value.type()) {
    case Json::value_t::number_float: return false;
    case Json::value_t::number_unsigned: return value.get<std::uint64_t>() <= std::uint64_t(kExact);
    case Json::value_t::number_integer: return value.get<std::int64_t>() <= kExact && value.get<std::int64_t>() >= -kExact;
    case Json::value_t::object:
    case Json::value_t::array: return std::all_of(value.begin(), value.end(), SameText);
    default: return true;
  }
}

}  // namespace

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

NodePtr Apply(const NodePtr& root, std::vector<Change> changes) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.path < b.path; });
  return ApplyAt(root, changes, 0);
}

NodePtr MakeLeaf(std::string key, Json value) {
  auto node = std::make_shared<Node>();
  node->path = PathOf(key);
  node->key = std::move(key);
  node->value = std::move(value);
  return node;
}

NodePtr Insert(const NodePtr& root, const NodePtr& leaf) { return Apply(root, {{leaf->path, leaf}}); }

NodePtr Remove(const NodePtr& root, const Hash256& path) { return Apply(root, {{path, nullptr}}); }

const Document::Node* Find(const NodePtr& root, const Hash256& path) {
  const Node* node = root.get();
  for (int depth = 0; node != nullptr && !node->is_leaf(); ++depth) node = (Bit(path, depth) ? node->right : node->left).get();
  return node != nullptr && node->path == path ? node : nullptr;
}

Hash256 RootHash(const NodePtr& root) { return root ? root->Measured().hash : Hash256{}; }

}  // namespace acl::trie

namespace acl {

Document::Node::Measure Document::Node::Work() const {
  if (!is_leaf()) {
    const Measure on_left = left ? left->Measured() : Measure(), on_right = right ? right->Measured() : Measure();
    return {Sha256({trie::kInnerMark, AsBytes(on_left.hash), AsBytes(on_right.hash)}), on_left.bytes + on_right.bytes};
  }
  const std::string text = CanonicalJson(value);
  std::string quoted;
  AppendJsonString(key, quoted);
  return {Sha256({trie::kLeafMark, AsBytes(path), AsBytes(Sha256(text))}),
          quoted.size() + (trie::SameText(value) ? text.size() : DumpJson(value).size()) + 2};  // "key":value,
}

// Two that come at once work it out both, and one of them writes it.
Document::Node::Measure Document::Node::Measured() const {
  if (measured_.load(std::memory_order_acquire) == kThere) return measure_;
  const Measure measure = Work();
  int before = kNotYet;
  if (measured_.compare_exchange_strong(before, kBeingWritten, std::memory_order_relaxed)) {
    measure_ = measure;
    measured_.store(kThere, std::memory_order_release);
  }
  return measure;
}

}  // namespace acl
