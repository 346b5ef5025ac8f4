#include "shared/memory/learning.h"

#include <fmt/format.h>

#include <array>

#include "shared/base/sha256.h"

namespace acl::memory {
namespace {

constexpr std::array<std::string_view, 3> kKinds{"preference", "decision", "fact"};

}  // namespace

std::string_view NameOf(Kind kind) { return kKinds[std::size_t(kind)]; }

std::optional<Kind> KindOf(std::string_view name) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == name) return Kind(i);
  }
  return std::nullopt;
}

std::string Learning::Id() const {
  const std::string whole = fmt::format("{}/{}/{}/{}", source.project.ToString(), source.event_seq, type, text);
  return ToHex(Sha256(whole)).substr(0, 32);
}

Json ToJson(const Found& found) {
  Json results = Json::array();
  for (const auto& result : found.results) {
    results.push_back(
        {{"id", result.id}, {"kind", NameOf(result.kind)}, {"text", result.text}, {"source", result.source}, {"cut", result.cut}});
  }
  return {{"schema_version", 1},
          {"memory", found.memory},
          {"read_at", FormatWallTime(found.read_at)},
          {"dropped", found.dropped},
          {"results", std::move(results)}};
}

std::string Refusal::Message() const { return fmt::format("{}: {}; {}", reason, found, instead); }

}  // namespace acl::memory
