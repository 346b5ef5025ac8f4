#pragma once
// The agent file: what an agent is for, how it plans, what it may do and who is asked first (docs/guides/agents.md "The agent file"). YAML
// or JSON; both give the same hash when they say the same.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/capability/capability.h"
#include "shared/definition/expression.h"
#include "shared/definition/loader.h"
#include "shared/kinds/agent/phases.h"

namespace acl::agent {

// What a rule does when its condition holds: a plan with its actions, ready made.
struct Rule {
  std::optional<Expression> when;  // nothing: always
  std::string intention, expected, say;
  Json actions = Json::array();  // {"capability", "inputs"} each, with templates
};

struct Planner {
  // "rules": the first rule that holds. "command": a program that is handed the turn. "model": a language model, through AEGIS alone.
  std::string kind = "rules";
  std::vector<Rule> rules;
  std::string command;  // of kind command
  Json args = Json::array();
  std::string instructions;  // of kind model, beside what every agent is told
  std::chrono::milliseconds timeout{60'000};
  int attempts = 3;  // of one request
};

struct Extension {
  std::string name;
  std::vector<Phase> phases;
  // One of three: a program (stdio), an address (HTTP), or one of those that this program brings (builtin).
  std::string command, url, builtin;
  Json args = Json::array(), config = Json::object();
  std::chrono::milliseconds timeout{10'000};
  bool closed = true;  // on_failure: closed; a failure counts as a stop. Else it is passed over, on record.

  bool ListensTo(Phase phase) const;
};

struct Limits {
  int turns_per_wake = 50;     // then it rests, and says so
  int actions_per_turn = 8;    // what is asked beyond them is refused
  int moves_per_minute = 120;  // then it rests until the minute is over
  int moves_without_change = 60;
  std::int64_t requests = 0;  // in its life; 0: no limit
  // What asking models may take, in its life or in a day (of UTC); 0: no limit. Money is in millionths of a dollar.
  std::int64_t tokens = 0, micros = 0;
  bool per_day = false;
};

struct AgentDefinition {
  std::string name, version = "1", note, intention, owner;
  std::string queue = "default";
  Planner planner;
  std::vector<std::string> capabilities;  // ids or patterns: "io.fs.*"; anything else is refused
  std::vector<std::string> pollers;       // may be called again and again with the same arguments
  std::vector<std::string> ask_before;    // a person is asked first: ids, patterns, "risk:HIGH" (that and above), "effect:non_idempotent"
  std::string approver_role;
  std::optional<std::chrono::milliseconds> approval_timeout;
  bool allow_requester = true;
  std::optional<std::chrono::milliseconds> every;  // it is woken so long after it began to rest
  bool tasks = false;                              // plans on the next step of its project (document 000)
  bool go_on_uncertain = false;                    // on_unknown_outcome: go_on; else it rests until a person says what happened
  std::vector<Extension> extensions;               // in the order in which they are asked
  Limits limits;
  Json value;        // the whole file as a value: what the hash is over, and what the session keeps
  std::string hash;  // SHA-256 over RFC 8785 of `value`, hex
};

struct LoadedAgent {
  std::optional<AgentDefinition> definition;  // set if there is no error
  std::vector<Finding> findings;              // sorted by place
};

// Never throws, whatever the text. `capabilities`: what is known here; a pattern that means none of them is a warning.
LoadedAgent LoadAgent(const std::string& text, const CapabilityRegistry* capabilities);
// Of a recorded `AgentDefinition::value`; kInvalid with every finding.
Result<AgentDefinition> AgentFromValue(const Json& value);

// "io.fs.*" means every id that begins with "io.fs."; "*" means all; else it is the id itself.
bool Matches(const std::string& pattern, std::string_view id);
bool MatchesAny(const std::vector<std::string>& patterns, std::string_view id);

}  // namespace acl::agent
