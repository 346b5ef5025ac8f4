#pragma once
// What a decision makes besides its own subject (docs/architecture.md#posts-and-creates): an outbox row of its commit, of which a job
// makes the other subject, exactly once; what is said to that subject before it is there waits until it is.

#include <string>
#include <string_view>

#include "shared/kernel/types.h"

namespace acl {

inline constexpr std::string_view kCreateTopic = "create/";  // then the kind of the subject; the key is its id

inline OutboxRow CreateOf(const SubjectId& subject, std::string_view kind, const Json& asked) {
  return {std::string(kCreateTopic).append(kind), subject.ToString(), DumpJson(asked)};
}

// One that was asked for and is not made yet.
struct AskedSubject {
  std::int64_t outbox_id = 0;
  SubjectId sender, subject;
  ProjectId project;  // of the sender
  std::string kind, payload;
};

// A child run, to its parent: {"step_id", "status", "outputs"?, "error"?, "first"?}; `first`: the run that it went on from. Also of one
// that could not be made.
inline constexpr std::string_view kChildEndedPost = "child_ended";
// A child run that goes on as another, to its parent: {"step_id", "first", "next"}.
inline constexpr std::string_view kChildContinuedPost = "child_continued";
// A parent that stops, to its children: {"reason", "compensate"}.
inline constexpr std::string_view kParentStopsPost = "parent_stops";

}  // namespace acl
