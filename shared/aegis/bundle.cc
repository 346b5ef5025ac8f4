#include "shared/aegis/bundle.h"

#include "shared/base/canonical_json.h"

namespace acl::aegis {

namespace {

void AddEntriesOf(const Json& bundle, const char* list, const char* text, std::vector<BundleEntry>* entries) {
  const auto found = bundle.find(list);
  if (found == bundle.end()) return;
  for (const Json& item : *found) {
    if (!item.contains("id")) continue;  // the system's own intent
    const Trust trust = item.value("trust", "trusted") == "trusted" ? Trust::kTrusted : Trust::kUntrusted;
    entries->push_back({item.at("id").get<std::string>(), item.at(text).get<std::string>(), trust});
  }
}

}  // namespace

std::vector<BundleEntry> EntriesOf(const Json& bundle) {
  std::vector<BundleEntry> entries;
  AddEntriesOf(bundle, "facts", "claim", &entries);
  AddEntriesOf(bundle, "turns", "text", &entries);
  AddEntriesOf(bundle, "open_items", "issue", &entries);
  AddEntriesOf(bundle, "intent", "intent", &entries);
  AddEntriesOf(bundle, "work", "text", &entries);
  for (const auto& [tool, sight] : bundle.at("sight").items())
    if (sight.contains("values")) entries.push_back({"sight:" + tool, CanonicalJson(sight.at("values")), Trust::kUntrusted});
  return entries;
}

}  // namespace acl::aegis
