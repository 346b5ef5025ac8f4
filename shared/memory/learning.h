#pragma once
// What is given to an external memory, what it is asked, and what it answers (document 000, 9).

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/json.h"

namespace acl::memory {

enum class Kind { kPreference, kDecision, kFact };
std::string_view NameOf(Kind kind);  // "preference", "decision", "fact"
std::optional<Kind> KindOf(std::string_view name);

inline constexpr std::size_t kMostLearningBytes = 1'000, kMostQueryBytes = 500;
inline constexpr int kMostResults = 50;
inline constexpr std::size_t kMostResultBytes = 4'000;    // of one text; the rest is cut, and said so
inline constexpr std::size_t kMostResultsBytes = 64'000;  // of all texts of one answer
inline constexpr std::size_t kMostAnswerBytes = 256'000;  // of an answer as the memory sends it
inline constexpr std::chrono::hours kShortestValidity{24};

// The event of a project that a learning comes from.
struct Source {
  ProjectId project;
  std::int64_t event_seq = 0;
};

struct Learning {
  std::string type;  // as given: the gate refuses what is no Kind
  std::string text;
  std::optional<std::chrono::seconds> valid_for;  // none: until it is revoked
  Source source;

  // Made from all of the above but valid_for, so the same learning has the same id however often it is sent. 32 hex digits.
  std::string Id() const;
};

struct Query {
  std::optional<Kind> kind;  // none: any
  std::string text;
  int most = 10;  // results
};

struct Found {
  struct Result {
    Kind kind = Kind::kFact;
    std::string id, text;
    std::string source;  // in the memory's own words; of a learning of ours event:PROJECT/SEQ
    bool cut = false;    // the text was longer than kMostResultBytes
  };
  std::vector<Result> results;  // the best first
  std::string memory;           // whom they were read from: scheme, host and port
  WallTime read_at;
  int dropped = 0;  // results that were none: no text, no known kind, another kind than asked, beyond `most` or kMostResultsBytes
};
// {schema_version, memory, read_at, dropped, results: [{id, kind, text, source, cut}]}
Json ToJson(const Found& found);

// Why the gate does not let a text out.
struct Refusal {
  // For programs: TYPE, FORM, SOURCE, WORK_ID, STATUS, PROGRESS, CHECKPOINT, SHORT_LIVED, SECRET
  std::string reason;
  std::string found;    // the words of the text that it is refused for; of a secret only what it looks like
  std::string instead;  // what to write instead, or where it belongs
  std::string Message() const;
};

}  // namespace acl::memory
