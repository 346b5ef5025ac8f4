#include "coordinator/duty_plan.h"

namespace acl::coordinator {

std::vector<PlannedDuty> PlanDuties(const TurnContext& context, const ScheduleContext& schedules, const DutyPlan& plan) {
  std::vector<PlannedDuty> duties;
  auto ready = CountReady(context, plan.ready);
  duties.push_back({"timers", TimersTurn(context, plan.timers), {}});
  duties.push_back({kSchedulesDuty, SchedulesTurn(schedules, plan.timers), {}});
  duties.push_back({"reaper", ReaperTurn(context, plan.reap), {}});
  duties.push_back({"ready", std::move(ready.turn), std::move(ready.forget)});
  duties.push_back({"contents", ContentsTurn(context, plan.content_grace), {}});
  duties.push_back({"retention", RetentionTurn(context, plan.keep), {}});
  for (int shard = 0; plan.send && shard < kReadyShards; ++shard) {
    RelayOptions options;
    options.shard = shard;
    options.send = plan.send;
    Relay relay = MakeRelay(context, std::move(options));
    duties.push_back({"relay-" + std::to_string(shard), std::move(relay.turn), std::move(relay.forget)});
  }
  return duties;
}

}  // namespace acl::coordinator
