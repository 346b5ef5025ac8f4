#include "shared/kernel/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

using OpKind = DeltaOp::Kind;
using Ops = std::vector<DeltaOp>;

// "/status": a member of an entry, in a name without escapes.
bool IsMember(const std::string& below) { return !below.empty() && below.find_first_of("/~", 1) == std::string::npos; }

bool Puts(const DeltaOp& op) { return op.kind == OpKind::kAdd && (op.below.empty() || IsMember(op.below)); }

bool Touches(const DeltaOp& op, const std::string& entry) { return op.entry == entry || op.from_entry == entry; }

// Of each operation, whether all that they do with its entry is put it or members of it.
std::vector<bool> OnlyPut(const Ops& operations) {
  std::unordered_set<std::string_view> otherwise;
  for (const DeltaOp& op : operations) {
    if (!Puts(op) || op.from_entry == op.entry) otherwise.insert(op.entry);
    if (!op.from_entry.empty()) otherwise.insert(op.from_entry);
  }
  std::vector<bool> only_put;
  only_put.reserve(operations.size());
  for (const DeltaOp& op : operations) only_put.push_back(otherwise.empty() || !otherwise.contains(op.entry));
  return only_put;
}

// The last of the operations so far that touches an entry. Looked for one by one among few; a step may have changed very many files.
class LastTouch {
 public:
  LastTouch(Ops& operations, std::size_t to_come) : operations_(operations), indexed_(to_come > kFew && operations.size() > kFew) {
    if (indexed_) last_.reserve(operations.size() + to_come);
    for (std::size_t i = 0; indexed_ && i < operations.size(); ++i) Note(i);
  }
  DeltaOp* Find(const std::string& entry) {
    if (indexed_) {
      const auto last = last_.find(entry);
      return last == last_.end() ? nullptr : &operations_[last->second];
    }
    const auto last = std::find_if(operations_.rbegin(), operations_.rend(), [&](const DeltaOp& op) { return Touches(op, entry); });
    return last == operations_.rend() ? nullptr : &*last;
  }
  void Append(DeltaOp op) {
    operations_.push_back(std::move(op));
    if (indexed_) Note(operations_.size() - 1);
  }

 private:
  static constexpr std::size_t kFew = 32;

  void Note(std::size_t i) {
    last_[operations_[i].entry] = i;
    if (!operations_[i].from_entry.empty()) last_[operations_[i].from_entry] = i;
  }

  Ops& operations_;
  const bool indexed_;
  std::unordered_map<std::string, std::size_t> last_;
};

// Says in the operation before it that touches its entry what `next` says; false if it cannot: it has to put the entry whole.
// `only_put`: `after`, the entry as it is after all of the next operations, says it too.
bool SaidBefore(DeltaOp* before, const DeltaOp& next, const std::shared_ptr<const trie::Leaf>& after, bool only_put) {
  if (before == nullptr || before->entry != next.entry || before->kind != OpKind::kAdd || !before->below.empty()) return false;
  if (!next.below.empty() && !before->said().is_object()) return false;
  if (only_put && after) {
    before->leaf = after;
    before->value = Json();
  } else if (next.below.empty()) {
    before->value = next.said();
    before->leaf.reset();
  } else {
    if (before->leaf) before->value = before->leaf->value();
    before->leaf.reset();
    before->value[next.below.substr(1)] = next.said();
  }
  return true;
}

// ---- words

void WordPointer(std::string_view entry, std::string_view below, std::string& scratch, StoredText& out) {
  scratch.clear();
  AppendPointer(entry, below, scratch);
  out.String(scratch);
}

void WordDelta(const Delta& delta, StoredText& out) {
  std::string pointer;
  char before = '[';
  for (const DeltaOp& op : delta.ops) {
    out.Raw({&before, 1});
    before = ',';
    const bool has_from = op.kind == OpKind::kMove || op.kind == OpKind::kCopy;
    if (has_from) {
      out.Raw("{\"from\":");
      WordPointer(op.from_entry, op.from_below, pointer, out);
      out.Raw(",\"op\":\"");
    } else {
      out.Raw("{\"op\":\"");
    }
    out.Raw(NameOf(op.kind)).Raw("\",\"path\":");
    WordPointer(op.entry, op.below, pointer, out);
    if (!has_from && op.kind != OpKind::kRemove) {
      out.Raw(",\"value\":");
      const StoredText::Texts texts = out.Value(op.said());
      if (op.leaf) op.leaf->Know(texts.stored.size(), texts.canonical);
    }
    out.Raw("}");
  }
  out.Raw("]");
}

// What an object says, member by member in canonical order, some of it not Json yet.
struct Member {
  std::string_view key;
  const Json* value = nullptr;
};

class Members {
 public:
  explicit Members(const Json& object) {
    if (object.is_object()) {
      for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) Add(key, &value);
    }
  }
  void Add(std::string_view key, const Json* value = nullptr) {
    if (count_ < few_.size()) {
      few_[count_++] = {key, value};
      return;
    }
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back({key, value});
    ++count_;
  }
  template <class Special>
  void Word(StoredText& out, const Special& special) {
    Member* const first = many_.empty() ? few_.data() : many_.data();
    std::sort(first, first + count_, [](const Member& a, const Member& b) { return CanonicalLess(a.key, b.key); });
    const char* before = "{";
    for (const Member* member = first; member != first + count_; ++member) {
      out.Raw(before).String(member->key).Raw(":");
      before = ",";
      if (member->value) {
        out.Value(*member->value);
      } else {
        special(member->key);
      }
    }
    out.Raw(count_ == 0 ? "{}" : "}");
  }

 private:
  std::array<Member, 16> few_;
  std::vector<Member> many_;
  std::size_t count_ = 0;
};

void WordAlso(const std::vector<Folded::Also>& also, StoredText& out) {
  const char* before = "[";
  for (const Folded::Also& one : also) {
    out.Raw(before);
    before = ",";
    Members members(one.facts);
    members.Add("type");
    members.Word(out, [&](std::string_view) { out.String(one.type); });
  }
  out.Raw("]");
}

}  // namespace

Result<Folded> Fold(const SubjectKind& kind, Document& state, EventDraft draft) {
  Folded folded;
  for (const std::string_view ours : {kAlsoKey, kDeltaKey, kRootKey}) {  // twice in one payload, they could not be read back
    if (draft.facts.is_object() && draft.facts.contains(ours))
      return Error{Code::kInternal,
                   fmt::format("kind '{}': event '{}' has a fact \"{}\", which is the journal's word", kind.Name(), draft.type, ours)};
  }
  folded.delta = kind.Evolve(state, draft);
  if (!folded.delta.empty()) {
    Status applied = state.Apply(folded.delta);
    if (!applied) {
      return Error{Code::kInternal,
                   fmt::format("kind '{}': the delta of event '{}' does not apply: {}", kind.Name(), draft.type, applied.message())};
    }
  }
  DestroyIteratively(draft.carried);
  folded.type = std::move(draft.type);
  if (draft.facts.is_object()) folded.facts = std::move(draft.facts);
  return folded;
}

void Folded::DestroyIteratively() {
  acl::DestroyIteratively(facts);
  for (Also& one : also) acl::DestroyIteratively(one.facts);
  for (DeltaOp& op : delta.ops) acl::DestroyIteratively(op.value);
}

void Folded::Join(Folded next, const Document& state) {
  also.push_back({std::move(next.type), std::move(next.facts)});
  for (Also& one : next.also) also.push_back(std::move(one));
  Ops& ops = next.delta.ops;
  const std::vector<bool> only_put = OnlyPut(ops);
  delta.ops.reserve(delta.ops.size() + ops.size());
  LastTouch last(delta.ops, ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto after = !only_put[i] ? nullptr : ops[i].leaf ? ops[i].leaf : state.LeafOf(ops[i].entry);
    if (!Puts(ops[i]) || !SaidBefore(last.Find(ops[i].entry), ops[i], after, only_put[i])) last.Append(std::move(ops[i]));
  }
}

void WordPayload(const Folded& folded, const Document& state, Event& event) {
  constexpr std::size_t kUsual = 1'024;
  StoredText text(kUsual);
  Members members(folded.facts);
  if (!folded.also.empty()) members.Add(kAlsoKey);
  if (!folded.delta.empty()) {
    members.Add(kDeltaKey);
    members.Add(kRootKey);
  }
  members.Word(text, [&](std::string_view key) {
    if (key == kAlsoKey) {
      WordAlso(folded.also, text);
    } else if (key == kDeltaKey) {
      WordDelta(folded.delta, text);
    } else {
      text.Raw("\"").Raw(ToHex(state.Root())).Raw("\"");
    }
  });
  const StoredText::Hashes hashes = text.Measure();
  event.checksum = hashes.canonical;
  event.content_hash = hashes.stored;
  event.payload = std::move(text).Take();
}

Result<Event> FoldDraft(const SubjectKind& kind, Document& state, EventDraft draft) {
  auto folded = Fold(kind, state, std::move(draft));
  if (!folded) return folded.error();
  Event event;
  event.type = folded->type;
  WordPayload(*folded, state, event);
  return event;
}

}  // namespace acl
