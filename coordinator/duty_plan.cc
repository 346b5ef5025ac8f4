#include "coordinator/duty_plan.h"

#include "coordinator/bookkeeper.h"
#include "coordinator/commands/settle.h"
#include "coordinator/posts.h"
#include "shared/kinds/ask/ask_kind.h"
#include "shared/kinds/ledger/ledger_kind.h"
#include "shared/kinds/project/project_kind.h"

namespace acl::coordinator {

PlannedDuties PlanDuties(const TurnContext& context, const ScheduleContext& schedules, const DutyPlan& plan) {
  PlannedDuties planned;
  std::vector<PlannedDuty>& duties = planned.each;
  auto ready = CountReady(context, plan.ready);
  duties.push_back({"timers", TimersTurn(context, plan.timers), {}});
  duties.push_back({kSchedulesDuty, SchedulesTurn(schedules, plan.timers), {}});
  duties.push_back({"reaper", ReaperTurn(context, plan.reap), {}});
  duties.push_back({"ready", std::move(ready.turn), std::move(ready.forget)});
  duties.push_back({"bookkeeper", BookkeeperTurn(context, schedules.maker.kind, plan.unserved), {}});
  duties.push_back({"posts", PostsTurn(context, schedules.maker, plan.posts), {}});
  if (plan.deliveries != nullptr) {
    duties.push_back({"deliveries", [all = plan.deliveries] { return all->Turn(); }, [all = plan.deliveries] { all->Lost(); }});
  }
  std::vector<Settled> settled;  // what is posted to commanded subjects, of every kind
  const auto settle = [&](CommandService* commands, std::string_view kind, const char* queue) {
    if (commands != nullptr) settled.push_back({commands, std::string(kind), queue});
  };
  settle(plan.projects, project::kKindName, project::kProjectQueue);
  settle(plan.asks, ask::kKindName, ask::kAskQueue);
  settle(plan.ledgers, ledger::kKindName, ledger::kLedgerQueue);
  if (!settled.empty()) duties.push_back({kProjectsDuty, SettleTurn(context, std::move(settled), plan.settle), {}});
  duties.push_back({"contents", ContentsTurn(context, plan.content_grace), {}});
  duties.push_back({"retention", RetentionTurn(context, plan.keep), {}});
  if (plan.keep_journals.count() > 0) duties.push_back({"journals", JournalsTurn(context, plan.keep_journals, plan.look_at_journals), {}});
  if (!plan.send) return planned;
  RelayOptions options;
  options.send = plan.send;
  Relays relays = MakeRelays(context, std::move(options));
  for (std::size_t shard = 0; shard < relays.each.size(); ++shard)
    duties.push_back({"relay-" + std::to_string(shard), std::move(relays.each[shard].turn), std::move(relays.each[shard].forget)});
  planned.told = std::move(relays.told);
  return planned;
}

}  // namespace acl::coordinator
