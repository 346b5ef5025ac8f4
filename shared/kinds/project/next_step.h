#pragma once
// What to do next (document 000, 8.2): a pure function of the state. The order, each line deciding where those before it do not:
//
//   1. the rule: a task that is being done; then a blocked one, whose blockers are the work; then one that may be started
//   2. of blocked tasks, the one blocked last
//   3. the task's priority, then its goal's
//   4. which was made first
//
// Nothing here looks at a clock: a claim holds until an event says that it ran out.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/kinds/project/readiness.h"

namespace acl::project {

struct Counts {
  int open = 0, todo = 0, doing = 0, blocked = 0, done = 0;  // without what was withdrawn
};

struct NextStep {
  // `doing`, `blocked`, `todo`; `propose`: nothing can be worked on, and tasks are asked for (without committing to any).
  std::string rule;
  std::string task, title, next_step;  // empty for `propose` but the last, which says what is asked
  std::string step_from;               // `checkpoint`, `blocker` or `title`: where the step's words are from
  std::vector<std::string> context_refs;
  std::vector<Blocker> blockers;        // with how to lift them in next_step
  std::vector<std::string> open_tasks;  // the first kMostOpenListed; `counts` has how many there are
  struct Loser {
    std::string task, decided_by;  // the line of the order above by which it came later: `rule`, `blocked_order`, `priority`,
                                   // `goal_priority`, `created_order`
  };
  std::vector<Loser> runners_up;  // the next three
  struct Waiting {
    std::string task;
    std::vector<Reason> reasons;
  };
  std::vector<Waiting> waiting;  // for `propose`: the first tasks that are open but cannot be worked on, and why
  Counts counts;
  Hash256 state_digest{};
};

// `actor`: tasks that others hold are passed over; empty: of whoever asks nothing is known, and what is held is shown too.
NextStep ChooseNext(const Document& state, std::string_view actor);
// The same of a state that was read already; `digest`: its root.
NextStep ChooseNext(const Work& work, const Hash256& digest, std::string_view actor);
inline constexpr std::size_t kMostOpenListed = 200;
Json ToJson(const NextStep& next);

}  // namespace acl::project
