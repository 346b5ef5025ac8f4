#include "shared/aegis/score.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "shared/aegis/words.h"

namespace acl::aegis {

namespace {

constexpr std::int64_t kWhole = 1'000, kDaySeconds = 86'400;

// What an artifact of the type may change about an answer, in the order of ArtifactType.
constexpr std::array<std::int64_t, kArtifactTypes> kUtility = {1'000, 900, 900, 800, 800, 800, 700, 700, 600, 500, 400};

void AppendValueWords(const Json& value, std::vector<std::string>* words) {
  constexpr std::size_t kEnough = 4'096;  // of a value so large that it is refused
  if (words->size() > kEnough) return;
  const auto append = [&](std::string_view text) {
    auto more = WordsOf(text);
    words->insert(words->end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  if (value.is_string()) append(value.get_ref<const std::string&>());
  if (value.is_array())
    for (const Json& item : value) AppendValueWords(item, words);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    append(key);
    AppendValueWords(member, words);
  }
}

void SortUnique(std::vector<std::string>* words) {
  std::erase_if(*words, [](const std::string& word) { return IsStopWord(word); });
  std::sort(words->begin(), words->end());
  words->erase(std::unique(words->begin(), words->end()), words->end());
}

// The weight of the distinct words of a question that are among these.
std::int64_t WeightIn(const std::vector<std::string>& words, const Query& query) {
  std::vector<std::string_view> found;
  std::int64_t weight = 0;
  for (const std::string& word : words) {
    const auto known = query.weights.find(word);
    if (known == query.weights.end() || std::find(found.begin(), found.end(), word) != found.end()) continue;
    found.push_back(word);
    weight += known->second;
  }
  return weight;
}

// Every word, repeats and stop words too.
ArtifactWords AllWordsOf(const Artifact& artifact) {
  ArtifactWords words;
  words.in_text = WordsOf(std::string_view(artifact.text).substr(0, kEvidenceBytes));  // a longer one is refused anyway
  AppendValueWords(artifact.value, &words.in_text);
  for (const std::string& topic : artifact.topics) {
    auto more = WordsOf(topic);
    words.in_topics.insert(words.in_topics.end(), more.begin(), more.end());
  }
  return words;
}

}  // namespace

std::int64_t Query::Total() const {
  return std::accumulate(weights.begin(), weights.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& word) { return sum + word.second; });
}

std::int64_t WordWeight(std::int64_t artifacts, std::int64_t holders) {
  if (holders <= 0) return 1 + std::int64_t(std::bit_width(std::uint64_t(std::max<std::int64_t>(artifacts, 1))) - 1);
  if (artifacts > kCommonFrom && holders > artifacts / 4) return 0;
  return 1 + std::int64_t(std::bit_width(std::uint64_t(std::max<std::int64_t>(artifacts / holders, 1))) - 1);
}

std::int64_t RelevanceFrom(std::int64_t in_text, std::int64_t in_topics, std::int64_t total) {
  return total <= 0 ? 0 : std::min(kWhole, kWhole * (in_text + in_topics) / total);
}

std::int64_t RelevanceOf(const Artifact& artifact, const Query& query) {
  if (query.weights.empty()) return 0;
  const ArtifactWords words = AllWordsOf(artifact);  // a question has no stop words, so those need not go
  return RelevanceFrom(WeightIn(words.in_text, query), WeightIn(words.in_topics, query), query.Total());
}

Score ScoreOf(const Artifact& artifact, std::int64_t relevance, bool conflicts, const Kernel& kernel, WallTime now) {
  const bool untrusted = artifact.trust == Trust::kUntrusted;
  Score score;
  score.relevance = relevance;
  const std::int64_t age_s = std::max<std::int64_t>(0, std::chrono::floor<std::chrono::seconds>(now - artifact.observed_at).count());
  score.recency = kWhole * kDaySeconds / (kDaySeconds + age_s);
  score.authority_fit = std::max<std::int64_t>(0, kWhole - 250 * std::max(0, kernel.tier - artifact.tier)) / (untrusted ? 2 : 1);
  const bool high = artifact.confidence == "high", medium = artifact.confidence == "medium";
  score.risk = (untrusted ? 300 : 0) + (high ? 0 : medium ? 200 : 400) + (conflicts ? 300 : 0);
  score.utility = kUtility[std::size_t(artifact.type)];
  return score;
}

bool Before(const Ranked& a, const Ranked& b) {
  const auto key = [](const Ranked& one) {
    return std::tuple(-one.score.Total(), -one.score.relevance, -MicrosOf(one.artifact->observed_at), int(one.artifact->type),
                      std::string_view(one.artifact->id));
  };
  return key(a) < key(b);
}

ArtifactWords WordsOfArtifact(const Artifact& artifact) {
  ArtifactWords words = AllWordsOf(artifact);
  SortUnique(&words.in_text);
  SortUnique(&words.in_topics);
  return words;
}

std::vector<std::string> QueryWordsOf(std::string_view text) {
  auto words = WordsOf(text);
  SortUnique(&words);
  return words;
}

}  // namespace acl::aegis
