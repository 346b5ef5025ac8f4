#include "coordinator/schedules.h"

#include <algorithm>

#include "shared/base/mutant.h"
#include "shared/base/sha256.h"
#include "shared/definition/loader.h"
#include "shared/journal/document.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {
namespace {

using schedule::Advance;
using schedule::DueRow;
using schedule::Fire;
using schedule::FireRow;
using schedule::NextFire;
using std::chrono::milliseconds;

constexpr int kSchedulesAtOnce = 50;
constexpr milliseconds kAgain{5}, kLookForEnd{1'000};
constexpr std::int64_t kNever = std::int64_t(1) << 40;

// The moment's fault: nothing is written down, the fire time stays due.
bool IsPassing(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout || error.code == Code::kOutcomeUnknown;
}

std::string NominalText(std::int64_t seconds) { return schedule::FormatZoned(*TimeZone::Load("UTC"), seconds); }

std::optional<WallTime> MaybeWallTime(const std::optional<std::int64_t>& seconds) {
  return seconds && *seconds < kNever ? std::optional(WallTimeFromSeconds(*seconds)) : std::nullopt;
}

class Firing {
 public:
  explicit Firing(const ScheduleContext& context) : context_(context), lag_(context.metrics.gauge(names::kScheduleLag)) {
    for (const char* outcome : {"started", "skipped_overlap", "missed", "failed"}) {
      counters_.emplace(outcome, context.metrics.counter(names::kScheduleFires, {{"outcome", outcome}}));
    }
  }

  // True if the schedule moved on, by us or by somebody else.
  Result<bool> Do(const DueRow& due, WallTime now);

 private:
  Status CancelOpenRuns(const DueRow& due, std::int64_t nominal);
  Result<FireRow> Start(const DueRow& due, std::int64_t nominal, WallTime now);
  Result<bool> Record(Advance& advance);

  const ScheduleContext context_;
  const Logger log_{"schedules"};
  Gauge lag_;
  std::map<std::string, Counter> counters_;
};

Status Firing::CancelOpenRuns(const DueRow& due, std::int64_t nominal) {
  for (const SubjectId& run : due.open_runs) {
    const Json payload = {{"reason", "the next fire time of schedule " + due.row.name + " came"}, {"by", "schedule " + due.row.name}};
    const InboxPost post{run, context_.maker.ids.New<InboxId>(), "cancel", DumpJson(payload), schedule::RequestKeyOf(due.row.id, nominal)};
    auto answer = context_.maker.store.Post(post);
    if (answer) context_.bell.RingPosted(*answer, run);
    if (!answer && answer.code() != Code::kConflict && answer.code() != Code::kNotFound) return answer.error();  // else it has ended
  }
  return {};
}

Result<FireRow> Firing::Start(const DueRow& due, std::int64_t nominal, WallTime now) {
  FireRow fire{WallTimeFromSeconds(nominal), "started", std::nullopt, "", now};
  auto key = schedule::RequestKeyOf(due.row.id, nominal);
  if (Mutant("schedule_key_of_the_attempt")) key += context_.maker.ids.Make().ToString();
  auto made = StartScheduled(context_.maker, due.row, NominalText(nominal), key, Sha256(key));
  if (made) {
    fire.run = made->outcome.subject;
    if (made->outcome.kind == CreateOutcome::Kind::kCreated) {
      lag_.Set(std::chrono::duration<double>(now - fire.nominal).count());
      context_.bell.RingWork(made->queue);
    }
    return fire;
  }
  if (IsPassing(made.error())) return made.error();
  // Its words quote the workflow and its inputs: `airun schedule show` has them.
  log_.Warn("a fire time started no run",
            {{"schedule", due.row.name}, {"nominal", NominalText(nominal)}, {"error", CodeName(made.code())}});
  fire.outcome = "failed";
  fire.reason = made.message().substr(0, 1'000);
  return fire;
}

Result<bool> Firing::Record(Advance& advance) {
  auto moved = context_.schedules.Record(advance);
  if (!moved || !*moved) return moved;
  for (const FireRow& fire : advance.fires) counters_.at(fire.outcome).Add(fire.outcome == "missed" ? double(advance.missed) : 1.0);
  advance.was_next = advance.next;
  advance.was_waiting = advance.waiting;
  advance.fires.clear();
  advance.missed = 0;
  return true;
}

Result<bool> Firing::Do(const DueRow& due, WallTime now) {
  const schedule::ScheduleRow& row = due.row;
  Advance advance{row.id, row.version, row.next_fire_at, row.waiting_at, std::nullopt, std::nullopt, {}, 0};
  const auto cron = schedule::ParseCron(row.definition.cron);
  const auto zone = TimeZone::Load(row.definition.zone);
  if (!cron || !zone) {  // checked when it was stored: the zone's file is gone, or another version wrote it
    const Error& error = cron ? zone.error() : cron.error();
    if (IsPassing(error)) return error;
    log_.Error("a schedule stops", {{"schedule", row.name}, {"error", error}});
    advance.fires.push_back({row.next_fire_at.value_or(now), "failed", std::nullopt, error.message, now});
    return Record(advance);
  }
  const schedule::State state{row.next_fire_at ? SecondsOf(*row.next_fire_at) : kNever,
                              row.waiting_at ? std::optional(SecondsOf(*row.waiting_at)) : std::nullopt, !due.open_runs.empty(),
                              due.started};
  const auto decision = schedule::DueFires(*cron, *zone, row.definition.policy, state, SecondsOf(now));
  if (decision.fires.empty() && decision.waiting == state.waiting && decision.next_fire_at == state.next_fire_at) return false;
  if (decision.cancel_running) {
    if (auto status = CancelOpenRuns(due, decision.waiting.value_or(state.next_fire_at)); !status) return status.error();
  }
  const auto exists = [&](std::int64_t time) { return std::find(due.started.begin(), due.started.end(), time) != due.started.end(); };
  for (const Fire& fire : decision.fires) {
    if (fire.what != Fire::What::kStart) {
      const bool missed = fire.what == Fire::What::kMissed;
      std::string reason = missed ? "later than " + std::to_string(row.definition.policy.catchup_seconds) + " s" : "a run was still open";
      if (missed && fire.count > 1) reason += "; " + std::to_string(fire.count) + " fire times up to " + NominalText(fire.last);
      if (missed) {
        advance.missed += fire.count;
        log_.Warn("fire times were missed", {{"schedule", row.name}, {"count", fire.count}, {"first", NominalText(fire.nominal)}});
      }
      advance.fires.push_back({WallTimeFromSeconds(fire.nominal), missed ? "missed" : "skipped_overlap", std::nullopt, reason, now});
      continue;
    }
    // Said before it is done: from here on nobody may call this fire time missed or skipped, however late our request arrives.
    const WallTime nominal = WallTimeFromSeconds(fire.nominal);
    if (advance.was_waiting != nominal && !exists(fire.nominal) && !Mutant("schedule_starts_unsaid")) {
      advance.next = MaybeWallTime(NextFire(*cron, *zone, fire.nominal));
      advance.waiting = Mutant("schedule_moves_first") ? std::nullopt : std::optional(nominal);
      auto moved = Record(advance);
      if (!moved || !*moved) return moved ? Result<bool>(true) : moved;
    }
    auto started = Start(due, fire.nominal, now);
    if (!started) return started.error();
    advance.fires.push_back(std::move(*started));
  }
  advance.next = MaybeWallTime(decision.next_fire_at);
  advance.waiting = MaybeWallTime(decision.waiting);
  auto moved = Record(advance);
  if (!moved) return moved;
  return true;
}

}  // namespace

Result<workflow::CreateRequest> ScheduledRequest(const WorkflowDefinition& definition, const schedule::ScheduleRow& row,
                                                 const std::string& nominal) {
  auto inputs = ParseJson(row.definition.inputs, kStoredJson), labels = ParseJson(row.definition.labels, kStoredJson);
  if (!inputs || !labels) return Error{Code::kCorrupt, "the inputs or labels of schedule " + row.name + " are no JSON"};
  workflow::CreateRequest out;
  out.definition_text = row.definition.workflow;
  out.submitter = row.created_by;
  out.inputs = std::move(*inputs);
  out.labels = std::move(*labels);
  out.labels["schedule"] = row.name;
  const bool declared = std::any_of(definition.inputs.begin(), definition.inputs.end(),
                                    [](const InputDefinition& input) { return input.name == "scheduled_time"; });
  if (declared && !out.inputs.contains("scheduled_time")) out.inputs["scheduled_time"] = nominal;
  return out;
}

Result<MadeRun> StartScheduled(const RunMaker& maker, const schedule::ScheduleRow& row, const std::string& nominal, const std::string& key,
                               const Hash256& hash, const std::string& asked_by) {
  const auto loaded = LoadWorkflow(row.definition.workflow, maker.capabilities, {.for_submit = true, .accepted_before = true});
  if (!loaded.ok()) {
    for (const Finding& finding : loaded.findings) {
      if (finding.severity == Finding::Severity::kError)
        return Error{Code::kInvalid, "the workflow does not load any more: " + finding.message};
    }
    return Error{Code::kInvalid, "the workflow does not load any more"};
  }
  auto request = ScheduledRequest(*loaded.definition, row, nominal);
  if (!request) return request.error();
  for (const std::string& who : {row.edited_by, asked_by})
    if (!who.empty()) request->requesters.push_back(who);
  request->request_key = key;
  request->request_hash = hash;
  return MakeRun(maker, *loaded.definition, std::move(*request));
}

Tick SchedulesJob(const ScheduleContext& context, milliseconds longest) {
  auto firing = std::make_shared<Firing>(context);
  return [context, firing, longest]() -> Result<milliseconds> {
    auto due = context.schedules.Due(kSchedulesAtOnce);
    if (!due) return due.error();
    bool moved = false;
    std::optional<Error> trouble;
    for (const DueRow& row : due->due) {
      auto done = firing->Do(row, due->now);
      if (!done) trouble = done.error();  // the others go on
      moved = moved || (done && *done);
    }
    if (trouble) return *trouble;
    if (moved) return kAgain;  // when the next is due the database says
    milliseconds wait = due->some_wait ? std::min(longest, kLookForEnd) : longest;
    if (due->next_fire && *due->next_fire > due->now) wait = std::min(wait, std::chrono::ceil<milliseconds>(*due->next_fire - due->now));
    return std::max(wait, kAgain);
  };
}

}  // namespace acl::coordinator
