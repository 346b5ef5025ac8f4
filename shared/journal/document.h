#pragma once
// A subject's state: a JSON object whose top-level entries hang in a Merkle trie (docs/architecture.md#invariant-5).
//
// A Document is an immutable value over shared nodes: copying is one pointer, changing one entry costs O(log n) and leaves every
// copy as it was, so a decision that loses its commit is dropped by keeping the old value.
//
//   path of an entry = SHA-256(key)             leaf  = SHA-256(0x00, path, SHA-256(JCS(value)))
//   inner            = SHA-256(0x01, left, right)   a subtree of one leaf is that leaf; an empty one is 32 zero bytes
//
// So the root does not depend on the order of insertion. Byte layout and vectors: docs/reference/journal-format.md.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/ids.h"
#include "shared/base/json.h"
#include "shared/journal/delta.h"

namespace acl {

namespace trie {
struct Change;
}

// Deepest nesting inside one entry. Above ParseJson's limit, so that any accepted input fits in with a kind's own levels around it.
inline constexpr int kMaxEntryDepth = 96;
// How stored text (payloads, snapshots) is read back: it holds entries, so it may be deeper and larger than an input.
inline constexpr JsonLimits kStoredJson{
    .max_bytes = std::size_t(1) << 30, .max_depth = kMaxEntryDepth + 8, .max_values = kAnyNumberOfValues};
// What one entry may be.
inline constexpr JsonLimits kEntryLimits{.max_bytes = kStoredJson.max_bytes, .max_depth = kMaxEntryDepth, .max_values = kAnyNumberOfValues};

class Document {
 public:
  Document() = default;

  // nullptr if there is no such entry. The pointer lives as long as any Document that holds the entry.
  const Json* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  std::size_t stored_bytes(std::string_view key) const;  // of the one entry, 0 if there is none; its value is not read
  std::size_t size() const;                              // entries
  std::size_t stored_bytes() const;                      // text of the entries ("key":value and a comma): what a snapshot would write

  // The entry must be storable (CheckStorable, kMaxEntryDepth); Apply and FromJson check it, Set aborts.
  void Set(std::string_view key, Json value);
  void Remove(std::string_view key);

  // Applies a JSON Patch whose paths all have at least one token (the entry's key). All or nothing; touches only the entries named.
  // kInvalid with the index of the operation and the reason.
  Status Apply(Json patch);
  // The same of a patch that is values still. Afterwards whole entries are shared with the delta (DeltaOp::leaf). Refused, the delta is
  // spent.
  Status Apply(Delta& delta);
  // Of an entry as it is now; null if there is none.
  std::shared_ptr<const trie::Leaf> LeafOf(std::string_view key) const;
  // Entries as they are to be, no key twice; for whoever changes nothing more before the root is asked for, and has checked that they can
  // be stored.
  void Change(std::vector<trie::Change> changes);
  // Puts an entry that another Document has.
  void Share(std::shared_ptr<const trie::Leaf> leaf);

  Hash256 Root() const;
  // After a commit's changes: what they replaced is let go of.
  void Flatten();

  // Entries in the order of their paths (hash order). Stops when the visitor returns false.
  void ForEach(const std::function<bool(const std::string& key, const Json& value)>& visit) const;
  // Entries whose key starts with the prefix, sorted by key. Walks everything: not for hot paths.
  std::vector<std::pair<std::string, const Json*>> WithPrefix(std::string_view prefix) const;

  // The whole as one JSON object, keys sorted by bytes (for tests, export and inline snapshots).
  Json ToJson() const;
  static Result<Document> FromJson(const Json& object);

  struct Node;  // trie.h
  const std::shared_ptr<const Node>& root_node() const { return root_; }

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace acl
