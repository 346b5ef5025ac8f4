#pragma once
// Extensions look in at the eleven phases (document 003, section 3): they see a snapshot that they cannot change and, where the phase has
// one, a draft that they change by JSON Patch. What each answered is on record. The core works without any.
//
//   asked     {"phase", "snapshot", "draft"}, on standard input of a program, or as the body of a POST
//   answer    {}                                              go on
//             {"patch": [RFC 6902 operations on the draft]}   go on with a changed draft
//             {"stop": {"code": "...", "message": "..."}}     stop; what that means: phases.h
//             {"ask": {"message": "..."}}                     at before_action: a person is asked first

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "shared/base/result.h"
#include "shared/kinds/agent/agent_file.h"

namespace acl::agent {

struct Answer {
  Json patch = Json::array();
  std::string stop_code, stop_message;  // code not empty: it stops
  std::string ask;                      // not empty: why a person is asked
};
// kInvalid: it is none, and why.
Result<Answer> AnswerFrom(const Json& json);

// One that is part of this program. Pure: the same arguments give the same answer, on every worker and in every replay.
class BuiltInExtension {
 public:
  virtual ~BuiltInExtension() = default;
  // `config`: of the agent file. `draft`: null at phases that have none.
  virtual Answer LookIn(Phase phase, const Json& config, const Json& snapshot, const Json& draft) const = 0;
};
using BuiltInExtensions = std::map<std::string, std::shared_ptr<const BuiltInExtension>, std::less<>>;
// "ask_first" {"capabilities": [patterns]}: a person is asked before them. "budget" {"requests", "actions"}: no more than so many in the
// session's life. "prune" {"past_turns"}: fewer past turns in the context. "redact" {"patterns": [RE2]}: taken out of every request.
BuiltInExtensions StandardExtensions();
// What is wrong with the configuration of one of those; empty: nothing. Of an extension of another name: nothing is known.
std::string WrongConfig(const std::string& builtin, const Json& config);

// Puts the answer's patch onto the draft. kInvalid: the phase has no draft, an operation does not fit, or it writes where an extension
// before it has written (`touched`: {path, by} of those, to which its own are added): both are named.
Status ApplyAnswer(Phase phase, const std::string& extension, const Answer& answer, Json& draft, Json& touched);

}  // namespace acl::agent
