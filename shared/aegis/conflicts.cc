#include "shared/aegis/conflicts.h"

#include <algorithm>
#include <map>

#include "shared/aegis/words.h"
#include "shared/base/canonical_json.h"

namespace acl::aegis {

bool ClaimsSubject(const Artifact& artifact) {
  const bool claims =
      artifact.type == ArtifactType::kLedgerFact || artifact.type == ArtifactType::kDecision || artifact.type == ArtifactType::kNote;
  return claims && !artifact.subject.empty();
}

std::string ClaimOf(const Artifact& artifact) {
  if (!artifact.value.is_null()) return "=" + CanonicalJson(artifact.value);
  std::string claim;
  for (const std::string& word : WordsOf(artifact.text)) claim += " " + word;
  return claim;
}

std::vector<Conflict> FindConflicts(const std::vector<const Artifact*>& artifacts) {
  std::vector<Conflict> conflicts;
  std::map<std::string_view, std::size_t> places;
  std::map<std::string_view, std::vector<std::size_t>> by_subject;
  for (std::size_t i = 0; i < artifacts.size(); ++i) {
    places.emplace(artifacts[i]->id, i);
    if (ClaimsSubject(*artifacts[i])) by_subject[artifacts[i]->subject].push_back(i);
  }
  for (std::size_t i = 0; i < artifacts.size(); ++i) {
    for (const std::string& id : artifacts[i]->contradicts) {
      const auto other = places.find(id);
      if (other != places.end() && other->second != i) conflicts.push_back({std::min(i, other->second), std::max(i, other->second), {}});
    }
  }
  for (const auto& [subject, members] : by_subject) {
    std::vector<std::string> claims(members.size());
    std::transform(members.begin(), members.end(), claims.begin(), [&](std::size_t i) { return ClaimOf(*artifacts[i]); });
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t k = i + 1; k < members.size(); ++k)
        if (claims[i] != claims[k]) conflicts.push_back({members[i], members[k], subject});
  }
  const auto pair = [](const Conflict& conflict) { return std::tuple(conflict.first, conflict.second); };
  std::sort(conflicts.begin(), conflicts.end(), [&](const Conflict& a, const Conflict& b) {  // of one pair, that with a subject first
    return std::tuple(a.first, a.second, a.subject.empty()) < std::tuple(b.first, b.second, b.subject.empty());
  });
  conflicts.erase(std::unique(conflicts.begin(), conflicts.end(), [&](const Conflict& a, const Conflict& b) { return pair(a) == pair(b); }),
                  conflicts.end());
  return conflicts;
}

}  // namespace acl::aegis
