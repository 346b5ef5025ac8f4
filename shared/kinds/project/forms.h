#pragma once
// What may come in at the door: the form of texts, references and evidence. Each error says the place, what is wrong and what to write
// instead.

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::project {

inline constexpr std::size_t kMostTextBytes = 2'000, kMostTitleBytes = 200, kMostStepBytes = 300, kMostReasonBytes = 500;
inline constexpr std::size_t kMostItems = 50;  // of each list: criteria, references, blockers
inline constexpr std::size_t kMostDependencies = 100;
inline constexpr int kMostSentences = 3;

// One paragraph of at most `most` bytes: UTF-8, not blank, no control characters; line ends only if `lines`. `field` names it in the error.
Status CheckText(std::string_view field, std::string_view text, std::size_t most, bool lines = false);
// A CheckText that may be empty.
Status CheckReason(std::string_view field, std::string_view text);
// 1 to 3 sentences (document 000, 6.3).
Status CheckWhereWeLeftOff(std::string_view text);
// One line, one action: no list, no second sentence, no "and then".
Status CheckNextStep(std::string_view text);
int CountSentences(std::string_view text);

// `run:ID`, `event:SUBJECT/SEQ`, `file:PATH@sha256:HEX`, `git:COMMIT:PATH`, `goal:ID`, `task:ID`, `url:ADDRESS`, `memory:KEY`.
Status CheckReference(std::string_view field, std::string_view reference);
std::string_view KindOfReference(std::string_view reference);  // "run"

// Kinds of evidence that a task may ask for: `person`, `run`, `artifact`, `check`.
bool IsEvidenceKind(std::string_view kind);
std::string EvidenceKinds();  // for messages
// One piece: {kind: person, by, said}, {kind: run, run_id}, {kind: artifact, sha256, bytes}, {kind: check, command, exit_code: 0}.
Status CheckEvidence(std::string_view field, const Json& evidence);

}  // namespace acl::project
