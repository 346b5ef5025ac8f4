// The table of operations and decide.h name the same commands, with the same arguments and the same limits.
#include "shared/kinds/project/operations.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// g1 with t1 todo, t2 doing (ann's), t3 blocked by b1, t4 done; g2 paused.
test::ProjectDriver Prepared() {
  test::ProjectDriver driver;
  for (const char* text : {"first", "second"}) driver.Do("create_goal", {{"text", text}});
  for (const char* title : {"one", "two", "three", "four"}) driver.Do("add_task", {{"goal_id", "g1"}, {"title", title}});
  for (const char* task : {"t2", "t3", "t4"}) driver.Do("start_task", {{"task_id", task}});
  driver.Do("block_task", {{"task_id", "t3"}, {"blocker", "no key"}});
  driver.Do("complete_task", {{"task_id", "t4"}});
  driver.Do("pause_goal", {{"goal_id", "g2"}});
  return driver;
}

// Arguments with which each command gets as far as asking whether there is anything else in them.
const std::map<std::string, Json> kFitting{
    {"create_project", {{"name", "n"}}},
    {"create_goal", {{"text", "t"}}},
    {"edit_goal", {{"goal_id", "g1"}, {"text", "t"}}},
    {"pause_goal", {{"goal_id", "g1"}}},
    {"resume_goal", {{"goal_id", "g2"}}},
    {"finish_goal", {{"goal_id", "g2"}}},
    {"withdraw_goal", {{"goal_id", "g2"}}},
    {"add_task", {{"goal_id", "g1"}, {"title", "t"}}},
    {"edit_task", {{"task_id", "t1"}, {"title", "t"}}},
    {"start_task", {{"task_id", "t1"}}},
    {"take_next", Json::object()},
    {"renew_claim", {{"task_id", "t2"}}},
    {"pause_task", {{"task_id", "t2"}}},
    {"block_task", {{"task_id", "t2"}, {"blocker", "b"}}},
    {"resolve_blocker", {{"task_id", "t3"}, {"blocker_id", "b1"}}},
    {"unblock_task", {{"task_id", "t3"}}},
    {"complete_task", {{"task_id", "t2"}}},
    {"reopen_task", {{"task_id", "t4"}}},
    {"withdraw_task", {{"task_id", "t1"}}},
    {"update_checkpoint", {{"task_id", "t2"}, {"where_we_left_off", "Here."}, {"next_step", "Go on"}}},
};

// The words behind "it takes: " or "there are: ".
std::set<std::string> Listed(const std::string& message, const std::string& behind) {
  std::set<std::string> words;
  const std::size_t at = message.find(behind);
  if (at == std::string::npos) return {"not listed: " + message};
  std::istringstream rest(message.substr(at + behind.size()));
  for (std::string word; rest >> word;) words.insert(word.ends_with(',') ? word.substr(0, word.size() - 1) : word);
  return words;
}

std::vector<const Operation*> TheCommands() {
  std::vector<const Operation*> commands;
  for (const Operation& one : Operations()) {
    if (one.right == Right::kWrite) commands.push_back(&one);
  }
  return commands;
}

TEST(ProjectOperations, NameTheCommandsThatAreDecided) {
  std::set<std::string> named{"expire_claim", "link_run", "end_run"};  // the clock's and a run's, at no door
  for (const Operation* one : TheCommands()) named.insert(one->name);
  const Decided decided = Prepared().Try("no_such_command");
  ASSERT_TRUE(decided.refused);
  EXPECT_EQ(Listed(decided.refused->message, "there are: "), named);
}

TEST(ProjectOperations, NameTheArgumentsThatAreDecidedBy) {
  for (const Operation* one : TheCommands()) {
    SCOPED_TRACE(one->name);
    ASSERT_TRUE(kFitting.contains(one->name)) << "no fitting arguments are known for it";
    Json arguments = kFitting.at(one->name);
    EXPECT_THAT(CheckArguments(*one, arguments), IsEmpty());
    arguments["no_such_argument"] = 1;
    test::ProjectDriver driver = Prepared();
    if (one->name == "create_project") driver = test::ProjectDriver(false);
    const Decided decided = driver.Try(one->name, arguments);
    ASSERT_TRUE(decided.refused);
    std::set<std::string> named;
    for (const Parameter& parameter : one->parameters) named.insert(parameter.name);
    EXPECT_EQ(Listed(decided.refused->message, "it takes: "), named);
    const auto wrong = CheckArguments(*one, arguments);
    ASSERT_EQ(wrong.size(), 1u);
    EXPECT_EQ(wrong[0].code, "unknown-member");
    EXPECT_EQ(wrong[0].pointer, "/no_such_argument");
  }
}

TEST(ProjectOperations, SayWhichArgumentsAreNeeded) {
  for (const Operation* one : TheCommands()) {
    for (const Parameter& parameter : one->parameters) {
      if (!parameter.required) continue;
      SCOPED_TRACE(one->name + " " + parameter.name);
      Json arguments = kFitting.at(one->name);
      arguments.erase(parameter.name);
      EXPECT_EQ(Prepared().Refused(one->name, arguments), "FORM");
      const auto wrong = CheckArguments(*one, arguments);
      ASSERT_EQ(wrong.size(), 1u);
      EXPECT_EQ(wrong[0].code, "missing-member");
    }
  }
}

// Just within and just beyond each limit of the table: decide finds the first fit in form, and refuses the second.
TEST(ProjectOperations, HaveTheLimitsThatAreDecidedBy) {
  for (const Operation* one : TheCommands()) {
    for (const Parameter& parameter : one->parameters) {
      SCOPED_TRACE(one->name + " " + parameter.name);
      Json within, beyond;
      if (parameter.form == Form::kNumber) {
        within = parameter.greatest;
        beyond = parameter.least - 1;
      } else if (parameter.form == Form::kText && parameter.words.empty()) {
        within = std::string(parameter.most, 'x');
        beyond = std::string(parameter.most + 1, 'x');
      } else if (parameter.form == Form::kTexts && parameter.words.empty()) {
        within = Json::array({parameter.name == "needed_context_refs" ? "task:t1" : std::string(parameter.most, 'x')});
        beyond = Json(std::vector<std::string>(parameter.most_items + 1, "x"));
      } else {
        within = parameter.form == Form::kFlag      ? Json(true)
                 : parameter.form == Form::kText    ? Json(parameter.words[0])
                 : parameter.form == Form::kObjects ? Json::array()
                                                    : Json(parameter.words);
        beyond = 3;
      }
      for (const bool fits : {true, false}) {
        Json arguments = kFitting.at(one->name);
        arguments[parameter.name] = fits ? within : beyond;
        EXPECT_EQ(CheckArguments(*one, arguments).empty(), fits) << arguments;
        if (parameter.name == "resolved" && fits) arguments["task_id"] = "t3";
        if (parameter.name == "force" && !fits) arguments["goal_id"] = "g2";
        EXPECT_EQ(Prepared().Refused(one->name, arguments) == "FORM", !fits) << arguments;
      }
    }
  }
}

TEST(ProjectOperations, AWrongArgumentIsSaidWithItsPlaceAndTheWayOut) {
  const Operation& add = *FindOperation("add_task");
  const std::tuple<Json, const char*, const char*> table[] = {
      {{{"title", "t"}, {"goal_ids", "g1"}}, "/goal_ids", "did you mean 'goal_id'?"},
      {{{"title", "t"}}, "/goal_id", "'goal_id' is missing: the goal that it serves, as in g1"},
      {{{"title", 3}, {"goal_id", "g1"}}, "/title", "'title' is a text"},
      {{{"title", "t"}, {"goal_id", "g1"}, {"priority", 5}}, "/priority", "'priority' is a whole number from 0 to 4"},
      {{{"title", "t"}, {"goal_id", "g1"}, {"priority", 1e300}}, "/priority", "a whole number"},
      {{{"title", "t"}, {"goal_id", "g1"}, {"depends_on", "t1"}}, "/depends_on", "'depends_on' is a list of texts"},
      {{{"title", "t"}, {"goal_id", "g1"}, {"evidence", {"run", "hope"}}}, "/evidence/1", "a list of person, run, artifact, check"},
      {{{"title", std::string(201, 'x')}, {"goal_id", "g1"}}, "/title", "201 bytes long, 200 at most"},
      {Json::array(), "", "an object"},
  };
  for (const auto& [arguments, pointer, text] : table) {
    const auto wrong = CheckArguments(add, arguments);
    ASSERT_FALSE(wrong.empty()) << arguments;
    EXPECT_EQ(wrong[0].pointer, pointer);
    EXPECT_THAT(wrong[0].message, HasSubstr(text));
  }
}

TEST(ProjectOperations, ReadTextsOfAQuery) {
  const Operation& list = *FindOperation("list_tasks");
  EXPECT_EQ(*ValueOfText(*list.Find("limit"), "12"), 12);
  EXPECT_EQ(*ValueOfText(*list.Find("withdrawn"), "true"), true);
  EXPECT_EQ(*ValueOfText(*list.Find("goal"), "12"), "12");
  for (const char* bad : {"", "1x", "1.5", "99999999999999999999"}) EXPECT_FALSE(ValueOfText(*list.Find("limit"), bad)) << bad;
  EXPECT_THAT(ValueOfText(*list.Find("limit"), "x").message(), HasSubstr("limit is a whole number from 1 to 1000"));
  EXPECT_FALSE(ValueOfText(*list.Find("withdrawn"), "yes"));
}

TEST(ProjectOperations, EachHasAPlaceAtEachDoor) {
  std::set<std::string> names, words, patterns;
  for (const Operation& one : Operations()) {
    SCOPED_TRACE(one.name);
    EXPECT_TRUE(names.insert(one.name).second);
    EXPECT_TRUE(words.insert(one.words).second);
    EXPECT_TRUE(patterns.insert(one.Method() + one.Pattern()).second);
    EXPECT_FALSE(one.summary.empty() || one.summary.ends_with('.'));
    EXPECT_EQ(one.done.empty(), one.right == Right::kRead);
    EXPECT_EQ(SchemaOf(one)["properties"].size(), one.parameters.size());
    for (const Parameter& parameter : one.parameters) EXPECT_FALSE(parameter.help.empty()) << parameter.name;
  }
  EXPECT_EQ(SchemaOf(*FindOperation("start_task"))["required"], Json::array({"task_id"}));
  EXPECT_EQ(SchemaOf(*FindOperation("create_goal"), CommandParameters())["properties"]["by"]["type"], "string");
}

}  // namespace
}  // namespace acl::project
