#pragma once
// Unfinished work in words, from the API's JSON.

#include "cli/session.h"

namespace acl::cli {

// The whole of it on one screen: where it was left, what is in the way, what is next and why, what was done last.
void PrintWork(Session* session, const Json& work);
// The step, why this one, what is needed for it, and why not the others.
void PrintNext(Session* session, const Json& next);
void PrintProjects(Session* session, const Json& answer);
void PrintProject(Session* session, const Json& project);
void PrintGoals(Session* session, const Json& answer);
void PrintTasks(Session* session, const Json& answer);
void PrintTask(Session* session, const Json& task);
void PrintTaskTree(Session* session, const Json& tree);
void PrintTaskFindings(Session* session, const Json& answer);

// "4 open: 1 doing, 1 blocked, 2 todo; 1 done"
std::string CountsText(const Json& counts);
// "claim 3 of ann until 2026-11-27 09:15:00Z"; "" if there is none.
std::string ClaimText(const Json& claim);

}  // namespace acl::cli
