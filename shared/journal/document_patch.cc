// Document::Apply: the operations run on copies of the entries they name; the trie changes only when all of them have succeeded.

#include <fmt/format.h>

#include <map>

#include "shared/base/json_text.h"
#include "shared/journal/document.h"
#include "shared/journal/patch_ops.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

using patch::Op;
using patch::OpKind;
using patch::Path;

// The document with the entries changed so far laid over it.
class Working {
 public:
  explicit Working(const Document& base) : base_(base) {}

  const Json* Entry(const std::string& key) const {
    auto it = changed_.find(key);
    if (it == changed_.end()) return base_.Find(key);
    return it->second ? &*it->second : nullptr;
  }
  // A copy to change, made on first use; nullptr if there is no such entry.
  Json* Mutable(const std::string& key) {
    auto it = changed_.find(key);
    if (it == changed_.end()) {
      const Json* old = base_.Find(key);
      if (old == nullptr) return nullptr;
      it = changed_.emplace(key, *old).first;
    }
    return it->second ? &*it->second : nullptr;
  }
  void Put(const std::string& key, Json value) { changed_.insert_or_assign(key, std::move(value)); }
  void Drop(const std::string& key) { changed_.insert_or_assign(key, std::nullopt); }

  std::map<std::string, std::optional<Json>>& changed() { return changed_; }

 private:
  const Document& base_;
  std::map<std::string, std::optional<Json>> changed_;  // nullopt: removed
};

bool IsPlainText(const std::string& key) { return FindBadUtf8(key) == std::string::npos && key.find('\0') == std::string::npos; }

bool NoEntry(const std::string& key, std::string& why) {
  why = fmt::format("there is no entry {}", DumpJson(Json(key.size() <= 60 ? key : key.substr(0, 60) + "...")));
  return false;
}

const Json* Find(const Working& working, Path path, std::string& why) {
  const Json* entry = working.Entry(path.front());
  if (entry == nullptr) NoEntry(path.front(), why);
  return entry ? patch::Find(*entry, path.subspan(1), why) : nullptr;
}

bool Add(Working& working, Path path, Json value, std::string& why) {
  if (path.size() == 1) {
    working.Put(path.front(), std::move(value));
    return true;
  }
  Json* entry = working.Mutable(path.front());
  return entry ? patch::Add(*entry, path.subspan(1), std::move(value), why) : NoEntry(path.front(), why);
}

bool Replace(Working& working, Path path, Json value, std::string& why) {
  if (path.size() == 1) {
    if (working.Entry(path.front()) == nullptr) return NoEntry(path.front(), why);
    working.Put(path.front(), std::move(value));
    return true;
  }
  Json* entry = working.Mutable(path.front());
  return entry ? patch::Replace(*entry, path.subspan(1), std::move(value), why) : NoEntry(path.front(), why);
}

std::optional<Json> Take(Working& working, Path path, std::string& why) {
  Json* entry = working.Mutable(path.front());
  if (entry == nullptr) {
    NoEntry(path.front(), why);
    return std::nullopt;
  }
  if (path.size() > 1) return patch::Take(*entry, path.subspan(1), why);
  Json taken = std::move(*entry);
  working.Drop(path.front());
  return taken;
}

bool ApplyOp(Working& working, const Op& op, std::string& why) {
  switch (op.kind) {
    case OpKind::kAdd: return Add(working, op.path, *op.value, why);
    case OpKind::kReplace: return Replace(working, op.path, *op.value, why);
    case OpKind::kRemove: return Take(working, op.path, why).has_value();
    case OpKind::kCopy:
    case OpKind::kMove: {
      const Json* from = Find(working, op.from, why);
      if (from == nullptr) {
        why = "\"from\": " + why;
        return false;
      }
      if (op.kind == OpKind::kCopy) return Add(working, op.path, Json(*from), why);
      if (op.from == op.path) return true;
      auto moved = Take(working, op.from, why);
      return moved && Add(working, op.path, std::move(*moved), why);
    }
    case OpKind::kTest: {
      const Json* at = Find(working, op.path, why);
      if (at == nullptr) return false;
      why = "the value is another one";
      return patch::Equal(*at, *op.value);
    }
  }
  return false;
}

}  // namespace

Status Document::Apply(const Json& patch) {
  auto ops = patch::Parse(patch);
  if (!ops) return ops.error();
  Working working(*this);
  std::string why;
  for (std::size_t i = 0; i < ops->size(); ++i) {
    const Op& op = (*ops)[i];
    const bool has_from = op.kind == OpKind::kCopy || op.kind == OpKind::kMove;
    if (op.path.empty() || (has_from && op.from.empty())) {
      return patch::At(i, op, "a path of a state names an entry; the whole state cannot be replaced, copied or tested");
    }
    if (!ApplyOp(working, op, why)) return patch::At(i, op, why);
  }
  for (const auto& [key, value] : working.changed()) {
    Status storable = IsPlainText(key) ? Status() : CheckStorable(Json(key));
    if (storable && value) storable = CheckStorable(*value, kEntryLimits);
    if (!storable) return {Code::kInvalid, fmt::format("JSON Patch: entry {}: {}", DumpJson(Json(key)), storable.message())};
  }
  std::vector<trie::Change> changes;
  for (auto& [key, value] : working.changed()) {
    changes.push_back({trie::PathOf(key), value ? trie::MakeLeaf(key, std::move(*value)) : nullptr});
  }
  root_ = trie::Apply(root_, std::move(changes));
  return {};
}

}  // namespace acl
