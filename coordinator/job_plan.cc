#include "coordinator/job_plan.h"

#include "coordinator/bookkeeper.h"
#include "coordinator/commands/inbox_job.h"
#include "coordinator/posts.h"
#include "shared/kinds/ask/ask_kind.h"
#include "shared/kinds/ledger/ledger_kind.h"
#include "shared/kinds/project/project_kind.h"

namespace acl::coordinator {

PlannedJobs PlanJobs(const JobContext& context, const ScheduleContext& schedules, const JobPlan& plan) {
  PlannedJobs planned;
  std::vector<PlannedJob>& jobs = planned.each;
  auto ready = CountReady(context, plan.ready);
  jobs.push_back({"timers", TimersJob(context, plan.timers), {}});
  jobs.push_back({kSchedulesJob, SchedulesJob(schedules, plan.timers), {}});
  jobs.push_back({"reaper", ReaperJob(context, plan.reap), {}});
  jobs.push_back({"ready", std::move(ready.tick), std::move(ready.forget)});
  jobs.push_back({"bookkeeper", BookkeeperJob(context, schedules.maker.kind, plan.unserved), {}});
  jobs.push_back({"posts", PostsJob(context, schedules.maker, plan.posts), {}});
  if (plan.deliveries != nullptr) {
    jobs.push_back({"deliveries", [all = plan.deliveries] { return all->Tick(); }, [all = plan.deliveries] { all->Lost(); }});
  }
  std::vector<CommandedKind> settled;  // what is posted to commanded subjects, of every kind
  const auto settle = [&](CommandService* commands, std::string_view kind, const char* queue) {
    if (commands != nullptr) settled.push_back({commands, std::string(kind), queue});
  };
  settle(plan.projects, project::kKindName, project::kProjectQueue);
  settle(plan.asks, ask::kKindName, ask::kAskQueue);
  settle(plan.ledgers, ledger::kKindName, ledger::kLedgerQueue);
  if (!settled.empty()) jobs.push_back({kProjectsJob, InboxJob(context, std::move(settled), plan.inbox_every), {}});
  jobs.push_back({"contents", ContentsJob(context, plan.content_grace), {}});
  jobs.push_back({"retention", RetentionJob(context, plan.keep), {}});
  if (plan.keep_journals.count() > 0) jobs.push_back({"journals", JournalsJob(context, plan.keep_journals, plan.look_at_journals), {}});
  if (!plan.send) return planned;
  RelayOptions options;
  options.send = plan.send;
  Relays relays = MakeRelays(context, std::move(options));
  for (std::size_t shard = 0; shard < relays.each.size(); ++shard)
    jobs.push_back({"relay-" + std::to_string(shard), std::move(relays.each[shard].tick), std::move(relays.each[shard].forget)});
  planned.hinted = std::move(relays.hinted);
  return planned;
}

}  // namespace acl::coordinator
