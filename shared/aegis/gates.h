#pragma once
// The hard gates of document 004, section 6.2: what does not pass is never shown to a model, and stands among the exclusions with its
// reason. Each is a pure function. Screen() asks those that do not depend on a kernel, once, when an artifact becomes known: what it
// refuses loses its text and value there, so that nothing that was refused is kept, recorded or replayed.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shared/aegis/kernel_file.h"

namespace acl::aegis {

// The reason of a refusal; nullopt: it passes.
using Verdict = std::optional<std::string_view>;

// It names a turn, a ledger entry, a tool's execution or an event of a journal that fits its type: else "not_sourced".
Verdict CheckSourced(const Artifact& artifact);
// A ledger fact is ratified ("not_ratified"), a DriftWatch event open ("not_open").
Verdict CheckStanding(const Artifact& artifact);
// The kernel's tier may see this artifact and artifacts of its type: else "authority_incompatible".
Verdict CheckAuthority(const Artifact& artifact, const Kernel& kernel);
// No raw log, journal dump or binary; at most kEvidenceBytes: else "evidence_blob_disallowed".
Verdict CheckEvidenceBlob(const Artifact& artifact);
Verdict CheckEvidenceText(std::string_view text);
inline constexpr std::size_t kEvidenceBytes = 8 * 1024;

// The kind of secret a text holds, if it holds one: the sanitiser's word.
using FindsSecret = std::function<std::optional<std::string>(std::string_view)>;
// "sensitive_content" if there is one anywhere in it.
Verdict CheckSensitive(const Artifact& artifact, const FindsSecret& finds_secret);

// An artifact once the gates that no kernel decides were asked.
struct ScreenedArtifact {
  Artifact artifact;
  std::string refused;  // the reason; text, value, topics, subject and contradicts are gone then
  // Of what was refused, whose words are gone: its relevance as it was found (score.h).
  std::int64_t relevance = 0;

  friend bool operator==(const ScreenedArtifact&, const ScreenedArtifact&) = default;
};
// Refused, for that reason: what it says is gone.
void Refuse(ScreenedArtifact* candidate, std::string_view reason);
ScreenedArtifact Screen(Artifact artifact, const FindsSecret& finds_secret);
// The same of what a tool said: values that are refused are gone.
ToolOutput ScreenOutput(ToolOutput output, const FindsSecret& finds_secret);

// The id as it may stand in a bundle: an id that is no plain name (letters, digits, _ . : / # @ -) is named by its hash.
std::string ShownId(std::string_view id);

}  // namespace acl::aegis
