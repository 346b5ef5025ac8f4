// How well the validator decides, class by class, over tests/data/aegis/drift; docs/guides/aegis.md says the figures, and ACL_UPDATE_DOCS=1
// writes them there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "shared/aegis/validate/validate.h"
#include "tests/unit/aegis/generated_part.h"

namespace acl::aegis {
namespace {

const std::string kDriftFolder = ACL_SOURCE_DIR "/tests/data/aegis/drift/";
constexpr DriftClass kDriftClasses[] = {DriftClass::kSchema, DriftClass::kEvidence, DriftClass::kAuthority, DriftClass::kTone,
                                        DriftClass::kCompleteness};

std::vector<std::string> TextsOf(const Json& situation, const char* member) {
  return situation.contains(member) ? situation[member].get<std::vector<std::string>>() : std::vector<std::string>();
}

ValidationInput InputOf(const Json& situation) {
  ValidationInput input;
  for (const auto& one : situation["sources"]) input.sources.push_back({one["id"], one["text"], one.value("trusted", true)});
  for (const auto& one : situation["sight"]) {
    input.sight.push_back(
        {one["tool"], one["available"], one.value("values", Json::object()), one.value("reason", ""), TextsOf(one, "unknowns")});
  }
  for (const auto& one : situation["tools"]) input.tools.push_back({one["name"], one["observes"], one["allowed"], TextsOf(one, "verbs")});
  input.done_verbs = TextsOf(situation, "done_verbs");
  input.permitted_verbs = TextsOf(situation, "permitted_verbs");
  input.json_demanded = situation.value("json_demanded", false);
  if (situation.contains("schema")) input.schema = situation["schema"];
  input.tool_call_demanded = situation.value("tool_call_demanded", false);
  return input;
}

struct Labelled {
  bool held = false, drift = false;
  ValidationInput input;
};

std::vector<Labelled> ReadDrift(DriftClass drift) {
  std::ifstream file(kDriftFolder + "situations.json");
  const Json situations = *ParseJson(std::string{std::istreambuf_iterator<char>(file), {}});
  std::vector<Labelled> all;
  std::ifstream lines(kDriftFolder + std::string(NameOf(drift)) + ".jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = ParseJson(line);
    EXPECT_TRUE(parsed) << line;
    const Json& one = *parsed;
    Labelled labelled{one["set"] == "held", one["drift"], InputOf(situations[one["in"].get<std::string>()])};
    labelled.input.user_input = one["user"];
    labelled.input.response = one["response"];
    for (const auto& call : one.value("calls", Json::array())) labelled.input.tool_calls.push_back({call["name"], call["arguments"]});
    all.push_back(std::move(labelled));
  }
  return all;
}

struct DriftFigures {
  int found = 0, missed = 0, kept = 0, wronged = 0;
  double precision() const { return double(found) / std::max(1, found + wronged); }
  double recall() const { return double(found) / std::max(1, found + missed); }
};

DriftFigures CountDrift(DriftClass drift, const std::function<bool(const Labelled&)>& counts, bool tell) {
  DriftFigures figures;
  for (const auto& one : ReadDrift(drift)) {
    if (!counts(one)) continue;
    const auto summary = Scan(one.input);
    const bool marked = summary.Has(drift);
    ++(one.drift ? (marked ? figures.found : figures.missed) : (marked ? figures.wronged : figures.kept));
    if (tell && marked != one.drift) {
      std::printf("%s %s (%s): %s\n  %s\n", marked ? "wrongly marked" : "missed", std::string(NameOf(drift)).c_str(),
                  one.held ? "held" : "tuned", one.input.response.c_str(), summary.notes.c_str());
    }
  }
  return figures;
}

bool All(const Labelled&) { return true; }

TEST(DriftCorpus, IsLargeEnoughAndHalfClean) {
  for (const auto drift : kDriftClasses) {
    const auto all = ReadDrift(drift);
    const auto drifted = std::count_if(all.begin(), all.end(), [](const auto& one) { return one.drift; });
    EXPECT_GE(all.size(), 60u) << NameOf(drift);
    EXPECT_EQ(std::size_t(drifted) * 2, all.size()) << NameOf(drift);
  }
}

// Of the phrases that the rules state. Lines held back are in other words on purpose: what is found of them stands in the guide, and what
// is clean among them has to stay.
TEST(DriftCorpus, PrecisionAndRecallAreAtLeast90Percent) {
  for (const auto drift : kDriftClasses) {
    const auto all = CountDrift(drift, All, true), stated = CountDrift(
                                                       drift, [](const auto&one) { return !one.held; }, false);
    EXPECT_GE(all.precision(), 0.9) << NameOf(drift);
    EXPECT_GE(stated.precision(), 0.9) << NameOf(drift);
    EXPECT_GE(stated.recall(), 0.9) << NameOf(drift);
  }
}

// D-r12: without the rule that ids are looked up by, the class is blind: the corpus notices.
TEST(DriftCorpus, OfEvidenceNeedsTheLookUpOfIds) {
  int by_ids = 0;
  for (const auto& one : ReadDrift(DriftClass::kEvidence)) {
    const auto summary = Scan(one.input);
    by_ids += one.drift && summary.notes.find("evidence:unknown_id") != std::string::npos && summary.findings.size() == 1 ? 1 : 0;
  }
  EXPECT_GE(by_ids, 15);
}

// What is clean for one class is marked by no other class either, but for what is planted there.
int FalseHitsElsewhere(DriftClass drift, int* looked_at) {
  int hits = 0;
  for (const auto other : kDriftClasses) {
    if (other == drift) continue;
    for (const auto& one : ReadDrift(other)) {
      if (one.drift) continue;
      ++*looked_at;
      const auto summary = Scan(one.input);
      hits += summary.Has(drift) ? 1 : 0;
      if (summary.Has(drift))
        std::printf("%s marks a clean answer of %s: %s\n  %s\n", std::string(NameOf(drift)).c_str(), std::string(NameOf(other)).c_str(),
                    one.input.response.c_str(), summary.notes.c_str());
    }
  }
  return hits;
}

TEST(DriftCorpus, TheGuideSaysTheFigures) {
  std::string rows =
      "| class | drifted found | clean kept | precision | recall | of lines held back: found, kept | clean answers of other classes marked "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const auto drift : kDriftClasses) {
    const auto all = CountDrift(drift, All, false), held = CountDrift(
                                                        drift, [](const auto&one) { return one.held; }, false);
    int looked_at = 0;
    const int hits = FalseHitsElsewhere(drift, &looked_at);
    rows += fmt::format("| {} | {} of {} | {} of {} | {:.3f} | {:.3f} | {} of {}, {} of {} | {} of {} |\n", NameOf(drift), all.found,
                        all.found + all.missed, all.kept, all.kept + all.wronged, all.precision(), all.recall(), held.found,
                        held.found + held.missed, held.kept, held.kept + held.wronged, hits, looked_at);
  }
  test::CheckGeneratedPart("drift figures", rows);
}

}  // namespace
}  // namespace acl::aegis
