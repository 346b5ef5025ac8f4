#pragma once
// What each step of a run does at this moment, as far as the database knows: the journal alone does not tell a step that runs from one that
// waits for a worker, and says nothing of pure and read steps before they end.

#include "shared/base/json.h"

namespace acl::coordinator {

// Gives steps and compensations of a run's form (GET /v1/workflows/{id}, with its `state` and `dispatches`) an `activity`:
//   {"name": "queued", "queue", "since"}            its dispatch waits for a worker
//   {"name": "running", "holder", "since"?}         a worker has its dispatch, or the run's holder its attempt
//   {"name": "running", "holder", "assumed": true}  the holder of the run's lease runs it, or next if all its slots are taken
//   {"name": "ready"}                               it runs as soon as a worker takes the run
//   {"name": "interrupted"}                         its attempt began and nobody holds the run: whoever takes it finds out
// Steps that hold others or that a run of their own does, that have ended, or wait for a time, other steps or a person, have none.
void AddActivity(Json& run);

}  // namespace acl::coordinator
