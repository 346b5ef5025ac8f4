#pragma once
// Runs that take back what another did: such a run begins with that one's state, stopping, and so goes through compensations with all that
// a rollback has (retries, people, children, files). It ends ROLLED_BACK, or FAILED with what is left.

#include <string>
#include <vector>

#include "shared/workflow/create_run.h"

namespace acl::workflow {

// All that a run did. `ended`: the state of a run that completed. Of the request subject, project, parent and trace are taken. kInvalid: it
// is not such a run.
Result<CreateItem> MakeUndoItem(const SubjectKind& kind, const Document& ended, CreateRequest request);

// One compensation that a run's rollback could not do, by a person's word: tried once more, or given up.
struct Finish {
  std::string step_id;  // of the step, or of its compensation
  bool skip = false;    // given up: the run ends at once, FAILED, and names it
  std::string reason, by;
  std::string request_key;  // of who asked
};

// What a closed run left undone, by the ids that `Finish` takes.
std::vector<std::string> LeftUndone(const Document& ended);
// The compensation that `step_id` means, if it is one of those; empty: it is none.
std::string LeftUndone(const Document& ended, const std::string& step_id);

// Of what `run` left undone at its end: the same whoever asks, so that one run alone finishes it.
SubjectId FinishIdOf(const SubjectId& run, std::string_view left, WallTime ended_at);

// `ended`: the state of the run, closed. Of the request subject, project and trace are taken. The calls keep the key of the first run:
// whoever had an effect by a failed attempt knows it again. kInvalid: nothing that another try could change, with the way out.
Result<CreateItem> MakeFinishItem(const SubjectKind& kind, const Document& ended, const Finish& finish, CreateRequest request);

}  // namespace acl::workflow
