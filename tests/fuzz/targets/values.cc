// JSON, JSON Patch, cron expressions.
#include <array>

#include "shared/base/canonical_json.h"
#include "shared/base/check.h"
#include "shared/journal/document.h"
#include "shared/journal/json_patch.h"
#include "shared/schedule/cron.h"
#include "tests/fuzz/targets/targets.h"

namespace acl::fuzz {

void FuzzJson(std::string_view bytes) {
  const auto value = ParseJson(bytes);
  if (!value) {
    ACL_CHECK(CheckStorable(Json(value.message())).ok(), "a refusal is text that can be stored");
    return;
  }
  ACL_CHECK(CheckStorable(*value).ok(), "what is taken can be stored");
  const std::string text = DumpJson(*value);
  const auto again = ParseJson(text);
  ACL_CHECK(again.ok() && DumpJson(*again) == text, "what is written reads back as the same");
  ACL_CHECK(CanonicalJson(*again) == CanonicalJson(*value), "and hashes as the same");
}

namespace {

// Copies may double a document with each operation: what a patch of ours never does, and no use to look at.
bool IsSmall(const Json& patch) {
  if (!patch.is_array()) return true;
  std::size_t copies = 0;
  for (const Json& op : patch) copies += op.is_object() && op.contains("op") && op["op"] == "copy";
  return copies <= 8;
}

bool NamesEntriesOnly(const Json& patch) {
  for (const Json& op : patch)
    for (const char* member : {"path", "from"})
      if (op.is_object() && op.contains(member) && op[member] == "") return false;
  return true;
}

}  // namespace

void FuzzPatch(std::string_view bytes) {
  const auto line = bytes.find('\n');
  if (line == std::string_view::npos) return;
  const auto before = ParseJson(bytes.substr(0, line)), patch = ParseJson(bytes.substr(line + 1));
  if (!before || !patch || !IsSmall(*patch)) return;
  const auto whole = ApplyPatch(*before, *patch);
  if (!before->is_object() || !patch->is_array() || !NamesEntriesOnly(*patch)) return;
  auto document = Document::FromJson(*before);
  ACL_CHECK(document.ok(), "what ParseJson takes is a document");
  const Hash256 root = document->Root();
  const Status status = document->Apply(*patch);
  if (!status) {
    ACL_CHECK(document->Root() == root, "a patch that fails changes nothing");
    // A document holds what can be stored; a patch on a whole value does not ask.
    ACL_CHECK(!whole.ok() || !CheckStorable(*whole, kEntryLimits).ok(), "a patch fails on both or on none");
    return;
  }
  ACL_CHECK(whole.ok(), "a patch fails on both or on none");
  const auto wanted = Document::FromJson(*whole);
  ACL_CHECK(wanted.ok() && wanted->Root() == document->Root() && wanted->size() == document->size(), "a patch does the same to both");
}

void FuzzCron(std::string_view bytes) {
  const auto cron = schedule::ParseCron(bytes);
  if (!cron) return;
  static const std::array zones = {*TimeZone::Load("UTC"), *TimeZone::Load("Europe/Berlin"), *TimeZone::Load("Australia/Lord_Howe")};
  const std::int64_t start = 1'806'192'000;  // a day before clocks change in Berlin
  for (const auto& zone : zones) {
    std::int64_t last = start;
    for (const auto at : schedule::NextFires(*cron, zone, start, 3)) {
      ACL_CHECK(at > last, "each time is after the one before");
      ACL_CHECK(schedule::NextFire(*cron, zone, at - 1) == at, "and is the next one from the second before it");
      last = at;
    }
    ACL_CHECK(last > start, "an expression that is taken fires");
  }
}

}  // namespace acl::fuzz
