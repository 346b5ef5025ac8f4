#include "coordinator/decide_alone.h"

#include <algorithm>

#include "shared/kernel/fold.h"

namespace acl::coordinator {
namespace {

class Alone {
 public:
  Alone(const SubjectKind& kind, const Claimed& claimed, Document state, const SessionId& session)
      : kind_(kind), journal_(claimed.head.journal), now_(std::max(claimed.db_now, claimed.head.last_timestamp)), state_(std::move(state)) {
    item_.subject = claimed.subject;
    item_.session = session;
    item_.token = claimed.token;
    item_.base_seq = claimed.head.seq;
    item_.chain = claimed.head.chain;
    item_.state_root = claimed.head.state_root;
    item_.last_timestamp = claimed.head.last_timestamp;
    item_.expected_wake = claimed.wake;
  }

  Status Feed(const Input& input) {
    Decision decision = kind_.Decide(state_, input, now_);
    for (EventDraft& draft : decision.events) {
      if (Status added = Add(std::move(draft)); !added) return added;
    }
    for (CompletionRow& row : decision.completions) {
      row.event_seq += item_.base_seq + std::int64_t(item_.events.size()) - std::int64_t(decision.events.size());
      row.completed_at = item_.last_timestamp;
    }
    Move(decision.attempts, item_.attempts);
    Move(decision.completions, item_.completions);
    Move(decision.timers_set, item_.timers_set);
    for (const std::string& timer : decision.timers_cleared) {
      std::erase_if(item_.timers_set, [&](const TimerRow& row) { return row.timer_id == timer; });
    }
    Move(decision.timers_cleared, item_.timers_cleared);
    Move(decision.compensations, item_.compensations);
    Move(decision.tasks, item_.tasks);
    Move(decision.tasks_cancelled, item_.tasks_cancelled);
    Move(decision.outbox, item_.outbox);
    Move(decision.contents, item_.contents);
    if (decision.listing) List(std::move(*decision.listing));
    return {};
  }

  void Consume(const InboxId& id) { item_.consumed_inbox.push_back(id); }

  CommitItem End() {
    NextContext context;
    context.now = now_;
    context.free_slots = 0;
    context.may_dispatch = false;
    const Next next = kind_.WhatNext(state_, context);
    item_.disposition = next.closed ? Disposition::kClose : Disposition::kRelease;
    item_.requeue = !next.closed && !next.waiting;
    if (!next.closed) item_.waiting = next.waiting;
    item_.state_root = state_.Root();
    return std::move(item_);
  }

 private:
  template <class T>
  static void Move(std::vector<T>& from, std::vector<T>& to) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  }

  Status Add(EventDraft draft) {
    auto event = FoldDraft(kind_, state_, std::move(draft));
    if (!event) return event.error();
    event->subject = item_.subject;
    event->seq = item_.base_seq + std::int64_t(item_.events.size()) + 1;
    event->journal = journal_;
    event->token = item_.token;
    event->timestamp = item_.last_timestamp = now_;
    event->chain = ChainNext(item_.chain, *event);
    item_.chain = event->chain;
    item_.events.push_back(std::move(*event));
    return {};
  }

  // Several changes in one item: the last status, every time and the last error.
  void List(ListingChange change) {
    if (!item_.listing) {
      item_.listing = std::move(change);
      return;
    }
    item_.listing->status = std::move(change.status);
    if (change.error_message) item_.listing->error_message = std::move(change.error_message);
    if (change.started_at) item_.listing->started_at = change.started_at;
    if (change.completed_at) item_.listing->completed_at = change.completed_at;
  }

  const SubjectKind& kind_;
  const JournalId journal_;
  const WallTime now_;
  Document state_;
  CommitItem item_;
};

}  // namespace

Result<CommitItem> DecideAlone(const SubjectKind& kind, const Claimed& claimed, Document state, const SessionId& session,
                               bool out_of_time) {
  Alone alone(kind, claimed, std::move(state), session);
  const bool begun = claimed.head.seq > 1;
  if (begun) {
    const Input resumed = ResumedInput{claimed.attempts};
    if (Status fed = alone.Feed(resumed); !fed) return fed.error();
  } else if (out_of_time) {
    const Input over = InboxInput{InboxId{}, "timer", Json{{"timer_id", "deadline"}}};
    if (Status fed = alone.Feed(over); !fed) return fed.error();
  }
  // A release from quarantine comes before what was said meanwhile, which may end the subject.
  std::vector<const InboxRow*> rows;
  for (const InboxRow& row : claimed.inbox) rows.push_back(&row);
  std::stable_partition(rows.begin(), rows.end(), [](const InboxRow* row) { return row->kind == "quarantine_released"; });
  for (const InboxRow* row : rows) {
    auto payload = ParseJson(row->payload);
    const Input input = InboxInput{row->id, row->kind, payload ? std::move(*payload) : Json::object()};
    alone.Consume(row->id);
    if (Status fed = alone.Feed(input); !fed) return fed.error();
  }
  return alone.End();
}

}  // namespace acl::coordinator
