#include "shared/kernel/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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

// Whether all that the operations do with the entry is put it or members of it.
bool OnlyPut(const Ops& operations, const std::string& entry) {
  return std::all_of(operations.begin(), operations.end(),
                     [&](const DeltaOp& op) { return !Touches(op, entry) || (Puts(op) && op.from_entry != entry); });
}

// Says in an operation before it what `next` says; false if there is none that can: the last that touches its entry has to put it whole.
// `only_put`: `after`, the entry as it is after all of the next operations, says it too.
bool SaidBefore(Ops& operations, const DeltaOp& next, const std::shared_ptr<const trie::Leaf>& after, bool only_put) {
  if (!Puts(next)) return false;
  const auto before = std::find_if(operations.rbegin(), operations.rend(), [&](const DeltaOp& op) { return Touches(op, next.entry); });
  if (before == operations.rend() || before->entry != next.entry || before->kind != OpKind::kAdd || !before->below.empty()) return false;
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
  folded.delta = kind.Evolve(state, draft);
  if (!folded.delta.empty()) {
    Status applied = state.Apply(folded.delta);
    if (!applied) {
      return Error{Code::kInternal,
                   fmt::format("kind '{}': the delta of event '{}' does not apply: {}", kind.Name(), draft.type, applied.message())};
    }
  }
  Dismiss(draft.carried);
  folded.type = std::move(draft.type);
  if (draft.facts.is_object()) folded.facts = std::move(draft.facts);
  return folded;
}

void Folded::Dismiss() {
  acl::Dismiss(facts);
  for (Also& one : also) acl::Dismiss(one.facts);
  for (DeltaOp& op : delta.ops) acl::Dismiss(op.value);
}

void Folded::Join(Folded next, const Document& state) {
  also.push_back({std::move(next.type), std::move(next.facts)});
  for (Also& one : next.also) also.push_back(std::move(one));
  Ops& ops = next.delta.ops;
  std::vector<bool> only_put;
  for (const DeltaOp& op : ops) only_put.push_back(OnlyPut(ops, op.entry));
  delta.ops.reserve(delta.ops.size() + ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto after = !only_put[i] ? nullptr : ops[i].leaf ? ops[i].leaf : state.LeafOf(ops[i].entry);
    if (!SaidBefore(delta.ops, ops[i], after, only_put[i])) delta.ops.push_back(std::move(ops[i]));
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
