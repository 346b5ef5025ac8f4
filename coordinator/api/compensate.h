#pragma once
// What became of compensations that a run's rollback left undone: each is finished by a run of its own, whose id follows from what is left.

#include <string>
#include <vector>

#include "coordinator/api/api.h"

namespace acl::coordinator {

// One run that was made to finish what another left undone.
struct Finishing {
  SubjectId run;
  std::string status, decision;  // as listed; "retry" or "skip"
  bool closed = false;
};

// The tries so far of `left` (an id of workflow::LeftUndone), the first one first. The last may be tried again: it has ended FAILED, and
// was not given up. `ended_at`: when `run` ended.
Result<std::vector<Finishing>> FinishingsOf(const ApiContext& api, SubjectId run, WallTime ended_at, const std::string& left);

// Puts into a run's view, for each compensation that is left, `finished_by`: the latest such run.
Status AddFinishings(const ApiContext& api, const SubjectView& listed, Json& answer);

}  // namespace acl::coordinator
