#include "shared/journal/trie.h"

#include "shared/base/canonical_json.h"
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
  node->hash = Sha256({kInnerMark, AsBytes(RootHash(left)), AsBytes(RootHash(right))});
  node->leaves = (left ? left->leaves : 0) + (right ? right->leaves : 0);
  node->bytes = (left ? left->bytes : 0) + (right ? right->bytes : 0);
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

// Two leaves of different paths in one subtree at `depth`.
NodePtr Split(const NodePtr& a, const NodePtr& b, int depth) {
  ACL_CHECK(depth < kPathBits, "two keys with the same SHA-256");
  const bool a_right = Bit(a->path, depth), b_right = Bit(b->path, depth);
  if (a_right != b_right) return a_right ? MakeInner(b, a) : MakeInner(a, b);
  NodePtr below = Split(a, b, depth + 1);
  return a_right ? MakeInner(nullptr, std::move(below)) : MakeInner(std::move(below), nullptr);
}

NodePtr InsertAt(const NodePtr& node, const NodePtr& leaf, int depth) {
  if (node == nullptr) return leaf;
  if (node->is_leaf()) return node->path == leaf->path ? leaf : Split(node, leaf, depth);
  return Bit(leaf->path, depth) ? MakeInner(node->left, InsertAt(node->right, leaf, depth + 1))
                                : MakeInner(InsertAt(node->left, leaf, depth + 1), node->right);
}

NodePtr RemoveAt(const NodePtr& node, const Hash256& path, int depth) {
  if (node == nullptr) return nullptr;
  if (node->is_leaf()) return node->path == path ? nullptr : node;
  const NodePtr& side = Bit(path, depth) ? node->right : node->left;
  NodePtr changed = RemoveAt(side, path, depth + 1);
  if (changed == side) return node;
  return Bit(path, depth) ? Join(node->left, std::move(changed)) : Join(std::move(changed), node->right);
}

}  // namespace

NodePtr MakeLeaf(std::string key, Json value) {
  auto node = std::make_shared<Node>();
  node->path = Sha256(key);
  node->hash = Sha256({kLeafMark, AsBytes(node->path), AsBytes(CanonicalHash(value))});
  node->bytes = DumpJson(Json(key)).size() + DumpJson(value).size() + 2;  // "key":value,
  node->key = std::move(key);
  node->value = std::move(value);
  return node;
}

NodePtr Insert(const NodePtr& root, const NodePtr& leaf) { return InsertAt(root, leaf, 0); }

NodePtr Remove(const NodePtr& root, const Hash256& path) { return RemoveAt(root, path, 0); }

const Document::Node* Find(const NodePtr& root, const Hash256& path) {
  const Node* node = root.get();
  for (int depth = 0; node != nullptr && !node->is_leaf(); ++depth) node = (Bit(path, depth) ? node->right : node->left).get();
  return node != nullptr && node->path == path ? node : nullptr;
}

Hash256 RootHash(const NodePtr& root) { return root ? root->hash : Hash256{}; }

}  // namespace acl::trie
