#include "shared/journal/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

bool Visit(const Document::Node* node, const std::function<bool(const std::string&, const Json&)>& visit) {
  if (node == nullptr) return true;
  if (node->is_leaf()) return visit(trie::AsLeaf(*node).key, trie::AsLeaf(*node).value());
  return Visit(trie::AsInner(*node).left.get(), visit) && Visit(trie::AsInner(*node).right.get(), visit);
}

}  // namespace

const Json* Document::Find(std::string_view key) const {
  const trie::Leaf* leaf = trie::Find(root_, trie::PathOf(key));
  return leaf ? &leaf->value() : nullptr;
}

std::shared_ptr<const trie::Leaf> Document::LeafOf(std::string_view key) const { return trie::FindShared(root_, trie::PathOf(key)); }

std::size_t Document::stored_bytes(std::string_view key) const {
  const trie::Leaf* leaf = trie::Find(root_, trie::PathOf(key));
  return leaf ? leaf->Measured().bytes : 0;
}

std::size_t Document::size() const { return trie::Leaves(root_); }

std::size_t Document::stored_bytes() const { return root_ ? root_->Measured().bytes : 0; }

void Document::Set(std::string_view key, Json value) {
  ACL_CHECK(CheckStorable(Json(key)).ok() && CheckStorable(value, kEntryLimits).ok(), "Document::Set of what cannot be stored");
  root_ = trie::Insert(root_, trie::MakeLeaf(std::string(key), std::move(value)));
}

void Document::Share(std::shared_ptr<const trie::Leaf> leaf) { root_ = trie::Insert(root_, std::move(leaf)); }

void Document::Change(std::vector<trie::Change> changes) { root_ = trie::ApplyNow(root_, std::move(changes)); }

void Document::Remove(std::string_view key) { root_ = trie::Remove(root_, trie::PathOf(key)); }

Hash256 Document::Root() const { return trie::RootHash(root_); }

void Document::Flatten() { root_ = trie::Flattened(root_); }

void Document::ForEach(const std::function<bool(const std::string&, const Json&)>& visit) const {
  Visit(trie::Flattened(root_).get(), visit);
}

std::vector<std::pair<std::string, const Json*>> Document::WithPrefix(std::string_view prefix) const {
  std::vector<std::pair<std::string, const Json*>> found;
  ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(prefix)) found.emplace_back(key, &value);
    return true;
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return found;
}

Json Document::ToJson() const {
  Json object = Json::object();
  auto& members = object.get_ref<Json::object_t&>();
  members.reserve(size());
  for (const auto& [key, value] : WithPrefix("")) members.emplace_back(key, *value);
  return object;
}

Result<Document> Document::FromJson(const Json& object) {
  if (!object.is_object()) return {Code::kInvalid, fmt::format("a state is a JSON object, not a {}", object.type_name())};
  Document document;
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (auto key = CheckStorable(Json(it.key())); !key) return key.error();
    if (auto value = CheckStorable(it.value(), kEntryLimits); !value) {
      return {Code::kInvalid, fmt::format("entry {}: {}", DumpJson(Json(it.key())), value.message())};
    }
    document.root_ = trie::Insert(document.root_, trie::MakeLeaf(it.key(), it.value()));
  }
  return document;
}

}  // namespace acl
