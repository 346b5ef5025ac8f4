#pragma once
// What a decision says to another subject (docs/architecture.md#posts-and-creates): an outbox row of its commit, which a job turns into
// an inbox row of the other, exactly once and in the order in which it was said.

#include <string>
#include <string_view>

#include "shared/kernel/types.h"

namespace acl {

inline constexpr std::string_view kPostTopic = "post/";  // then the kind of the inbox row; the key is the subject's id

// Its inbox row says {"from": the sender's id, "head_seq", "state_root": the sender's when it was delivered, "said": `said`}.
inline OutboxRow PostTo(const SubjectId& subject, std::string_view kind, const Json& said) {
  return {std::string(kPostTopic).append(kind), subject.ToString(), DumpJson(said)};
}

// A run, to the project of its task: {"run_id", "task_id", "status", "error"?}.
inline constexpr std::string_view kRunEndedPost = "run_ended";

// A project, to a session of an agent that found nothing to take there: {"event", "of", "by"}. Something may be there now.
inline constexpr std::string_view kProjectChangedPost = "project_changed";

}  // namespace acl
