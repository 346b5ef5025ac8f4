#include <fmt/format.h>

#include "shared/base/check.h"
#include "shared/capability/capability.h"
#include "shared/capability/spelling.h"

namespace acl {

namespace {

constexpr std::string_view kRiskNames[] = {"LOW", "MEDIUM", "HIGH", "CRITICAL"};

// Names that documents and policy files of the earlier runtime use for capabilities of another name (docs/reference/other-runtimes.md#k21):
// hints, never aliases.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"io.fs.create_directory", "io.fs.make_dir"}, {"io.fs.delete_file", "io.fs.delete"},     {"io.fs.delete_directory", "io.fs.delete"},
    {"io.fs.list_directory", "io.fs.list_dir"},   {"io.fs.create_file", "io.fs.write_file"}, {"sys.get_env", "sys.info.get_env_var"},
    {"sys.run_command", "sys.exec.run"},          {"io.http.get", "net.http.get"},
};

}  // namespace

std::string_view RiskName(RiskLevel risk) { return kRiskNames[int(risk)]; }

std::optional<RiskLevel> ParseRisk(std::string_view name) {
  for (int i = 0; i < 4; ++i) {
    if (name == kRiskNames[i]) return RiskLevel(i);
  }
  return std::nullopt;
}

void CapabilityRegistry::Put(Entry entry) {
  ACL_CHECK(!entry.definition.id.empty(), "a capability needs an id");
  std::string id = entry.definition.id;
  bool added = entries_.emplace(id, std::move(entry)).second;
  ACL_CHECK(added, "a capability id is registered once");
}

void CapabilityRegistry::Add(CapabilityDefinition definition, CapabilityHandler handler) {
  Put({std::move(definition), std::move(handler), nullptr});
}

void CapabilityRegistry::AddStarter(CapabilityDefinition definition, CapabilityStarter starter) {
  Put({std::move(definition), nullptr, std::move(starter)});
}

const CapabilityDefinition* CapabilityRegistry::Find(std::string_view id) const {
  auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second.definition;
}

const CapabilityHandler* CapabilityRegistry::Handler(std::string_view id) const {
  auto it = entries_.find(id);
  return it == entries_.end() || !it->second.handler ? nullptr : &it->second.handler;
}

const CapabilityStarter* CapabilityRegistry::Starter(std::string_view id) const {
  auto it = entries_.find(id);
  return it == entries_.end() || !it->second.starter ? nullptr : &it->second.starter;
}

std::vector<const CapabilityDefinition*> CapabilityRegistry::All() const {
  std::vector<const CapabilityDefinition*> all;
  for (const auto& [id, entry] : entries_) all.push_back(&entry.definition);
  return all;
}

std::string CapabilityRegistry::Nearest(std::string_view id) const {
  for (const auto& [other, ours] : kOtherNames) {
    if (id == other && Find(ours)) return std::string(ours);
  }
  std::vector<std::string_view> ids;
  for (const auto& [known, entry] : entries_) ids.push_back(known);
  return NearestSpelling(id, ids);
}

}  // namespace acl
