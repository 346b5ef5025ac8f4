#pragma once
// 2.1 prepare: from an agent file to what KernelStore::Create takes. The first event of a session is its first move.

#include <optional>
#include <string>
#include <vector>

#include "shared/base/trace_context.h"
#include "shared/kernel/kind.h"
#include "shared/kinds/agent/agent_file.h"

namespace acl::agent {

struct CreateAgent {
  SubjectId subject;
  ProjectId project = kDefaultProject;
  std::string text;               // the file as given; kept in the listing, for people
  std::string owner, note;        // who asks for it; a word of theirs
  std::string message;            // the first stimulus; may be empty
  std::vector<FileChange> files;  // its working directory at the start; contents are in the content store already
  TraceContext trace;
  WallTime now;  // the database makes its own of it
  std::optional<std::string> request_key;
  Hash256 request_hash{};
  // A session that goes on from a move of another one: entries of its state that go with it.
  struct Fork {
    std::string session_id;
    std::int64_t seq = 0;
    Json kept = Json::object();
  };
  std::optional<Fork> fork;
};

// kInvalid: files that do not fit, a message that is too large.
Result<CreateItem> MakeCreateItem(const SubjectKind& kind, const AgentDefinition& definition, CreateAgent request);

// What a fork takes along from a state: counters, what nobody has taken up, past turns, files. A turn that was under way is not: what it
// had taken up is taken up again, its effects are not made again, and people are asked anew.
Json KeptInFork(const Document& state);

}  // namespace acl::agent
