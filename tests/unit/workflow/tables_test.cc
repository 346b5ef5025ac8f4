// Statuses pair by pair, step ids, the ready set.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "shared/journal/json_patch.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/state.h"
#include "shared/workflow/status_machine.h"
#include "shared/workflow/step_id.h"

namespace acl::workflow {
namespace {

// Rows: from, columns: to, in the order of the enumerations. Written out a second time on purpose.
TEST(RunTransitions, PairByPair) {
  constexpr std::string_view kAllowed[] = {
      // PRaCFB  (PENDING RUNNING PAUSED COMPLETED FAILED ROLLED_BACK)
      ".x..x.",  // PENDING
      "..xxx.",  // RUNNING
      ".x..x.",  // PAUSED
      "......",  // COMPLETED
      ".....x",  // FAILED
      "......",  // ROLLED_BACK
  };
  for (std::size_t from = 0; from < kRunStatuses.size(); ++from) {
    for (std::size_t to = 0; to < kRunStatuses.size(); ++to) {
      EXPECT_EQ(MayGo(kRunStatuses[from], kRunStatuses[to]), kAllowed[from][to] == 'x')
          << Name(kRunStatuses[from]) << " -> " << Name(kRunStatuses[to]);
    }
  }
}

TEST(StepTransitions, PairByPair) {
  constexpr std::string_view kAllowed[] = {
      // PRTWUCFXS  (PENDING RUNNING RETRY_WAIT WAITING UNCERTAIN COMPLETED FAILED CANCELLED SKIPPED)
      ".xxx.xxxx",  // PENDING
      "x.x.xxxx.",  // RUNNING
      "x......x.",  // RETRY_WAIT
      ".....xxx.",  // WAITING
      "x....xxx.",  // UNCERTAIN
      ".........",  // COMPLETED
      ".........",  // FAILED
      ".........",  // CANCELLED
      ".........",  // SKIPPED
  };
  for (std::size_t from = 0; from < kStepStatuses.size(); ++from) {
    for (std::size_t to = 0; to < kStepStatuses.size(); ++to) {
      EXPECT_EQ(MayGo(kStepStatuses[from], kStepStatuses[to]), kAllowed[from][to] == 'x')
          << Name(kStepStatuses[from]) << " -> " << Name(kStepStatuses[to]);
    }
  }
}

TEST(Statuses, NamesReadBack) {
  for (RunStatus status : kRunStatuses) EXPECT_EQ(ParseRunStatus(Name(status)), status);
  for (StepStatus status : kStepStatuses) EXPECT_EQ(ParseStepStatus(Name(status)), status);
  EXPECT_EQ(ParseRunStatus("running"), std::nullopt);
}

TEST(StepIds, PlainNamesStayAsTheyAre) {
  EXPECT_EQ(StepIdOf("fetch_data"), "fetch_data");
  EXPECT_EQ(UndoIdOf("fetch_data"), "undo:fetch_data");
  EXPECT_EQ(StepIdOf("Prüfung 2"), "Prüfung 2");
  EXPECT_EQ(GlobalUndoIdOf(2), "undo:/global[2]");
}

TEST(StepIds, NoNameLooksLikeAnotherInstance) {
  EXPECT_EQ(StepIdOf("undo:a"), "undo%3Aa");
  EXPECT_EQ(StepIdOf("a/b[1]#2"), "a%2Fb%5B1%5D%232");
  EXPECT_NE(StepIdOf("a%2Fb"), StepIdOf("a/b"));
}

TEST(StepIds, AreAtMostAHundredCharactersAndDiffer) {
  auto chars = [](const std::string& text) {
    return std::count_if(text.begin(), text.end(), [](char c) { return (c & '\xc0') != '\x80'; });
  };
  std::string umlauts, other;
  for (int i = 0; i < 150; ++i) umlauts += "ü";
  other = umlauts + "x";
  EXPECT_EQ(chars(StepIdOf(umlauts)), 100);
  EXPECT_EQ(chars(UndoIdOf(umlauts)), 100);
  EXPECT_NE(StepIdOf(umlauts), StepIdOf(other));
  EXPECT_NE(StepIdOf(umlauts), UndoIdOf(umlauts));
  EXPECT_EQ(StepIdOf(std::string(100, 'a')), std::string(100, 'a'));
  EXPECT_EQ(StepIdOf(std::string(101, 'a')).size(), 100u);
}

TEST(IdempotencyKeys, AreStableAndDistinct) {
  EXPECT_EQ(IdempotencyKeyOf("run", "step"), IdempotencyKeyOf("run", "step"));
  EXPECT_NE(IdempotencyKeyOf("run", "step"), IdempotencyKeyOf("run", "step2"));
  EXPECT_NE(IdempotencyKeyOf("run", "1step"), IdempotencyKeyOf("run1", "step"));
  EXPECT_EQ(IdempotencyKeyOf("run", "step").size(), 32u);
}

// Against a plain set, over all sizes that have another number of levels.
RC_GTEST_PROP(ReadySet, BehavesLikeASet, ()) {
  const int total = *rc::gen::element(1, 31, 32, 33, 1024, 1025, 40'000);
  Document state;
  std::set<int> model;
  const auto changes =
      *rc::gen::container<std::vector<std::pair<int, bool>>>(rc::gen::pair(rc::gen::inRange(0, total), rc::gen::arbitrary<bool>()));
  for (std::size_t i = 0; i < changes.size(); i += 3) {
    ReadySet set(state, total);
    for (std::size_t j = i; j < std::min(i + 3, changes.size()); ++j) {
      auto [position, in] = changes[j];
      if (in) {
        set.Insert(position);
        model.insert(position);
      } else {
        set.Erase(position);
        model.erase(position);
      }
    }
    Delta delta;
    set.AppendTo(delta);
    RC_ASSERT(state.Apply(delta).ok());
  }
  ReadySet set(state, total);
  std::vector<int> found;
  for (auto at = set.Next(0); at; at = set.Next(*at + 1)) found.push_back(*at);
  RC_ASSERT(found == std::vector<int>(model.begin(), model.end()));
  for (auto [position, in] : changes) RC_ASSERT(set.Has(position) == model.contains(position));
  RC_ASSERT(!model.empty() || state.size() == 0u);
}

}  // namespace
}  // namespace acl::workflow
