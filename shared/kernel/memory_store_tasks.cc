// MemoryStore: tasks of dispatched steps (task.h).

#include <fmt/format.h>

#include <algorithm>

#include "shared/kernel/memory_store.h"
#include "shared/kernel/task.h"

namespace acl {

MemoryTask* MemoryStore::FindTask(const TaskId& id) {
  auto subject = task_subjects_.find(id);
  if (subject == task_subjects_.end()) return nullptr;
  auto& tasks = subjects_.at(subject->second).tasks;
  return &*std::find_if(tasks.begin(), tasks.end(), [&](const MemoryTask& task) { return task.id == id; });
}

void MemoryStore::OfferTasks(MemorySubject& subject, const CommitItem& item) {
  for (const TaskKey& key : item.tasks_cancelled) {
    for (MemoryTask& task : subject.tasks) {
      const bool out = task.state == "queued" || task.state == "started";
      if (out && task.step_id == key.step_id && task.attempt_id == key.attempt_id) task.cancel_requested = true;
    }
  }
  for (const TaskRow& row : item.tasks) {
    MemoryTask task;
    task.id = TaskIdOf(subject.id, row.step_id, row.attempt_id);
    task.step_id = row.step_id;
    task.attempt_id = row.attempt_id;
    task.queue = row.queue;
    task.band = row.band;
    task.cancel_requested = row.cancel_requested;
    task.created_at = Now();
    task.deadline = row.deadline;
    task.payload = row.payload;
    task_subjects_[task.id] = subject.id;
    if (!row.cancel_requested) ready_.insert({row.queue, row.band, Now(), SubjectId{task.id.uuid}});
    subject.tasks.push_back(std::move(task));
  }
}

// Its ready row is gone.
void MemoryStore::TakeTask(const ReadyRow& row, const SessionId& session, ClaimAnswer& answer) {
  const TaskId id{row.subject.uuid};
  MemorySubject& subject = subjects_.at(task_subjects_.at(id));
  MemoryTask& task = *FindTask(id);
  if (task.state != "queued" || task.cancel_requested) {
    ++answer.dropped;
    return;
  }
  Token before;
  int deaths = 0;
  for (const MemoryTask& other : subject.tasks) {
    if (other.step_id != task.step_id) continue;
    before = std::max(before, other.token);
    deaths += other.state == "lost";
  }
  if (Refused(row, deaths)) return;
  task.deaths = deaths;
  task.state = "started";
  task.token = Mint(before);
  task.session = session;
  task.worker_name = sessions_.at(session).row.worker_name;
  task.started_at = Now();
  answer.tasks.push_back(
      {id, subject.id, subject.project, {task.step_id, task.attempt_id, task.queue, task.band, task.payload, task.deadline}, task.token});
}

void MemoryStore::EndTask(MemorySubject& subject, MemoryTask& task, const std::string& state, std::string payload) {
  task.state = state;
  task.ended_at = Now();
  task.payload.clear();
  if (!subject.closed) PutInbox(subject, {InboxId{task.id.uuid}, std::string(kTaskResultKind), std::move(payload), Now()});
}

Result<PostAnswer> MemoryStore::FinishTask(const TaskReport& report) {
  std::lock_guard lock(mutex_);
  MemoryTask* task = FindTask(report.task);
  if (task == nullptr) return Error{Code::kNotFound, fmt::format("no task {}", report.task.ToString())};
  MemorySubject& subject = subjects_.at(task_subjects_.at(report.task));
  const PostAnswer answer{false, subject.holder, subject.queue};
  const bool mine = task->token == report.token;
  if ((task->state == "started" && mine) || mutants_.no_task_compare) {
    if (subject.closed) return Error{Code::kConflict, fmt::format("subject {} is closed", subject.id.ToString())};
    EndTask(subject, *task, report.state, report.payload);
    return answer;
  }
  const bool ended = task->state == "done" || task->state == "failed" || task->state == "cancelled";
  if (ended && mine) return PostAnswer{true, subject.holder, subject.queue};
  return Error{Code::kLeaseLost,
               fmt::format("task {} of step \"{}\" is {}: its result is refused", report.task.ToString(), task->step_id, task->state)};
}

Result<SettleAnswer> MemoryStore::SettleTasks(const std::optional<SubjectId>& subject, int max) {
  std::lock_guard lock(mutex_);
  return Settle(subject, max);
}

SettleAnswer MemoryStore::Settle(const std::optional<SubjectId>& only, int max) {
  SettleAnswer answer;
  for (auto& [id, subject] : subjects_) {
    if ((only && *only != id) || Locked(id)) continue;
    for (MemoryTask& task : subject.tasks) {
      const TaskKey key{task.step_id, task.attempt_id};
      const bool unwanted = task.state == "queued" && task.cancel_requested;
      const Session* session = task.state == "started" && !only ? &sessions_.at(*task.session) : nullptr;
      if (!unwanted && !(session && session->row.dead)) continue;
      if (answer.lost + answer.withdrawn >= max) {
        answer.more = true;
        return answer;
      }
      if (unwanted) {
        ++answer.withdrawn;
        std::erase_if(ready_, [&](const ReadyRow& row) { return row.subject.uuid == task.id.uuid; });
        EndTask(subject, task, "cancelled", WithdrawnTaskText(key));
      } else {
        ++answer.lost;
        EndTask(subject, task, "lost",
                LostTaskText(key, EndOf(*session, task.id.uuid) == LeaseEnd::kDiedAlone, session->row.worker_name, task.token));
      }
    }
  }
  return answer;
}

// The last row of an open step stays: the token of its next attempt grows from it.
std::int64_t MemoryStore::RetainTasks(milliseconds keep, int max) {
  std::int64_t removed = 0;
  for (auto& [id, subject] : subjects_) {
    const auto needless = [&, &of = subject](const MemoryTask& task) {
      if (!task.ended_at || *task.ended_at >= Now() - keep) return false;
      const auto unread = [&](const InboxRow& row) { return row.id.uuid == task.id.uuid; };
      if (std::any_of(of.inbox.begin(), of.inbox.end(), unread)) return false;
      return of.closed || of.completions.contains(task.step_id) ||
             std::any_of(of.tasks.begin(), of.tasks.end(), [&](const MemoryTask& other) {
               return other.step_id == task.step_id && other.attempt_id > task.attempt_id && other.token > task.token;
             });
    };
    std::set<TaskId> gone;
    for (const MemoryTask& task : subject.tasks) {
      if (removed < max && needless(task)) gone.insert(task.id), ++removed;
    }
    std::erase_if(subject.tasks, [&](const MemoryTask& task) { return gone.contains(task.id); });
    std::erase_if(ready_, [&](const ReadyRow& row) { return gone.contains(TaskId{row.subject.uuid}); });
    for (const TaskId& task : gone) task_subjects_.erase(task);
  }
  return removed;
}

Result<std::vector<HeldTask>> MemoryStore::TasksOf(const SessionId& session, milliseconds older_than) {
  std::lock_guard lock(mutex_);
  std::vector<HeldTask> held;
  for (const auto& [id, subject] : subjects_) {
    for (const MemoryTask& task : subject.tasks) {
      if (task.session == session && task.state == "started" && *task.started_at + older_than <= Now()) {
        held.push_back({task.id, task.token, {task.step_id, task.attempt_id}});
      }
    }
  }
  return held;
}

}  // namespace acl
