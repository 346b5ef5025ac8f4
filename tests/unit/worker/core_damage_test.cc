// A dispatch's worker found a content of the run gone or changed (capability/dispatch_format.h): the run's holder quarantines it, fail
// closed.
#include "shared/kernel/dispatch.h"
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreDamage : public CoreBench {
 protected:
  void PostDamage(const SubjectId& subject) {
    const Json result = {
        {"step_id", "t"}, {"attempt", 1}, {"outcome", "failed"}, {"damaged", "content ab12 is gone"}, {"repeatable", true}};
    ASSERT_TRUE(memory.Post({subject, InboxId{ids.Make()}, std::string(kDispatchResultKind), DumpJson(result), {}}));
  }
};

TEST_F(CoreDamage, QuarantinesARunThatIsHeld) {
  StartCore();
  const SubjectId subject = Create(CounterOptions{.steps = 3, .effects = "ppp"});
  Live(milliseconds(500));
  ASSERT_EQ(core->held(), 1);
  const std::int64_t seq = Look(subject).head.seq;
  PostDamage(subject);
  core->OnSubjectHint(clock.Steady(), subject);
  Live(milliseconds(500));
  EXPECT_EQ(told.quarantines, std::vector<std::string>{"content ab12 is gone"});
  EXPECT_EQ(core->held(), 0);
  EXPECT_TRUE(Look(subject).quarantined());
  EXPECT_EQ(Look(subject).quarantines.back().reason, "content damaged");
  EXPECT_EQ(Look(subject).head.seq, seq) << "nothing is written while it may be damaged";
  EXPECT_EQ(Look(subject).inbox.size(), 1u);
  ASSERT_FALSE(steps.empty());
  EXPECT_TRUE(steps[0].stop.stopped()) << "what runs of it is stopped";
}

TEST_F(CoreDamage, QuarantinesARunAsItIsClaimedAndGoesOnOnceAPersonHasReleasedIt) {
  const SubjectId subject = Create(CounterOptions{.steps = 1, .effects = "p"});
  PostDamage(subject);
  StartCore();
  Live(milliseconds(500));
  ASSERT_TRUE(Look(subject).quarantined());
  EXPECT_TRUE(steps.empty()) << "nothing of it is begun";
  Live(milliseconds(3'000));
  EXPECT_EQ(told.quarantines.size(), 1u) << "nobody claims it";
  ASSERT_TRUE(memory.ReleaseQuarantine(subject, "op").ok());
  Live(milliseconds(1'000));
  EXPECT_EQ(told.quarantines.size(), 1u) << "what the release was about is settled";
  EXPECT_FALSE(Look(subject).quarantined());
  EXPECT_TRUE(Look(subject).inbox.empty());
  const auto events = Look(subject).events;
  const auto signal = std::find_if(events.begin(), events.end(), [](const Event& event) { return event.type == "signal.received"; });
  ASSERT_NE(signal, events.end());
  const Json payload = (*ParseJson(*signal->payload))["payload"];
  EXPECT_EQ(payload["outcome"], "not_started");
  EXPECT_FALSE(payload.contains("damaged"));
  PostDamage(subject);
  core->OnSubjectHint(clock.Steady(), subject);
  Live(milliseconds(1'000));
  EXPECT_EQ(told.quarantines.size(), 2u) << "another one is another matter";
}

}  // namespace
}  // namespace acl::test
