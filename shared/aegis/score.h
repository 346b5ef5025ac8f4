#pragma once
// In which order eligible artifacts are taken (document 004, section 6.5; docs/guides/aegis.md, "The score"). Integers alone, from 0 to
// 1000 a factor, so that the order is the same on every machine.

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "shared/aegis/gates.h"

namespace acl::aegis {

// The words of a question by which artifacts are found: stop words are not among them, and of the rest no more than kQueryWords. A rare
// word says more: its weight is 1 + floor(log2(artifacts / artifacts that hold it)); a word that more than a quarter of more than
// kCommonFrom artifacts hold has weight 0.
struct Query {
  std::map<std::string, std::int64_t, std::less<>> weights;

  std::int64_t Total() const;
  friend bool operator==(const Query&, const Query&) = default;
};
inline constexpr std::size_t kQueryWords = 32;
inline constexpr std::int64_t kCommonFrom = 4'096;
std::int64_t WordWeight(std::int64_t artifacts, std::int64_t holders);

struct Score {
  std::int64_t relevance = 0;      // 1000 x weight of the question's words found in text or value, and once more in topics, / weight of all
  std::int64_t recency = 0;        // 1000 x day / (day + age)
  std::int64_t authority_fit = 0;  // 1000, less 250 for each tier below the kernel's, halved if untrusted
  std::int64_t risk = 0;           // 300 untrusted, 200 medium, 400 low or unknown confidence, 300 in conflict
  std::int64_t utility = 0;        // by type: what it may change about the answer

  // 40 relevance + 20 recency + 10 authority_fit + 15 utility - 15 risk
  std::int64_t Total() const { return 40 * relevance + 20 * recency + 10 * authority_fit + 15 * utility - 15 * risk; }
  friend bool operator==(const Score&, const Score&) = default;
};

std::int64_t RelevanceOf(const Artifact& artifact, const Query& query);
// From weights that were summed already, of the text's words and the topics'.
std::int64_t RelevanceFrom(std::int64_t in_text, std::int64_t in_topics, std::int64_t total);
// `conflicts`: another candidate says otherwise.
Score ScoreOf(const Artifact& artifact, std::int64_t relevance, bool conflicts, const Kernel& kernel, WallTime now);

// Whether one stands before the other: higher total, higher relevance, newer, type in the order of ArtifactType, id by its bytes. Ids are
// distinct, so there is no tie.
struct Ranked {
  const Artifact* artifact = nullptr;
  Score score;
};
bool Before(const Ranked& a, const Ranked& b);

// The distinct words of an artifact that can be found: of its text and value, and of its topics.
struct ArtifactWords {
  std::vector<std::string> in_text, in_topics;  // sorted, no stop words
};
ArtifactWords WordsOfArtifact(const Artifact& artifact);
// Of a question, sorted.
std::vector<std::string> QueryWordsOf(std::string_view text);

}  // namespace acl::aegis
