#pragma once
// A command on a project and its state: events and an answer, or a refusal that says what is possible instead (document 000, 10). A refusal
// by the state is an event too (`command.refused`), so that who tried what can be read; one by its form never gets as far as the journal.
//
//   command             arguments (optional ones in brackets)
//   create_project      name, [verify: independent]
//   create_goal         text, [priority]
//   edit_goal           goal_id, [text], [priority]
//   pause_goal, resume_goal, finish_goal, withdraw_goal   goal_id, [reason]; finish_goal: [force] with a reason, if tasks are open
//   add_task            goal_id, title, [acceptance_criteria], [depends_on], [priority], [evidence]
//   edit_task           task_id, [title], [acceptance_criteria], [depends_on], [priority], [evidence], [goal_id]
//   start_task          task_id, [claim_seconds], [as_of], [resolved: why a blocked one may go on]
//   take_next           [claim_seconds]: chooses and starts in one; a blocked task is shown and not taken, the caller's own gets a new
//                       token
//   renew_claim         task_id, [claim_seconds], [token]
//   pause_task          task_id, [reason], [token]
//   block_task          task_id, blocker, [token]
//   resolve_blocker     task_id, blocker_id, [reason]
//   unblock_task        task_id, [reason]
//   complete_task       task_id, [evidence], [token]
//   reopen_task         task_id, [reason], [claim_seconds]
//   withdraw_task       task_id, [reason]
//   update_checkpoint   task_id, where_we_left_off, next_step, [needed_context_refs], [blockers], [tried], [pending], [token]
//
// Not said by people:
//   expire_claim        task_id, token: what the clock says, by a timer
//   link_run            task_id, run_id, [token]: a run of the task is being made
//   end_run             task_id, run_id, status, head_seq, run_root, [error]: what the run said when it ended

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/journal/event.h"
#include "shared/kernel/commanded_kind.h"
#include "shared/kinds/project/model.h"

namespace acl::project {

struct Command {
  std::string name;
  Json arguments = Json::object();
  std::string by;  // the actor
};

// Reasons: FORM, NOT_FOUND, INVALID_TRANSITION, NOT_READY, CLAIMED, LATE_HOLDER, CHANGED, CYCLE, EVIDENCE_MISSING, STALE_EVIDENCE,
// NOT_INDEPENDENT, OPEN_TASKS, WITHDRAWN, EXISTS, LIMIT.
using Refusal = CommandRefusal;

struct Decided {
  std::vector<EventDraft> events;
  std::vector<OutboxRow> outbox;  // to sessions of agents that wait for a change
  Json answer = Json::object();
  std::optional<Refusal> refused;
};

class Agenda;

// `now`: the time of the events. Pure: the same state, command and time give the same answer, with an agenda of the project (agenda.h) or
// without.
Decided Decide(const Document& state, const Command& command, WallTime now, Agenda* agenda = nullptr);

// Seconds that a claim holds unless it says otherwise, and how many it may ask for.
inline constexpr int kUsualClaimSeconds = 900, kMostClaimSeconds = 7 * 24 * 3600;
// Tasks that may depend on one task.
inline constexpr std::size_t kMostDependents = 1'000;

}  // namespace acl::project
