// MemoryStore: dispatches (dispatch.h).

#include <fmt/format.h>

#include <algorithm>

#include "shared/kernel/dispatch.h"
#include "shared/kernel/memory_store.h"

namespace acl {

MemoryDispatch* MemoryStore::FindDispatch(const DispatchId& id) {
  auto subject = dispatch_subjects_.find(id);
  if (subject == dispatch_subjects_.end()) return nullptr;
  auto& dispatches = subjects_.at(subject->second).dispatches;
  return &*std::find_if(dispatches.begin(), dispatches.end(), [&](const MemoryDispatch& dispatch) { return dispatch.id == id; });
}

void MemoryStore::OfferDispatches(MemorySubject& subject, const CommitItem& item) {
  for (const DispatchKey& key : item.dispatches_cancelled) {
    for (MemoryDispatch& dispatch : subject.dispatches) {
      const bool out = dispatch.state == "queued" || dispatch.state == "started";
      if (out && dispatch.step_id == key.step_id && dispatch.attempt_id == key.attempt_id) dispatch.cancel_requested = true;
    }
  }
  for (const DispatchRow& row : item.dispatches) {
    MemoryDispatch dispatch;
    dispatch.id = DispatchIdOf(subject.id, row.step_id, row.attempt_id);
    dispatch.step_id = row.step_id;
    dispatch.attempt_id = row.attempt_id;
    dispatch.queue = row.queue;
    dispatch.priority = row.priority;
    dispatch.cancel_requested = row.cancel_requested;
    dispatch.created_at = Now();
    dispatch.deadline = row.deadline;
    dispatch.payload = row.payload;
    dispatch_subjects_[dispatch.id] = subject.id;
    if (!row.cancel_requested) ready_.insert({row.queue, row.priority, Now(), SubjectId{dispatch.id.uuid}});
    subject.dispatches.push_back(std::move(dispatch));
  }
}

// Its ready row is gone.
void MemoryStore::TakeDispatch(const ReadyRow& row, const WorkerSessionId& session, ClaimAnswer& answer) {
  const DispatchId id{row.subject.uuid};
  MemorySubject& subject = subjects_.at(dispatch_subjects_.at(id));
  MemoryDispatch& dispatch = *FindDispatch(id);
  if (dispatch.state != "queued" || dispatch.cancel_requested) {
    ++answer.dropped;
    return;
  }
  Token before;
  int deaths = 0;
  for (const MemoryDispatch& other : subject.dispatches) {
    if (other.step_id != dispatch.step_id) continue;
    before = std::max(before, other.token);
    deaths += other.state == "lost";
  }
  if (Refused(row, deaths)) return;
  dispatch.deaths = deaths;
  dispatch.state = "started";
  dispatch.token = Mint(before);
  dispatch.session = session;
  dispatch.worker_name = sessions_.at(session).row.worker_name;
  dispatch.started_at = Now();
  answer.dispatches.push_back(
      {id,
       subject.id,
       subject.project,
       {dispatch.step_id, dispatch.attempt_id, dispatch.queue, dispatch.priority, dispatch.payload, dispatch.deadline},
       dispatch.token});
}

void MemoryStore::EndDispatch(MemorySubject& subject, MemoryDispatch& dispatch, const std::string& state, std::string payload) {
  dispatch.state = state;
  dispatch.ended_at = Now();
  dispatch.payload.clear();
  if (!subject.closed) PutInbox(subject, {InboxId{dispatch.id.uuid}, std::string(kDispatchResultKind), std::move(payload), Now()});
}

Result<PostAnswer> MemoryStore::FinishDispatch(const DispatchReport& report) {
  std::lock_guard lock(mutex_);
  MemoryDispatch* dispatch = FindDispatch(report.dispatch);
  if (dispatch == nullptr) return Error{Code::kNotFound, fmt::format("no dispatch {}", report.dispatch.ToString())};
  MemorySubject& subject = subjects_.at(dispatch_subjects_.at(report.dispatch));
  const PostAnswer answer{false, subject.holder, subject.queue};
  const bool mine = dispatch->token == report.token;
  if ((dispatch->state == "started" && mine) || mutants_.no_dispatch_compare) {
    if (subject.closed) return Error{Code::kConflict, fmt::format("subject {} is closed", subject.id.ToString())};
    EndDispatch(subject, *dispatch, report.state, report.payload);
    return answer;
  }
  const bool ended = dispatch->state == "done" || dispatch->state == "failed" || dispatch->state == "cancelled";
  if (ended && mine) return PostAnswer{true, subject.holder, subject.queue};
  return Error{Code::kLeaseLost, fmt::format("dispatch {} of step \"{}\" is {}: its result is refused", report.dispatch.ToString(),
                                             dispatch->step_id, dispatch->state)};
}

Result<ReapedDispatches> MemoryStore::ReapDispatches(const std::optional<SubjectId>& subject, int max) {
  std::lock_guard lock(mutex_);
  return ReapNow(subject, max);
}

ReapedDispatches MemoryStore::ReapNow(const std::optional<SubjectId>& only, int max) {
  ReapedDispatches answer;
  for (auto& [id, subject] : subjects_) {
    if ((only && *only != id) || Locked(id)) continue;
    for (MemoryDispatch& dispatch : subject.dispatches) {
      const DispatchKey key{dispatch.step_id, dispatch.attempt_id};
      const bool unwanted = dispatch.state == "queued" && dispatch.cancel_requested;
      const Session* session = dispatch.state == "started" && !only ? &sessions_.at(*dispatch.session) : nullptr;
      if (!unwanted && !(session && session->row.dead)) continue;
      if (answer.lost + answer.withdrawn >= max) {
        answer.more = true;
        return answer;
      }
      if (unwanted) {
        ++answer.withdrawn;
        std::erase_if(ready_, [&](const ReadyRow& row) { return row.subject.uuid == dispatch.id.uuid; });
        EndDispatch(subject, dispatch, "cancelled", WithdrawnDispatchText(key));
      } else {
        ++answer.lost;
        EndDispatch(
            subject, dispatch, "lost",
            LostDispatchText(key, EndOf(*session, dispatch.id.uuid) == LeaseEnd::kDiedAlone, session->row.worker_name, dispatch.token));
      }
    }
  }
  return answer;
}

// The last row of an open step stays: the token of its next attempt grows from it.
std::int64_t MemoryStore::RetainDispatches(milliseconds keep, int max) {
  std::int64_t removed = 0;
  for (auto& [id, subject] : subjects_) {
    const auto needless = [&, &of = subject](const MemoryDispatch& dispatch) {
      if (!dispatch.ended_at || *dispatch.ended_at >= Now() - keep) return false;
      const auto unread = [&](const InboxRow& row) { return row.id.uuid == dispatch.id.uuid; };
      if (std::any_of(of.inbox.begin(), of.inbox.end(), unread)) return false;
      return of.closed || of.completions.contains(dispatch.step_id) ||
             std::any_of(of.dispatches.begin(), of.dispatches.end(), [&](const MemoryDispatch& other) {
               return other.step_id == dispatch.step_id && other.attempt_id > dispatch.attempt_id && other.token > dispatch.token;
             });
    };
    std::set<DispatchId> gone;
    for (const MemoryDispatch& dispatch : subject.dispatches) {
      if (removed < max && needless(dispatch)) gone.insert(dispatch.id), ++removed;
    }
    std::erase_if(subject.dispatches, [&](const MemoryDispatch& dispatch) { return gone.contains(dispatch.id); });
    std::erase_if(ready_, [&](const ReadyRow& row) { return gone.contains(DispatchId{row.subject.uuid}); });
    for (const DispatchId& dispatch : gone) dispatch_subjects_.erase(dispatch);
  }
  return removed;
}

Result<std::vector<HeldDispatch>> MemoryStore::DispatchesOf(const WorkerSessionId& session, milliseconds older_than) {
  std::lock_guard lock(mutex_);
  std::vector<HeldDispatch> held;
  for (const auto& [id, subject] : subjects_) {
    for (const MemoryDispatch& dispatch : subject.dispatches) {
      if (dispatch.session == session && dispatch.state == "started" && *dispatch.started_at + older_than <= Now()) {
        held.push_back({dispatch.id, dispatch.token, {dispatch.step_id, dispatch.attempt_id}});
      }
    }
  }
  return held;
}

}  // namespace acl
