#pragma once
// Every operation on projects, once: its name, its words at the command line, its parameters and the right it needs. From this table are
// made the HTTP routes, the check of what came in, the commands of airun with their help, and the OpenAPI entries
// (coordinator/api/projects.cc, cli/project_commands.cc, tests/unit/coordinator/project_openapi.h). An operation that is missing here is
// nowhere; a test compares the commands with decide.h's, argument by argument.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::project {

enum class Form { kText, kTexts, kNumber, kFlag, kObjects };

struct Parameter {
  std::string name, help;  // a member of the body, or of the query
  Form form = Form::kText;
  bool required = false;
  std::size_t most = 0;                  // bytes of a text, or of each text of a list
  std::size_t most_items = 0;            // of a list
  std::int64_t least = 0, greatest = 0;  // of a number
  std::vector<std::string> words;        // the only texts that it takes; empty: any
  std::string flag;                      // at the command line: "--goal" an option, "TASK" by its place; empty: not there
};

enum class Right { kRead, kWrite };

struct Operation {
  std::string name;     // "add_task"
  std::string words;    // "task add": the command of airun
  std::string summary;  // one line
  std::string done;     // of a command, what happened: "paused"
  Right right = Right::kWrite;
  std::string path;  // of a reading, behind /v1/projects/{project}: "/tasks/{task_id}"
  std::vector<Parameter> parameters;

  // A command: it may be repeated under its Idempotency-Key.
  bool TakesKey() const { return right == Right::kWrite; }
  bool OfOneProject() const { return name != "create_project" && name != "list_projects"; }
  // "POST /v1/projects/{project}/add_task".
  std::string Method() const { return right == Right::kWrite ? "POST" : "GET"; }
  std::string Pattern() const;
  const Parameter* Find(std::string_view parameter) const;
};

// Commands first.
const std::vector<Operation>& Operations();
const Operation* FindOperation(std::string_view name);

// What every command takes beside its own: `by` and `expected_seq`.
const std::vector<Parameter>& CommandParameters();

// What is wrong with arguments: where (a JSON pointer), and what to write instead.
struct WrongArgument {
  std::string code, message, pointer;
};
// `more`: parameters beside the operation's own. Empty: they fit. The sense of a text (a sentence, one action, a reference) is left to
// decide.
std::vector<WrongArgument> CheckArguments(const Operation& operation, const Json& arguments, const std::vector<Parameter>& more = {});
// A parameter's value from text, as in a query: numbers and flags are read. kInvalid with the way out.
Result<Json> ValueOfText(const Parameter& parameter, const std::string& text);

// JSON Schema (draft 2020-12).
Json SchemaOf(const Parameter& parameter);
Json SchemaOf(const Operation& operation, const std::vector<Parameter>& more = {});

// Tasks that a reading lists unless it asks for more or less, and how many it may ask for.
inline constexpr std::int64_t kUsualListed = 200, kMostListed = 1'000;

}  // namespace acl::project
