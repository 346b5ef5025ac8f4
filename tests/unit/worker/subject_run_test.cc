#include "worker/subject_run.h"

#include <gtest/gtest.h>

#include "shared/base/uuid7.h"
#include "shared/kernel/fold.h"
#include "shared/kernel/memory_store.h"
#include "tests/support/counter_kind.h"
#include "tests/support/manual_clock.h"

namespace acl::test {
namespace {

// A database that went back (an asynchronous failover) has a lower wake-up counter than the holder has read. What it reads now counts: else
// every release would be `moved`, for ever.
TEST(SubjectRunTest, ReleasesUnderTheCounterItReadLast) {
  ManualClock clock;
  MemoryStore store(clock);
  const CounterKind kind;
  CreateItem item = kind.MakeCreateItem(SubjectId{NewUuid7()}, {1, "p", true});
  ASSERT_TRUE(store.Create(std::span(&item, 1)).ok());
  SessionRequest request;
  request.ttl = milliseconds(60'000);
  auto session = store.OpenSession(request);
  ASSERT_TRUE(session.ok()) << session.message();
  ClaimRequest claim;
  claim.session = session->session;
  auto answer = store.Claim(claim);
  ASSERT_TRUE(answer.ok() && answer->claimed.size() == 1u);
  Claimed claimed = answer->claimed.front();
  auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, [&](const Hash256& hash) { return store.GetContent(hash); });
  ASSERT_TRUE(restored.ok()) << restored.message();
  SubjectLimits limits;
  limits.hold_wait = milliseconds(0);
  BuildContext context;
  context.now = claimed.db_now;
  context.free_slots = 1;
  SubjectRun run(std::move(claimed), *restored, kind, session->session, limits);
  run.OnInbox({{}, 1});
  run.OnInbox({{}, 0});
  for (int i = 0; i < 10; ++i) {
    auto built = run.BuildItem(context);
    ASSERT_TRUE(built.ok()) << built.message();
    if (*built && (*built)->disposition == Disposition::kRelease) {
      EXPECT_EQ((*built)->expected_wake, 0);
      return;
    }
    if (*built) {
      auto outcomes = store.Commit(std::span(&**built, 1));
      ASSERT_TRUE(outcomes.ok()) << outcomes.message();
      ASSERT_EQ(run.OnOutcome(outcomes->front()), SubjectRun::After::kGoOn);
    }
    for (const StepCall& call : run.TakeStarts()) {
      StepResult result;
      result.outputs = Json{{"add", 1}};
      run.OnStepDone(call.step.step_id, call.attempt_id, result);
    }
  }
  FAIL() << "it never waited";
}

}  // namespace
}  // namespace acl::test
