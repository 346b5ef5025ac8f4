#include "worker/task_runs.h"

#include <fmt/format.h>

#include <algorithm>

namespace acl {

using Outcome = StepResult::Outcome;

StepResult Dropped(EffectClass effect) {
  StepResult result;
  result.outcome = effect == EffectClass::kNonIdempotent ? Outcome::kUnknown : Outcome::kTimedOut;
  result.error = "the step did not stop at its deadline and was dropped";
  return result;
}

void SayWhyStopped(const std::string& why, StepResult* result) {
  if (why.empty() || (result->outcome != Outcome::kCancelled && result->outcome != Outcome::kUnknown)) return;
  result->error = why + (result->error.empty() ? "" : ": " + result->error);
}

SteadyTime DropAt(SteadyTime now, SteadyTime drop_at, const StopToken& stop, milliseconds timeout, milliseconds grace) {
  if (stop.waits()) return std::max(drop_at, now + timeout + grace);
  if (const auto begun = stop.begun()) return std::max(drop_at, *begun + timeout + grace);
  return drop_at;
}

void TaskRuns::Take(SteadyTime, ClaimedTask grant, SteadyTime start_until) {
  ++counts_.taken;
  Task task;
  task.order = ++order_;
  task.start_until = start_until;
  auto offer = OfferFromText(grant.row.step_id, grant.row.payload);
  grant.row.payload.clear();
  observer_.OnTask(grant);
  task.grant = std::move(grant);
  if (offer) {
    task.offer = std::move(*offer);
  } else {
    EndWithoutBeginning(task, Outcome::kFailed, offer.message(), false);
  }
  const TaskId id = task.grant.id;
  tasks_.insert_or_assign(id, std::move(task));
}

std::vector<TaskRuns::Start> TaskRuns::Begin(SteadyTime now, WallTime db_now, bool trusted, int slots) {
  std::vector<Task*> waiting;
  for (auto& [id, task] : tasks_) {
    if (task.state == Task::State::kWaiting) waiting.push_back(&task);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Task* a, const Task* b) { return a->order < b->order; });
  std::vector<Start> starts;
  for (Task* task : waiting) {
    const auto& deadline = task->grant.row.deadline;
    if (!trusted || now >= task->start_until) {
      EndWithoutBeginning(*task, Outcome::kNotStarted, "its worker could not be sure of its session");
      continue;
    }
    if (deadline && db_now >= *deadline) {
      EndWithoutBeginning(*task, Outcome::kTimedOut, "its time was over before it was begun", false);
      continue;
    }
    if (int(starts.size()) >= slots) continue;
    StepCall call;
    call.subject = task->grant.subject;
    call.project = task->grant.project;
    call.token = task->grant.token;
    call.scope = "run/step";
    call.attempt_id = task->grant.row.attempt_id;
    call.step = task->offer.step;
    call.state = task->offer.files;
    call.trace = task->offer.trace;
    if (deadline) {
      const auto left = std::max(std::chrono::duration_cast<milliseconds>(*deadline - db_now), milliseconds(1));
      call.step.timeout = call.step.timeout.count() > 0 ? std::min(call.step.timeout, left) : left;
    }
    task->state = Task::State::kRunning;
    task->began = task->offer.step.effect;
    task->timeout = call.step.timeout;
    if (call.step.timeout.count() > 0) task->drop_at = now + call.step.timeout + config_.runner_grace;
    observer_.OnStep(call);
    starts.push_back({std::move(call), task->stop});
  }
  return starts;
}

void TaskRuns::End(Task& task, StepResult result) {
  task.state = Task::State::kEnded;
  task.drop_at.reset();
  task.report.task = task.grant.id;
  task.report.token = task.grant.token;
  task.report.state = result.outcome == Outcome::kSucceeded ? "done" : result.outcome == Outcome::kCancelled ? "cancelled" : "failed";
  TaskResult said;
  said.step_id = task.grant.row.step_id;
  said.attempt_id = task.grant.row.attempt_id;
  said.result = std::move(result);
  said.repeatable = task.offer.step.effect != EffectClass::kNonIdempotent;
  said.worker = config_.worker_name;
  said.token = task.grant.token.value;
  task.report.payload = ResultToText(said);
  task.offer = {};
}

void TaskRuns::EndWithoutBeginning(Task& task, Outcome outcome, const std::string& why, bool retryable) {
  StepResult result;
  result.outcome = outcome;
  result.error = why;
  result.retryable = retryable;
  if (outcome == Outcome::kNotStarted) ++counts_.given_back;
  End(task, std::move(result));
}

bool TaskRuns::OnStepDone(SteadyTime, const SubjectId& subject, Token token, const std::string& step_id, int attempt_id,
                          StepResult result) {
  if (!lost_.empty() && lost_.erase({TaskIdOf(subject, step_id, attempt_id), token}) > 0) return true;
  auto it = tasks_.find(TaskIdOf(subject, step_id, attempt_id));
  if (it == tasks_.end() || it->second.grant.token != token) return false;
  Task& task = it->second;
  if (task.state != Task::State::kRunning) return true;  // dropped by the watchdog before
  SayWhyStopped(task.stopped_why, &result);
  observer_.OnStepDone({subject, token, step_id, attempt_id, task.offer.trace.trace_id}, result);
  End(task, std::move(result));
  return true;
}

void TaskRuns::OnUnwanted(const TaskId& id) {
  auto it = tasks_.find(id);
  if (it == tasks_.end()) return;
  if (it->second.state == Task::State::kWaiting) {
    EndWithoutBeginning(it->second, Outcome::kNotStarted, "cancelled before it was begun");
    it->second.report.state = "cancelled";
  }
  if (it->second.state == Task::State::kRunning) it->second.stop.Stop();
}

void TaskRuns::Forget(SteadyTime now, std::map<TaskId, Task>::iterator task) {
  if (task->second.began) {
    const auto old = [&](const EndedKey& key) { return ended_.at(key).at + config_.remembered_for < now; };
    while (!ended_order_.empty() && (ended_order_.size() >= config_.remembered || old(ended_order_.front()))) {
      if (!old(ended_order_.front())) forgot_at_ = ended_.at(ended_order_.front()).at + config_.remembered_for;
      ended_.erase(ended_order_.front());
      ended_order_.pop_front();
    }
    const EndedKey key{task->first, task->second.grant.token};
    if (ended_.insert({key, {*task->second.began, now}}).second) ended_order_.push_back(key);
  }
  tasks_.erase(task);
}

void TaskRuns::OnHeld(SteadyTime now, const std::vector<HeldTask>& held) {
  for (const HeldTask& row : held) {
    auto it = tasks_.find(row.task);
    if (it != tasks_.end() && it->second.grant.token == row.token) continue;
    const auto ended = ended_.find({row.task, row.token});
    Task task;
    task.grant.id = row.task;
    task.grant.token = row.token;
    task.grant.row.step_id = row.key.step_id;
    task.grant.row.attempt_id = row.key.attempt_id;
    const bool known = ended != ended_.end();
    if (known ? ended->second.effect == EffectClass::kNonIdempotent : now < forgot_at_) {
      task.offer.step.effect = EffectClass::kNonIdempotent;
      StepResult result;
      result.outcome = Outcome::kUnknown;
      result.error = "it ran to its end, and the database has lost that it did";
      End(task, std::move(result));
    } else {
      const char* why = known ? "the database has lost that it ended" : "its grant was never heard of by its worker";
      EndWithoutBeginning(task, Outcome::kNotStarted, why);
    }
    tasks_.insert_or_assign(row.task, std::move(task));
  }
}

SubjectId TaskRuns::OnDelivered(SteadyTime now, const TaskId& id, Token token, const Result<PostAnswer>& answer) {
  auto it = tasks_.find(id);
  if (it == tasks_.end() || it->second.grant.token != token || !it->second.sending) return {};
  Task& task = it->second;
  const SubjectId subject = task.grant.subject;
  task.sending = false;
  if (answer) {
    ++(answer->replayed ? counts_.replayed : counts_.delivered);
    observer_.OnTaskDelivered(task.grant, *answer);
    Forget(now, it);
    return subject;
  }
  const Code code = answer.code();
  if (code == Code::kUnavailable || code == Code::kTimeout || code == Code::kOutcomeUnknown || code == Code::kCancelled) {
    ++counts_.kept;
    const auto limit = std::min<std::int64_t>(config_.retry_max.count(), config_.retry_min.count() << std::min(task.failures++, 10));
    task.retry_at = now + config_.retry_min / 2 + milliseconds(std::int64_t(double(limit) * random_.Unit()));
    return subject;
  }
  if (code == Code::kLeaseLost || code == Code::kNotFound || code == Code::kConflict || task.second_text) {
    ++counts_.refused;
    observer_.OnTaskRefused(task.grant, answer.error());
    Forget(now, it);
    return subject;
  }
  // The text itself does not go in: that is said instead, once.
  StepResult failed;
  failed.outcome = Outcome::kFailed;
  failed.retryable = false;
  failed.error = "its result could not be stored: " + answer.message();
  End(task, std::move(failed));
  task.second_text = true;
  return subject;
}

void TaskRuns::GiveBackWaiting(const std::string& why) {
  for (auto& [id, task] : tasks_) {
    if (task.state == Task::State::kWaiting) EndWithoutBeginning(task, Outcome::kNotStarted, why);
  }
}

void TaskRuns::StopRunning(const std::string& why, bool all) {
  for (auto& [id, task] : tasks_) {
    if (task.state != Task::State::kRunning || task.stop.stopped()) continue;
    if (!all && task.began == EffectClass::kNonIdempotent) continue;
    task.stopped_why = why;
    task.stop.Stop();
  }
}

void TaskRuns::StopNotBegun() {
  for (auto& [id, task] : tasks_) {
    if (task.state == Task::State::kRunning && task.stop.waits()) task.stop.Stop();
  }
}

bool TaskRuns::RunsEffect() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    return entry.second.state == Task::State::kRunning && entry.second.began == EffectClass::kNonIdempotent;
  });
}

void TaskRuns::ForgetRunning() {
  StopRunning();
  StepResult result;
  result.outcome = Outcome::kCancelled;
  result.error = "its worker's session was lost";
  for (auto& [id, task] : tasks_) {
    if (task.state != Task::State::kRunning) continue;
    const ClaimedTask& grant = task.grant;
    observer_.OnStepDone({grant.subject, grant.token, grant.row.step_id, grant.row.attempt_id, task.offer.trace.trace_id}, result);
  }
  std::erase_if(tasks_, [](const auto& entry) { return entry.second.state != Task::State::kEnded; });
}

std::vector<TaskReport> TaskRuns::TakeReports(SteadyTime now) {
  std::vector<TaskReport> reports;
  for (auto& [id, task] : tasks_) {
    if (task.state != Task::State::kEnded || task.sending || (task.retry_at && *task.retry_at > now)) continue;
    task.sending = true;
    task.retry_at.reset();
    reports.push_back(task.report);
  }
  return reports;
}

void TaskRuns::OnTime(SteadyTime now) {
  for (auto& [id, task] : tasks_) {
    if (!task.drop_at) continue;
    task.drop_at = DropAt(now, *task.drop_at, task.stop, task.timeout, config_.runner_grace);
    if (*task.drop_at > now) continue;
    task.stop.Stop();
    lost_.emplace(id, task.grant.token);
    StepResult result = Dropped(task.offer.step.effect);
    observer_.OnStepDone(
        {task.grant.subject, task.grant.token, task.grant.row.step_id, task.grant.row.attempt_id, task.offer.trace.trace_id}, result);
    End(task, std::move(result));
  }
}

std::optional<SteadyTime> TaskRuns::NextWake() const {
  std::optional<SteadyTime> next;
  auto consider = [&next](const std::optional<SteadyTime>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  for (const auto& [id, task] : tasks_) {
    consider(task.drop_at);
    consider(task.retry_at);
    if (task.state == Task::State::kWaiting) consider(task.start_until);
  }
  return next;
}

int TaskRuns::running() const {
  return int(std::count_if(tasks_.begin(), tasks_.end(), [](const auto& entry) { return entry.second.state == Task::State::kRunning; }));
}

int TaskRuns::busy() const {
  return int(std::count_if(tasks_.begin(), tasks_.end(), [](const auto& entry) { return entry.second.state != Task::State::kEnded; }));
}

}  // namespace acl
