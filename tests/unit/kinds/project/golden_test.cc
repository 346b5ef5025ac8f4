// The corpus of histories (golden.h): what is next, as it was when the corpus was made. Whoever changes an answer changes a line of it, and
// sees which. ACL_UPDATE_DOCS=1 makes the corpus anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/unit/kinds/project/golden.h"
#include "tests/unit/kinds/project/happenings.h"

namespace acl::project::test {
namespace {

using Said = GoldenHistory::Said;

constexpr int kRandomOnes = 200, kHappenings = 14;

Said AddTask(const char* goal, const std::string& title, int priority, Json depends_on = Json::array()) {
  return {"ann", "add_task", {{"goal_id", goal}, {"title", title}, {"priority", priority}, {"depends_on", std::move(depends_on)}}};
}
Said On(const char* by, const char* name, const char* task) { return {by, name, {{"task_id", task}}}; }

// Ties, level by level, and what breaks each.
std::vector<std::vector<Said>> Ties() {
  const Said first{"ann", "create_goal", {{"text", "one"}, {"priority", 1}}},
      equal{"ann", "create_goal", {{"text", "two"}, {"priority", 1}}}, later{"ann", "create_goal", {{"text", "three"}, {"priority", 3}}};
  std::vector<std::vector<Said>> all = {
      {},                                                                          // nothing is there
      {first},                                                                     // nothing to do
      {first, AddTask("g1", "b", 2), AddTask("g1", "a", 2)},                       // made first
      {first, later, AddTask("g2", "b", 2), AddTask("g1", "a", 2)},                // the goal's priority
      {later, first, AddTask("g1", "b", 1), AddTask("g2", "a", 2)},                // the task's goes before it
      {first, equal, AddTask("g2", "b", 2), AddTask("g1", "a", 2)},                // goals of one priority: made first
      {first, AddTask("g1", "a", 2, {}), AddTask("g1", "b", 0, {"t1"})},           // it waits for another
      {first, AddTask("g1", "a", 0), {"ann", "pause_goal", {{"goal_id", "g1"}}}},  // paused
      {first, equal, AddTask("g1", "a", 0), AddTask("g2", "b", 4), {"ann", "pause_goal", {{"goal_id", "g1"}}}},
      {first, AddTask("g1", "a", 2), AddTask("g1", "b", 2), On("ann", "start_task", "t2")},  // being done
      {first, AddTask("g1", "a", 2), AddTask("g1", "b", 2), On("bo", "start_task", "t2")},   // by another
      {first, AddTask("g1", "a", 2), AddTask("g1", "b", 2), On("bo", "start_task", "t1"), On("ann", "start_task", "t2")},
      {first, AddTask("g1", "a", 2), AddTask("g1", "b", 2), On("ann", "start_task", "t2"), On("ann", "start_task", "t1")},
  };
  // Blocked last goes first, whatever their numbers and priorities.
  for (const bool turned : {false, true}) {
    std::vector<Said> said = {first, AddTask("g1", "a", 0), AddTask("g1", "b", 4)};
    for (const char* task : {turned ? "t2" : "t1", turned ? "t1" : "t2"}) {
      said.push_back(On("ann", "start_task", task));
      said.push_back({"ann", "block_task", {{"task_id", task}, {"blocker", "no paint"}}});
    }
    all.push_back(said);
    said.push_back({"bo", "resolve_blocker", {{"task_id", "t1"}, {"blocker_id", "b1"}}});
    all.push_back(said);
  }
  // The tenth comes behind the second: numbers, not texts.
  std::vector<Said> ten = {first};
  for (int n = 1; n <= 11; ++n) ten.push_back(AddTask("g1", "page", 2));
  ten.push_back(On("ann", "start_task", "t1"));
  ten.push_back(On("ann", "complete_task", "t1"));
  all.push_back(ten);
  // A checkpoint says the step; a dependency that is opened again takes the next one out.
  std::vector<Said> reopened = {first, AddTask("g1", "a", 2), AddTask("g1", "b", 2, {"t1"}), On("ann", "start_task", "t1")};
  reopened.push_back({"ann",
                      "update_checkpoint",
                      {{"task_id", "t1"},
                       {"where_we_left_off", "Half is done."},
                       {"next_step", "Do the rest"},
                       {"needed_context_refs", {"url:https://example.com/a"}}}});
  all.push_back(reopened);
  reopened.push_back(On("ann", "complete_task", "t1"));
  all.push_back(reopened);
  reopened.push_back(On("bo", "reopen_task", "t1"));
  all.push_back(reopened);
  // A claim that ran out, three times.
  std::vector<Said> abandoned = {first, AddTask("g1", "a", 2), AddTask("g1", "b", 3)};
  for (int token = 1; token <= 3; ++token) {
    abandoned.push_back(On("bo", "start_task", "t1"));
    abandoned.push_back({"clock", "expire_claim", {{"task_id", "t1"}, {"token", token}}});
    all.push_back(abandoned);
  }
  return all;
}

void Say(ProjectDriver& project, const std::vector<Said>& said) {
  for (const Said& one : said) project.Try(one.name, one.arguments, one.by);
}

Json NextOf(const ProjectDriver& project) {
  Json next = Json::object();
  for (const char* actor : kGoldenActors) next[actor] = Essence(project.Next(actor));
  return next;
}

GoldenHistory HistoryOf(const std::vector<Said>& said) {
  ProjectDriver project;
  Say(project, said);
  return {said, NextOf(project), ToHex(project.state.Root())};
}

void MakeAnew(const std::string& path) {
  std::ofstream file(path);
  for (const std::vector<Said>& said : Ties()) file << ToLine(HistoryOf(said)) << "\n";
  for (int seed = 1; seed <= kRandomOnes; ++seed) {
    SeededRandom random(std::uint64_t(seed) * 104'729);
    ProjectDriver project;
    for (const int priority : {1, 2}) project.Try("create_goal", {{"text", "goal"}, {"priority", priority}});
    for (const char* goal : {"g1", "g2", "g1", "g2", "g2"}) project.Try("add_task", {{"goal_id", goal}, {"title", "task"}});
    for (int i = 0; i < kHappenings; ++i) {
      Happen(random, project);
      if (random.Below(4) != 0) continue;
      const Json point = {{"task_id", "t" + std::to_string(1 + random.Below(4))},
                          {"where_we_left_off", "It stands at " + std::to_string(i) + "."},
                          {"next_step", "Do part " + std::to_string(i + 1)}};
      project.Try("update_checkpoint", point, random.Below(2) == 0 ? "ann" : "bo");
    }
    std::vector<Said> said(project.said.begin() + 1, project.said.end());  // each begins with the project itself
    file << ToLine(HistoryOf(said)) << "\n";
  }
}

TEST(GoldenHistories, GiveTheNextStepThatTheyGave) {
  if (std::getenv("ACL_UPDATE_DOCS") != nullptr) MakeAnew(GoldenFile(ACL_SOURCE_DIR));
  const std::vector<GoldenHistory> all = ReadGolden(ACL_SOURCE_DIR);
  ASSERT_GE(all.size(), 200u);
  std::set<std::string> rules;
  int number = 0;
  for (const GoldenHistory& history : all) {
    ++number;
    ProjectDriver project;
    Say(project, history.said);
    EXPECT_EQ(NextOf(project), history.next) << "line " << number;
    EXPECT_EQ(ToHex(project.state.Root()), history.digest) << "line " << number;
    for (const Json& next : history.next) rules.insert(next["rule"].get<std::string>());
  }
  EXPECT_EQ(rules, (std::set<std::string>{"blocked", "doing", "propose", "todo"})) << "every rule decides somewhere";
}

}  // namespace
}  // namespace acl::project::test
