#include "shared/workflow/record_patch.h"

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

// What an operation takes besides key and value: of a record, of a member (its path is longer), of a member that goes.
constexpr std::size_t kRecordBytes = 45, kMemberBytes = 34, kGoneBytes = 28;

// Of the text, roughly.
std::size_t TextBytes(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() + 2;
  std::size_t bytes = 2;
  if (value.is_object()) {
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) bytes += TextBytes(member) + key.size() + 4;
    return bytes;
  }
  if (!value.is_array()) return 6;
  for (const Json& item : value.get_ref<const Json::array_t&>()) bytes += TextBytes(item) + 1;
  return bytes;
}

// With its members in canonical order: what is stored is then what is hashed, one text and one hash instead of two.
Json Ordered(Json record) {
  if (!record.is_object()) return record;
  auto& members = record.get_ref<Json::object_t&>();
  const auto less = [](const auto& a, const auto& b) { return CanonicalLess(a.first, b.first); };
  if (std::is_sorted(members.begin(), members.end(), less)) return record;
  Json ordered = ObjectFor(members.size());
  auto& in_order = ordered.get_ref<Json::object_t&>();
  while (in_order.size() < members.size()) {  // few: the least of those behind the last
    auto next = members.end();
    for (auto it = members.begin(); it != members.end(); ++it) {
      if (!in_order.empty() && !less(in_order.back(), *it)) continue;
      if (next == members.end() || less(*it, *next)) next = it;
    }
    AddMember(ordered, next->first, std::move(next->second));
  }
  members.clear();  // json_object.h, DestroyIteratively
  return ordered;
}

// Which members of `after` are new or others, and which of `before` are gone.
template <class Changed, class Gone>
void Compare(const Json& before, const Json& after, const Changed& changed, const Gone& gone) {
  for (const auto& [key, member] : after.get_ref<const Json::object_t&>()) {
    const Json* was = MemberOf(&before, key);
    if (!was || *was != member) changed(key, member);
  }
  for (const auto& [key, member] : before.get_ref<const Json::object_t&>()) {
    if (!MemberOf(&after, key)) gone(key);
  }
}

}  // namespace

void PatchMembers(Delta& delta, std::string_view record, const Json& before, Json after) {
  Compare(
      before, after, [&](const std::string& key, const Json& member) { delta.AddMember(record, key, member); },
      [&](const std::string& key) { delta.RemoveMember(record, key); });
}

void PatchRecord(Delta& delta, const std::string& record, const Json* before, Json after) {
  if (before == nullptr) return delta.Add(record, Ordered(std::move(after)));
  std::size_t bytes = 0;
  int operations = 0;
  const auto count = [&](const std::string& key, std::size_t more) {
    bytes += record.size() + key.size() + more;
    ++operations;
  };
  Compare(
      *before, after, [&](const std::string& key, const Json& member) { count(key, kMemberBytes + TextBytes(member)); },
      [&](const std::string& key) { count(key, kGoneBytes); });
  // Of a step that completes, and of the progress then, always whole: fast paths (fast_path.cc) rely on it.
  if (operations > 1 && TextBytes(after) + record.size() + kRecordBytes <= bytes) {
    delta.Add(record, Ordered(std::move(after)));
  } else {
    PatchMembers(delta, record, *before, std::move(after));
  }
}

}  // namespace acl::workflow
