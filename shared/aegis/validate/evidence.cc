// Ids, quotations and values of the answer against the bundle (D-r12).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>

#include "shared/aegis/validate/checks.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kShortestQuote = 12;
constexpr int kQuoteWords = 3;

bool IsKnown(const ValidationInput& input, std::string id) {
  const auto is_source = [&](const SourceText& source) { return source.id == id; };
  if (std::any_of(input.sources.begin(), input.sources.end(), is_source)) return true;
  return std::any_of(input.sight.begin(), input.sight.end(), [&](const SightOf& sight) { return "tool:" + sight.tool == id; }) ||
         std::any_of(input.tools.begin(), input.tools.end(), [&](const DeclaredTool& tool) { return "tool:" + tool.name == id; });
}

void CheckIds(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 cited(R"(\b((?:ledger|driftwatch|turn|tool):[A-Za-z0-9][\w./-]{0,100}))", RE2::Quiet);
  for (auto id : AllMatches(cited, sentence.raw)) {
    while (!id.empty() && (id.back() == '.' || id.back() == '-' || id.back() == '/')) id.pop_back();
    if (!IsKnown(answer.input, id)) AddFinding(findings, DriftClass::kEvidence, "unknown_id", PlaceOf(sentence), id);
  }
}

// "the ledger says": of a kind of source that the bundle has none of.
void CheckKinds(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 told(
      R"(\b(?:according to|per|based on|as recorded in|recorded in|stored in) (?:the|our|your) (?:[a-z]+ )?(ledger|driftwatch|drift log)\b|\b(?:entry|entries|fact|facts|note|record|line|item) (?:in|of|from) (?:the|our|your) (?:ledger|driftwatch)\b|\bfrom (?:the|our|your) (?:[a-z]+ )?(?:ledger|driftwatch)(?: (?:i|we|it|one|that)\b|,|\.)|(?:\b(?:the|our|your) (?:[a-z]+ )?|^)(?:ledger|driftwatch) (?:says|shows|records|states|confirms|notes|lists|contains|proves)\b)",
      RE2::Quiet);
  const std::string found = FirstMatch(told, sentence.spoken);
  if (found.empty()) return;
  const std::string kind = found.find("ledger") != std::string::npos ? "ledger:" : "driftwatch:";
  const bool has = std::any_of(answer.input.sources.begin(), answer.input.sources.end(),
                               [&](const SourceText& source) { return source.id.starts_with(kind); });
  if (!has) AddFinding(findings, DriftClass::kEvidence, "no_such_source", PlaceOf(sentence), kind);
}

std::string BundleText(const ValidationInput& input) {
  std::string all = NormalText(input.user_input);
  for (const auto& source : input.sources) all += "\n" + NormalText(source.text);
  for (const auto& sight : input.sight) all += "\n" + NormalText(sight.tool + " " + sight.reason + " " + sight.values.dump());
  return all;
}

// A quotation of some length stands in the bundle. What the answer proposes to write is none.
void CheckQuotes(const std::string& bundle, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 proposes(
      R"((?:\b(?:say|write|type|answer|enter|reply|reply with|ask|ask for|add|use|such as|like|for example|e\.g\.|called|named|titled|something like|wording like|phrase like|prompt|try)(?: (?:it|them|this|the operator))?[ :,]*|(?:^|\b(?:please|to|could|can|may|might|should|then) )(?:say|write|type|ask|enter|reply)[^"]{0,30}[:,] ?)$)",
      RE2::Quiet);
  const std::string& text = sentence.normal;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos;) {
    const auto end = text.find('"', at + 1);
    if (end == std::string::npos) return;
    std::string quote = text.substr(at + 1, end - at - 1);
    while (!quote.empty() && (quote.back() == '.' || quote.back() == ',' || quote.back() == '!' || quote.back() == '?')) quote.pop_back();
    const bool long_enough = quote.size() >= kShortestQuote && std::count(quote.begin(), quote.end(), ' ') + 1 >= kQuoteWords;
    if (long_enough && bundle.find(quote) == std::string::npos && !Matches(proposes, text.substr(0, at))) {
      AddFinding(findings, DriftClass::kEvidence, "unknown_quote", PlaceOf(sentence), fmt::format("{} bytes", quote.size()));
    }
    at = end + 1;
  }
}

// "cpu_load" as people write it: "cpu load", "cpu_load".
std::string SpacedName(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return NormalText(name);
}

// Two numbers are the same if they are to the digits that were written.
bool IsValue(const std::string& written, double value) {
  const auto dot = written.find('.');
  const double step = dot == std::string::npos ? 1 : std::pow(10, -double(written.size() - dot - 1));
  const double number = std::strtod(written.c_str(), nullptr);
  return std::abs(number - value) <= step / 2 + 1e-9 || std::abs(number - value * 100) <= step / 2 + 1e-9;
}

// A value of sight, and how an answer states it: "cpu load is 0.97".
struct StatedValue {
  StatedValue(std::string called, double number)
      : name(std::move(called)),
        value(number),
        said(
            "\\b" + RE2::QuoteMeta(SpacedName(name)) +
                R"( ?(?:\([^)]{0,30}\) ?)?(?:is|was|are|=|:|at|of|stands at|reads|shows|reports|equals|\|)(?: (?:currently|now|about|around|only|at|exactly))? ?\|? ?(\d+(?:\.\d+)?))",
            RE2::Quiet) {}
  std::string name;
  double value;
  RE2 said;
};

std::deque<StatedValue> StatedValues(const ValidationInput& input) {
  std::deque<StatedValue> values;
  for (const auto& sight : input.sight) {
    if (!HasValues(sight)) continue;
    for (const auto& [name, value] : sight.values.items()) {
      if (value.is_number()) values.emplace_back(name, value.get<double>());
    }
  }
  return values;
}

void CheckValues(const std::deque<StatedValue>& values, const Sentence& sentence, std::vector<Finding>& findings) {
  std::string spaced = sentence.spoken;
  std::replace(spaced.begin(), spaced.end(), '_', ' ');
  for (const auto& stated : values) {
    for (const auto& number : AllMatches(stated.said, spaced)) {
      if (!IsValue(number, stated.value))
        AddFinding(findings, DriftClass::kEvidence, "other_value", PlaceOf(sentence), stated.name + "=" + number);
    }
  }
}

// The parts of a sentence that say one thing each.
std::vector<std::string> Clauses(const std::string& spoken) {
  std::vector<std::string> clauses(1);
  for (std::size_t i = 0; i < spoken.size(); ++i) {
    const bool comma = spoken[i] == ',' && !(i + 1 < spoken.size() && spoken[i + 1] >= '0' && spoken[i + 1] <= '9');
    if (comma || spoken[i] == ';' || spoken.compare(i, 5, " and ") == 0 || spoken.compare(i, 5, " but ") == 0) {
      clauses.emplace_back();
      i += comma || spoken[i] == ';' ? 0 : 4;
    } else {
      clauses.back() += spoken[i];
    }
  }
  return clauses;
}

// A number with a unit beside the topic of a value, as people speak of it: "12 % of the disk is free" where 71 are.
void CheckSpokenValues(const ValidationInput& input, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 number(R"((\d+\.\d+|\d+(?: ?(?:%|percent|mb|gb|mib|gib)(?:[^a-z]|$)))(?:[^.\d]|\.?$))", RE2::Quiet);
  static const RE2 rule(
      R"(\b(?:below|above|under|over|more than|less than|should|must|limit|threshold|keep|at least|at most|if|when|would|could|may|might|total|size|usually|typically|rule|until|unless|every|another|extra)\b)",
      RE2::Quiet);
  for (const auto& clause : Clauses(sentence.spoken)) {
    const auto written = AllMatches(number, clause);
    if (written.size() != 1 || Matches(rule, clause)) continue;
    const auto is_about = [&](const SightOf& sight) {
      const auto words = WordsOfSight(sight);
      return HasValues(sight) && std::any_of(words.begin(), words.end(), [&](const std::string& word) { return HasWord(clause, word); });
    };
    const auto sight = std::find_if(input.sight.begin(), input.sight.end(), is_about);
    if (sight == input.sight.end() || HasValueOf(*sight, std::strtod(written[0].c_str(), nullptr))) continue;
    AddFinding(findings, DriftClass::kEvidence, "other_value", PlaceOf(sentence), sight->tool + "=" + written[0]);
  }
}

}  // namespace

void CheckEvidence(const Answer& answer, std::vector<Finding>& findings) {
  const std::string bundle = BundleText(answer.input);
  const auto values = StatedValues(answer.input);
  const bool is_json = ParseJson(answer.input.response).ok();  // its quotes are its syntax
  for (const auto& sentence : answer.sentences) {
    CheckIds(answer, sentence, findings);
    CheckKinds(answer, sentence, findings);
    if (!is_json) CheckQuotes(bundle, sentence, findings);
    const std::size_t before = findings.size();
    CheckValues(values, sentence, findings);
    if (findings.size() == before) CheckSpokenValues(answer.input, sentence, findings);
  }
}

}  // namespace acl::aegis
