#include "coordinator/decide_alone.h"

#include <algorithm>

#include "shared/kernel/item_builder.h"

namespace acl::coordinator {

Result<CommitItem> DecideAlone(const SubjectKind& kind, const Claimed& claimed, std::vector<InboxInput> inbox, Document state,
                               const WorkerSessionId& session, bool out_of_time) {
  const WallTime now = std::max(claimed.db_now, claimed.head.last_timestamp);
  ItemBuilder made(kind, BaseOf(claimed, session), std::move(state));
  const bool begun = claimed.head.seq > 1;
  if (begun) {
    const Input resumed = ResumedInput{claimed.attempts};
    if (auto decided = made.Decide(resumed, now); !decided) return decided.error();
  } else if (out_of_time) {
    const Input over = InboxInput{InboxId{}, "timer", Json{{"timer_id", "deadline"}}};
    if (auto decided = made.Decide(over, now); !decided) return decided.error();
  }
  for (InboxInput& one : inbox) {
    made.item.consumed_inbox.push_back(one.id);
    const Input input = std::move(one);
    if (auto decided = made.Decide(input, now); !decided) return decided.error();
  }
  made.Finish(now);
  NextContext context;
  context.now = now;
  context.free_slots = 0;
  context.may_dispatch = false;
  const Next next = kind.WhatNext(made.state, context);
  CommitItem item = std::move(made.item);
  item.expected_wake = claimed.wake;
  item.disposition = next.closed ? Disposition::kClose : Disposition::kRelease;
  item.requeue = !next.closed && !next.waiting;
  if (!next.closed) item.waiting = next.waiting;
  return item;
}

}  // namespace acl::coordinator
