// Document::Apply: the operations run on copies of the entries they name; the trie changes only when all of them have succeeded.

#include <fmt/format.h>

#include <array>

#include "shared/base/json_text.h"
#include "shared/journal/document.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/patch_ops.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

using Kind = DeltaOp::Kind;

// An entry that the operations so far changed, laid over the document.
struct Changed {
  std::string_view key;  // lives in an operation
  Hash256 path{};
  bool there = false;
  Json value;
  DeltaOp* put = nullptr;  // the operation that put the whole of it, if nothing changed it since: its value is here
};

// Few: looked through one by one.
class Working {
 public:
  explicit Working(const Document& base) : base_(base) {}

  const Json* Entry(const std::string& key) {
    if (Changed* changed = Known(key)) return changed->there ? &changed->value : nullptr;
    return base_.Find(key);
  }
  // A copy to change, made on first use; nullptr if there is no such entry.
  Json* Mutable(const std::string& key) {
    Changed* changed = Known(key);
    if (changed == nullptr) {
      const trie::Leaf* old = trie::Find(base_.root_node(), trie::PathOf(key));
      if (old == nullptr) return nullptr;
      changed = &New(key);
      changed->value = old->value();
      changed->there = true;
    }
    Release(*changed);
    return changed->there ? &changed->value : nullptr;
  }
  void Put(const std::string& key, Json value, DeltaOp* by) {
    Changed* changed = Known(key);
    if (changed == nullptr) changed = &New(key);
    Release(*changed);
    changed->value = std::move(value);
    changed->there = true;
    changed->put = by;
  }
  void Drop(const std::string& key) {
    Changed& changed = *Known(key);
    Release(changed);
    changed.there = false;
    changed.value = Json();
  }

  std::vector<Changed>& changed() { return changed_; }

 private:
  Changed* Known(const std::string& key) {
    for (Changed& changed : changed_) {
      if (changed.key == key) return &changed;
    }
    return nullptr;
  }
  Changed& New(const std::string& key) {
    if (changed_.empty()) changed_.reserve(8);
    Changed& changed = changed_.emplace_back();
    changed.key = key;
    changed.path = trie::PathOf(key);
    return changed;
  }
  // What was put is about to be another: its operation takes a copy of what it said.
  static void Release(Changed& changed) {
    if (changed.put) changed.put->value = changed.value;
    changed.put = nullptr;
  }

  const Document& base_;
  std::vector<Changed> changed_;
};

bool NoEntry(const std::string& key, std::string& why) {
  why = fmt::format("there is no entry {}", DumpJson(Json(key.size() <= 60 ? key : key.substr(0, 60) + "...")));
  return false;
}

// "/a/b" as tokens, without a request for memory of their list where there is one.
class Tokens {
 public:
  explicit Tokens(const std::string& below) {
    if (below.find_first_of("/~", 1) == std::string::npos) {
      one_.front().assign(below, 1);
      tokens_ = one_;
    } else {
      many_ = ParsePointer(below).value();
      tokens_ = many_;
    }
  }
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;
  operator patch::Path() const { return tokens_; }  // NOLINT(google-explicit-constructor)

 private:
  std::array<std::string, 1> one_;
  std::vector<std::string> many_;
  patch::Path tokens_;
};

const Json* Find(Working& working, const std::string& key, const std::string& below, std::string& why) {
  const Json* entry = working.Entry(key);
  if (entry == nullptr) {
    NoEntry(key, why);
    return nullptr;
  }
  return below.empty() ? entry : patch::Find(*entry, Tokens(below), why);
}

bool Add(Working& working, const DeltaOp& op, Json value, std::string& why, DeltaOp* by = nullptr) {
  if (op.below.empty()) {
    working.Put(op.entry, std::move(value), by);
    return true;
  }
  Json* entry = working.Mutable(op.entry);
  return entry ? patch::Add(*entry, Tokens(op.below), std::move(value), why) : NoEntry(op.entry, why);
}

bool Replace(Working& working, DeltaOp& op, std::string& why) {
  if (op.below.empty()) {
    if (working.Entry(op.entry) == nullptr) return NoEntry(op.entry, why);
    working.Put(op.entry, std::move(op.value), &op);
    return true;
  }
  Json* entry = working.Mutable(op.entry);
  return entry ? patch::Replace(*entry, Tokens(op.below), Json(op.value), why) : NoEntry(op.entry, why);
}

std::optional<Json> Take(Working& working, const std::string& key, const std::string& below, std::string& why) {
  Json* entry = working.Mutable(key);
  if (entry == nullptr) {
    NoEntry(key, why);
    return std::nullopt;
  }
  if (!below.empty()) return patch::Take(*entry, Tokens(below), why);
  Json taken = std::move(*entry);
  working.Drop(key);
  return taken;
}

bool ApplyOp(Working& working, DeltaOp& op, patch::Copies& copies, std::string& why) {
  switch (op.kind) {
    case Kind::kAdd: return op.below.empty() ? Add(working, op, std::move(op.value), why, &op) : Add(working, op, Json(op.value), why);
    case Kind::kReplace: return Replace(working, op, why);
    case Kind::kRemove: return Take(working, op.entry, op.below, why).has_value();
    case Kind::kCopy:
    case Kind::kMove: {
      const Json* from = Find(working, op.from_entry, op.from_below, why);
      if (from == nullptr) {
        why = "\"from\": " + why;
        return false;
      }
      if (op.kind == Kind::kCopy) return copies.Take(*from, why) && Add(working, op, Json(*from), why);
      if (op.from_entry == op.entry && op.from_below == op.below) return true;
      auto moved = Take(working, op.from_entry, op.from_below, why);
      return moved && Add(working, op, std::move(*moved), why);
    }
    case Kind::kTest: {
      const Json* at = Find(working, op.entry, op.below, why);
      if (at == nullptr) return false;
      why = "the value is another one";
      return patch::Equal(*at, op.value);
    }
  }
  return false;
}

Error At(std::size_t index, const DeltaOp& op, std::string_view why) {
  std::string path;
  AppendPointer(op.entry, op.below, path);
  if (path.size() > 200) path = path.substr(0, 200) + "...";
  return {Code::kInvalid, fmt::format("JSON Patch operation {} ({} {}): {}", index, NameOf(op.kind), DumpJson(Json(path)), why)};
}

bool IsPlainText(std::string_view key) { return FindBadUtf8(key) == std::string::npos && key.find('\0') == std::string::npos; }

Status CheckChanged(const Changed& changed) {
  Status storable = IsPlainText(changed.key) ? Status() : CheckStorable(Json(changed.key));
  if (storable && changed.there) storable = CheckStorable(changed.value, kEntryLimits);
  if (storable) return {};
  return {Code::kInvalid, fmt::format("JSON Patch: entry {}: {}", DumpJson(Json(changed.key)), storable.message())};
}

}  // namespace

Status Document::Apply(Delta& delta) {
  if (delta.broken) return *delta.broken;
  Working working(*this);
  std::string why;
  patch::Copies copies;
  for (std::size_t i = 0; i < delta.ops.size(); ++i) {
    if (!ApplyOp(working, delta.ops[i], copies, why)) return At(i, delta.ops[i], why);
  }
  for (const Changed& changed : working.changed()) {
    if (Status storable = CheckChanged(changed); !storable) return storable;
  }
  std::vector<trie::Change> changes;
  changes.reserve(working.changed().size());
  for (Changed& changed : working.changed()) {
    trie::Change& change = changes.emplace_back();
    change.path = changed.path;
    if (!changed.there) continue;
    change.leaf = trie::MakeLeaf(changed.path, std::string(changed.key), std::move(changed.value));
    if (changed.put) changed.put->leaf = change.leaf;
  }
  root_ = trie::Apply(root_, std::move(changes));
  return {};
}

Status Document::Apply(Json patch) {
  auto delta = Delta::Parse(std::move(patch));
  return delta ? Apply(*delta) : Status(delta.error());
}

}  // namespace acl
