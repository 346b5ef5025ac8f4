#include "shared/workflow/decider.h"

#include "shared/base/json_object.h"
#include "shared/workflow/events.h"
#include "shared/workflow/evolve.h"

namespace acl::workflow {

const Document& Decider::State() {
  for (; folded_ < decision_.events.size(); ++folded_) {
    run_.reset();
    Delta delta = EvolveRun(definitions_, state_, decision_.events[folded_]);
    Status applied = state_.Apply(delta);
    // The kernel will meet the same patch, refuse it and quarantine the run; what is decided after it is dropped with it.
    if (!applied) broken_ = true;
  }
  return state_;
}

void Decider::Emit(std::string_view type, Json facts, Json carried) {
  decision_.events.push_back({std::string(type), std::move(facts), std::move(carried), now_});
}

Json Decider::StepFacts(const Instance& instance, int attempt) {
  Json facts = ObjectFor(4);  // mostly; what else its event says makes it grow
  AddMember(facts, "step_id", instance.step_id);
  // The full name where the id does not say it.
  if (!instance.undo && instance.item.empty() && definition_.step(instance.step).name != instance.step_id)
    AddMember(facts, "step_name", definition_.step(instance.step).name);
  if (attempt > 0) AddMember(facts, "attempt", attempt);
  if (!dispatch_.is_null()) facts.update(std::exchange(dispatch_, Json()));
  return facts;
}

void Decider::AddMissing(Json& facts, std::vector<std::string> more) {
  std::vector<std::string> missing = ListOf(&note_, "missing");
  missing.insert(missing.end(), more.begin(), more.end());
  if (!missing.empty()) facts["missing"] = missing;
}

void Decider::List(RunStatus status, std::optional<std::string> error) {
  if (!decision_.listing) decision_.listing.emplace();
  decision_.listing->status = Name(status);
  if (error) decision_.listing->error_message = std::move(error);
}

void Decider::SetTimer(std::string_view timer_id, WallTime fire_at) {
  std::erase(decision_.timers_cleared, timer_id);
  std::erase_if(decision_.timers_set, [&](const TimerRow& row) { return row.timer_id == timer_id; });
  decision_.timers_set.push_back({std::string(timer_id), fire_at});
}

void Decider::ClearTimer(std::string_view timer_id) {
  std::erase(decision_.timers_cleared, timer_id);
  std::erase_if(decision_.timers_set, [&](const TimerRow& row) { return row.timer_id == timer_id; });
  decision_.timers_cleared.emplace_back(timer_id);
}

void Decider::StopClock(Json& facts) {
  RunRecord run = Run();
  if (run.phase != Phase::kForward || !run.deadline) return;
  auto left = std::chrono::duration_cast<milliseconds>(*run.deadline - now_).count();
  facts["deadline_left_ms"] = std::max<std::int64_t>(left, 0);
  ClearTimer(kDeadlineTimer);
}

bool Decider::GoOnWithClock(const RunRecord& run, const Progress& progress) {
  if (!run.deadline_left_ms || progress.waiting > 0 || progress.children > 0 || !progress.uncertain.empty()) return false;
  Json facts = Json::object();
  StartClock(facts, 0);
  Emit(event::kWorkflowClockGoesOn, std::move(facts));
  return true;
}

void Decider::StartClock(Json& facts, int ended) {
  RunRecord run = Run();
  if (run.phase != Phase::kForward || !run.deadline_left_ms) return;
  const Progress progress = Done();
  if (int(progress.uncertain.size()) + progress.waiting + progress.children > ended) return;
  WallTime deadline = now_ + milliseconds(*run.deadline_left_ms);
  facts["deadline_at"] = FormatWallTime(deadline);
  SetTimer(kDeadlineTimer, deadline);
}

}  // namespace acl::workflow
