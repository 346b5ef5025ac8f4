#pragma once
// The most that anything given from outside may become, all in one place; a test compares it with docs/reference/limits.md.
// Each limit is asked before the memory is taken: an input that would go beyond it is refused, whoever gave it, and nothing else suffers.

#include <cstddef>

namespace acl::limits {

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

// ---- workflow files (definition/)
inline constexpr std::size_t kWorkflowFileBytes = 1 * kMiB;
inline constexpr std::size_t kWorkflowExpandedBytes = 4 * kMiB;  // its texts and keys, once its aliases are written out
inline constexpr std::size_t kFindingBytes = 1 * kKiB;           // one message; what it quotes of the file is cut
inline constexpr std::size_t kFindingsKept = 10'000;             // of one severity while a file is read; 500 are shown

// ---- templates: of the inputs of one call
inline constexpr std::size_t kTemplateBytes = 8 * kMiB;       // what they expand to
inline constexpr std::size_t kTemplateWorkBytes = 64 * kMiB;  // what their filters and look-ups read and write on the way there
inline constexpr std::size_t kStartedBytes = 32 * kMiB;  // inputs of the calls that one decision starts; the others start with the next

// ---- JSON from outside: bodies of requests, parameters and results of steps
inline constexpr std::size_t kJsonValues = 1'000'000;
inline constexpr std::size_t kPatchCopyBytes = 64 * kMiB;  // what the copies of one JSON Patch make: each may double what is there

// ---- steps (capability/)
inline constexpr std::size_t kStepOutputBytes = 8 * kMiB;  // as JSON text; a text that a capability makes is no larger on its way
inline constexpr std::size_t kRegexPatternBytes = 10'000;
inline constexpr int kRegexGroups = 100;
inline constexpr std::size_t kRegexMatches = 10'000;
inline constexpr std::size_t kRegexProgramBytes = 32 * kMiB;  // what an expression and its states may take

// ---- a run as it goes on
inline constexpr std::size_t kRunStateBytes = 128 * kMiB;  // as it is stored: beyond it the step whose outputs would pass it fails

// ---- a run, at submit
inline constexpr std::size_t kRunInputs = 10'000;  // named ones: each is an entry of the state; within one there may be very many values
inline constexpr std::size_t kRunFiles = 20'000;   // files and folders, those above each of them too, named or not
inline constexpr std::size_t kRunPathsBytes = 8 * kMiB;  // of all their paths: an entry of the state each

// ---- answers of the API (coordinator/api)
inline constexpr std::size_t kViewOutputBytes = 64 * kKiB;  // of one step's outputs in the view of a run; beyond it their size and address
inline constexpr std::size_t kViewOutputsBytes = 2 * kMiB;  // of all of them in one view
inline constexpr std::size_t kPageBytes = 4 * kMiB;         // of a page of events: it ends behind the event that goes beyond
inline constexpr std::size_t kSmallAnswerBytes = 1 * kMiB;  // what an answer may hold without being counted among them
inline constexpr std::size_t kAnswersBytes = 256 * kMiB;    // of states and pages that are held for answers at one time; beyond it 503
inline constexpr std::size_t kRequestsBytes = 256 * kMiB;   // of what bodies become while they are handled, at one time; beyond it 503

}  // namespace acl::limits
