#include "shared/kernel/fold.h"

#include <fmt/format.h>

#include "shared/base/json_object.h"

namespace acl {

namespace {

using Members = Json::object_t;

const std::string& TextIn(const Json& operation, std::string_view key) {
  static const std::string none;
  for (const auto& [name, value] : operation.get_ref<const Members&>()) {
    if (name == key && value.is_string()) return value.get_ref<const std::string&>();
  }
  return none;
}

// "/entry" of "/entry/member".
std::string_view EntryOf(std::string_view pointer) { return pointer.substr(0, pointer.find('/', 1)); }

Json& ValueOf(Json& operation) { return operation.get_ref<Members&>().back().second; }

// Where the operation is as PatchAdd makes it.
bool IsAdd(const Json& operation) {
  const auto& members = operation.get_ref<const Members&>();
  return members.size() == 3 && members.front().first == "op" && members.front().second.get_ref<const std::string&>() == "add" &&
         members.back().first == "value";
}

// Says in an operation before it what `next` says; false if there is none that can: the last that touches its entry has to write it whole.
bool SaidBefore(Json& delta, Json& next) {
  if (!IsAdd(next)) return false;
  const std::string& path = TextIn(next, "path");
  const std::string_view entry = EntryOf(path);
  auto& operations = delta.get_ref<Json::array_t&>();
  for (auto before = operations.rbegin(); before != operations.rend(); ++before) {
    const std::string& its_path = TextIn(*before, "path");
    if (EntryOf(its_path) != entry && EntryOf(TextIn(*before, "from")) != entry) continue;
    if (its_path != entry || !IsAdd(*before)) return false;
    Json& value = ValueOf(*before);
    if (path == entry) {
      value = std::move(ValueOf(next));
      return true;
    }
    const std::string_view member = std::string_view(path).substr(entry.size() + 1);
    if (!value.is_object() || member.find_first_of("/~") != std::string_view::npos) return false;
    value[std::string(member)] = std::move(ValueOf(next));
    return true;
  }
  return false;
}

}  // namespace

Result<Folded> Fold(const SubjectKind& kind, Document& state, EventDraft draft) {
  Folded folded;
  Json delta = kind.Evolve(state, draft);
  if (delta.is_array() && !delta.empty()) {
    Status applied = state.Apply(delta);
    if (!applied) {
      return Error{Code::kInternal,
                   fmt::format("kind '{}': the delta of event '{}' does not apply: {}", kind.Name(), draft.type, applied.message())};
    }
    folded.delta = std::move(delta);
  }
  Dismiss(draft.carried);
  folded.type = std::move(draft.type);
  if (draft.facts.is_object()) folded.facts = std::move(draft.facts);
  return folded;
}

void Folded::Join(Folded next) {
  auto& said = next.facts.get_ref<Members&>();
  Json one = ObjectFor(said.size() + 1);
  AddMember(one, "type", std::move(next.type));
  const auto at = facts.find("at");
  for (auto& [key, value] : said) {
    if (key == "at" && at != facts.end() && *at == value) continue;  // the same moment
    AddMember(one, key, std::move(value));
  }
  also.push_back(std::move(one));
  auto& operations = delta.get_ref<Json::array_t&>();
  operations.reserve(operations.size() + next.delta.size());
  for (Json& operation : next.delta) {
    if (!SaidBefore(delta, operation)) operations.push_back(std::move(operation));
  }
}

Json PayloadOf(Folded folded, const Hash256& root) {
  Json payload = std::move(folded.facts);
  if (!folded.also.empty()) AddMember(payload, kAlsoKey, std::move(folded.also));
  if (!folded.delta.empty()) {
    AddMember(payload, kDeltaKey, std::move(folded.delta));
    AddMember(payload, kRootKey, ToHex(root));
  }
  return payload;
}

Result<Event> FoldDraft(const SubjectKind& kind, Document& state, EventDraft draft) {
  auto folded = Fold(kind, state, std::move(draft));
  if (!folded) return folded.error();
  Event event;
  event.type = folded->type;
  const Json payload = PayloadOf(std::move(*folded), state.Root());
  event.payload = DumpJson(payload);
  HashPayload(event, payload);
  return event;
}

}  // namespace acl
