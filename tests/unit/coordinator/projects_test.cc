// The doors of projects: routes made from the table of operations, their answers and refusals.
#include <gmock/gmock.h>

#include "shared/kinds/project/operations.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Projects : public ApiFixture {
 protected:
  // A command of ann's on the project "book"; it must succeed.
  Json Do(const std::string& operation, Json body = Json::object(), const std::string& project = "book") {
    clock_.Advance(seconds(1));
    if (!body.contains("by")) body["by"] = "ann";
    const auto answer = Post("/v1/projects/" + project + "/" + operation, body);
    EXPECT_EQ(answer.status, 200) << operation << ": " << answer.text;
    return answer.body;
  }
  Json Get(const std::string& reading = "", const std::string& project = "book") {
    const auto answer = Ask("GET", "/v1/projects/" + project + reading);
    EXPECT_EQ(answer.status, 200) << reading << ": " << answer.text;
    return answer.body;
  }
  Answer Make(const std::string& name = "book") {
    auto answer = Post("/v1/projects", {{"name", name}, {"by", "ann"}});
    EXPECT_EQ(answer.status, 201) << answer.text;
    return answer;
  }
  // g1 with t1 todo, t2 doing (ann's) with a checkpoint, t3 blocked, t4 done; t5 depends on t1.
  void Fill() {
    Make();
    Do("create_goal", {{"text", "Write the book"}, {"priority", 1}});
    for (const char* title : {"Index", "Chapter one", "Cover", "Outline"}) Do("add_task", {{"goal_id", "g1"}, {"title", title}});
    Do("add_task", {{"goal_id", "g1"}, {"title", "Print"}, {"depends_on", {"t1"}}});
    for (const char* task : {"t4", "t3", "t2"}) Do("start_task", {{"task_id", task}});
    Do("complete_task", {{"task_id", "t4"}});
    Do("block_task", {{"task_id", "t3"}, {"blocker", "No artist"}});
    Do("update_checkpoint", {{"task_id", "t2"}, {"where_we_left_off", "Page 3 is done."}, {"next_step", "Write page 4"}});
  }
};

TEST_F(Projects, MadeListedShownByIdAndByName) {
  const auto made = Make();
  const std::string id = made.body["project_id"];
  EXPECT_EQ(made.Header("Location"), "/v1/projects/" + id);
  EXPECT_EQ(made.body["schema_version"], 1);
  EXPECT_EQ(made.body["event_seq"], 1);
  EXPECT_TRUE(made.body["answer"].is_object());
  Make("atlas");
  const Json listed = Ask("GET", "/v1/projects?limit=1").body;
  EXPECT_EQ(listed["schema_version"], 1);
  EXPECT_EQ(listed["projects"][0]["name"], "atlas");
  EXPECT_EQ(Ask("GET", "/v1/projects?after=" + listed["next_after"].get<std::string>()).body["projects"][0]["project_id"], id);
  EXPECT_EQ(Get("", id), Get("", "book"));
  EXPECT_EQ(Get()["name"], "book");
  EXPECT_EQ(Get()["counts"]["open"], 0);
  const auto again = Post("/v1/projects", {{"name", "book"}, {"by", "ann"}});
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.body["reason"], "EXISTS");
}

TEST_F(Projects, IsNoRun) {
  const std::string run = "/v1/workflows/" + Make().body["project_id"].get<std::string>();
  EXPECT_EQ(Ask("GET", run).status, 404);
  EXPECT_EQ(Ask("GET", run + "/events").status, 404);
  EXPECT_EQ(Post(run + "/cancel", Json::object()).status, 404);
  Do("create_goal", {{"text", "It goes on"}});
}

TEST_F(Projects, ACommandAnswersWithItsPlaceInTheJournal) {
  Make();
  EXPECT_EQ(Do("create_goal", {{"text", "Write"}})["answer"]["goal_id"], "g1");
  const Json added = Do("add_task", {{"goal_id", "g1"}, {"title", "Outline"}});
  EXPECT_EQ(added["answer"]["task_id"], "t1");
  EXPECT_EQ(added["event_seq"], 3);
  EXPECT_EQ(added["schema_version"], 1);
  EXPECT_EQ(Do("start_task", {{"task_id", "t1"}})["answer"]["claim"]["token"], 1);
}

TEST_F(Projects, ARefusalSaysWhyAndWhatInsteadForPeopleAndForPrograms) {
  Fill();
  const auto moved = Post("/v1/projects/book/complete_task", {{"task_id", "t1"}, {"by", "ann"}});
  EXPECT_EQ(moved.status, 409);
  EXPECT_EQ(moved.Header("Content-Type"), "application/problem+json");
  EXPECT_EQ(moved.code(), "invalid-transition");
  EXPECT_EQ(moved.body["reason"], "INVALID_TRANSITION");
  EXPECT_EQ(moved.body["details"]["allowed"], Json::array({"doing"}));
  EXPECT_THAT(moved.body["detail"].get<std::string>(), HasSubstr("may become doing"));
  EXPECT_GT(moved.body["event_seq"], 0) << "what was tried is in the journal";

  const auto held = Post("/v1/projects/book/pause_task", {{"task_id", "t2"}, {"by", "bob"}});
  EXPECT_EQ(held.status, 409);
  EXPECT_EQ(held.body["details"]["holder"], "ann");

  const auto gone = Post("/v1/projects/book/start_task", {{"task_id", "t99"}, {"by", "ann"}});
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.body["reason"], "NOT_FOUND");

  const auto form = Post("/v1/projects/book/update_checkpoint",
                         {{"task_id", "t2"}, {"where_we_left_off", "a. b. c. d."}, {"next_step", "x"}, {"by", "ann"}});
  EXPECT_EQ(form.status, 422);
  EXPECT_EQ(form.code(), "invalid-request");
  EXPECT_EQ(form.body["reason"], "FORM");
  EXPECT_THAT(form.body["detail"].get<std::string>(), HasSubstr("4 sentences, 3 at most"));

  const auto waits = Post("/v1/projects/book/start_task", {{"task_id", "t5"}, {"by", "ann"}});
  EXPECT_EQ(waits.body["reason"], "NOT_READY");
  EXPECT_EQ(waits.body["details"]["reasons"][0]["code"], "DEPENDENCY_OPEN");
}

TEST_F(Projects, WhatDoesNotFitIsSaidWithItsPlace) {
  Make();
  const std::tuple<Json, const char*, const char*> table[] = {
      {{{"by", "ann"}}, "/title", "'title' is missing"},
      {{{"title", "x"}, {"goal_id", "g1"}}, "/by", "'by' is missing"},
      {{{"title", "x"}, {"goal_id", 7}, {"by", "ann"}}, "/goal_id", "'goal_id' is a text"},
      {{{"title", "x"}, {"goal_id", "g1"}, {"by", "ann"}, {"priorty", 1}}, "/priorty", "did you mean 'priority'?"},
      {{{"title", "x"}, {"goal_id", "g1"}, {"by", "ann"}, {"expected_seq", -1}}, "/expected_seq", "whole number from 0"},
  };
  for (const auto& [body, pointer, text] : table) {
    const auto answer = Post("/v1/projects/book/add_task", body);
    EXPECT_EQ(answer.status, 422) << body;
    EXPECT_EQ(answer.body["errors"][0]["pointer"], pointer) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(text));
  }
  EXPECT_EQ(Ask("POST", "/v1/projects/book/add_task", "{", {{"content-type", "application/json"}}).code(), "bad-json");
  EXPECT_EQ(Get()["event_seq"], 1) << "nothing of it is in the journal";
}

TEST_F(Projects, WhoAsksIsTheNameOfTheKeyUnlessItIsSaid) {
  Make();
  const auto ask = [&](const Json& body) {
    HttpRequest request;
    request.method = "POST";
    request.path = "/v1/projects/book/create_goal";
    request.headers = {{"content-type", "application/json"}};
    request.body = body.dump();
    request.principal = "ci";
    auto match = router_.Find("POST", request.path);
    request.params = match.params;
    return match.route->handler(request);
  };
  EXPECT_EQ(ask({{"text", "one"}}).status, 200);
  EXPECT_EQ(ask({{"text", "two"}, {"by", "bob"}}).status, 200);
  const Json events = Get("/events")["events"];
  EXPECT_EQ(events[1]["payload"]["by"], "ci");
  EXPECT_EQ(events[2]["payload"]["by"], "bob");
}

TEST_F(Projects, NoIdOfOneProjectAnswersInAnother) {
  Fill();
  Make("atlas");
  for (const char* path : {"/tasks/t1", "/tasks?goal=g1", "/tree?goal=g1", "/tasks?after=t1"}) {
    EXPECT_EQ(Ask("GET", std::string("/v1/projects/atlas") + path).status, 404) << path;
    EXPECT_EQ(Ask("GET", std::string("/v1/projects/book") + path).status, 200) << path;
  }
  EXPECT_EQ(Post("/v1/projects/atlas/start_task", {{"task_id", "t1"}, {"by", "ann"}}).status, 404);
  EXPECT_EQ(Post("/v1/projects/atlas/add_task", {{"goal_id", "g1"}, {"title", "x"}, {"by", "ann"}}).status, 404);
  EXPECT_THAT(Get("/work", "atlas")["goals"], IsEmpty());
  EXPECT_EQ(Get("/next", "atlas")["rule"], "propose");
}

TEST_F(Projects, AnUnknownProjectIsNotFoundWhateverIsAsked) {
  Fill();
  for (const auto& operation : project::Operations()) {
    if (!operation.OfOneProject()) continue;
    std::string path = operation.Pattern();
    path.replace(path.find("{project}"), 9, "nobody");
    if (const auto at = path.find("{task_id}"); at != std::string::npos) path.replace(at, 9, "t1");
    Json body = {{"by", "ann"}};
    for (const auto& parameter : operation.parameters) {
      if (parameter.required) body[parameter.name] = parameter.name == "goal_id" ? "g1" : "t1";
    }
    const auto answer = operation.TakesKey() ? Post(path, body) : Ask("GET", path);
    EXPECT_EQ(answer.status, 404) << path << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("there is no project 'nobody'")) << path;
  }
  EXPECT_EQ(Ask("GET", "/v1/projects/nobody/events").status, 404);
}

TEST_F(Projects, AnExpectedSequenceThatIsPastIsRefusedWithWhatCameSince) {
  Make();
  Do("create_goal", {{"text", "Write"}, {"expected_seq", 1}});
  const auto late = Post("/v1/projects/book/create_goal", {{"text", "Write too"}, {"expected_seq", 1}, {"by", "bob"}});
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.body["reason"], "CHANGED");
  EXPECT_EQ(late.body["event_seq"], 2);
  EXPECT_EQ(late.body["details"]["head_seq"], 2);
  ASSERT_EQ(late.body["errors"].size(), 1u);
  EXPECT_EQ(late.body["errors"][0]["message"], "event 2: goal.created g1 by ann") << "what came since";
  EXPECT_EQ(Get("/goals")["goals"].size(), 1u);
}

TEST_F(Projects, ARepeatGetsTheFirstAnswerARefusalToo) {
  Make();
  const Json goal = {{"text", "Write"}, {"by", "ann"}};
  const auto first = Post("/v1/projects/book/create_goal", goal, "k1"), again = Post("/v1/projects/book/create_goal", goal, "k1");
  EXPECT_EQ(first.body, again.body);
  EXPECT_EQ(first.Header("Idempotent-Replayed"), "");
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(Get("/goals")["goals"].size(), 1u);
  const auto other = Post("/v1/projects/book/create_goal", {{"text", "Else"}, {"by", "ann"}}, "k1");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.code(), "key-reused");

  const Json start = {{"task_id", "t1"}, {"by", "ann"}};
  EXPECT_EQ(Post("/v1/projects/book/start_task", start, "k2").status, 404);
  Do("add_task", {{"goal_id", "g1"}, {"title", "Outline"}});
  const auto repeated = Post("/v1/projects/book/start_task", start, "k2");
  EXPECT_EQ(repeated.status, 404) << "what was answered then";
  EXPECT_EQ(repeated.Header("Idempotent-Replayed"), "true");

  EXPECT_EQ(Post("/v1/projects", {{"name", "atlas"}, {"by", "ann"}}, "k3").status, 201);
  const auto made = Post("/v1/projects", {{"name", "atlas"}, {"by", "ann"}}, "k3");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(Post("/v1/projects/book/create_goal", goal, "\x7f").code(), "bad-idempotency-key");
}

TEST_F(Projects, WorkIsTheWholeStateOfWhatIsUnfinished) {
  Fill();
  const Json work = Get("/work?actor=ann");
  EXPECT_EQ(work["schema_version"], 1);
  EXPECT_EQ(work["event_seq"], 13);
  EXPECT_EQ(work["state_digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(work["project"]["name"], "book");
  EXPECT_EQ(work["counts"], (Json{{"open", 4}, {"todo", 2}, {"doing", 1}, {"blocked", 1}, {"done", 1}, {"goals", 1}}));
  EXPECT_EQ(work["goals"][0]["text"], "Write the book");
  EXPECT_EQ(work["active_task"]["task_id"], "t2");
  EXPECT_EQ(work["active_task"]["checkpoint"]["next_step"], "Write page 4");
  EXPECT_EQ(work["latest_checkpoint"]["task_id"], "t2");
  EXPECT_EQ(work["blockers"][0]["text"], "No artist");
  EXPECT_EQ(work["next"]["rule"], "doing");
  EXPECT_EQ(work["next"]["next_step"], "Write page 4");
  EXPECT_EQ(work["open_tasks"], Json::array({"t1", "t2", "t3", "t5"}));
  EXPECT_EQ(work["tasks"]["done"][0]["task_id"], "t4");
  ASSERT_EQ(work["tasks"]["todo"].size(), 2u);
  EXPECT_EQ(work["tasks"]["todo"][0]["task_id"], "t1");
  EXPECT_EQ(work["tasks"]["todo"][0]["ready"], true);
  EXPECT_EQ(work["tasks"]["todo"][1]["ready"], false);
  EXPECT_EQ(work["tasks"]["todo"][1]["reasons"][0]["code"], "DEPENDENCY_OPEN");
  EXPECT_FALSE(work.contains("cut"));
  EXPECT_EQ(Get("/work?actor=bob")["next"]["task_id"], "t3") << "what ann has is passed over";
  EXPECT_FALSE(Get("/work?actor=bob").contains("active_task"));
}

TEST_F(Projects, WhatIsLeftOutOfAnAnswerIsCounted) {
  Fill();
  const Json work = Get("/work?limit=2");
  EXPECT_EQ(work["tasks"]["doing"].size() + work["tasks"]["blocked"].size() + work["tasks"]["todo"].size(), 2u);
  EXPECT_EQ(work["cut"], (Json{{"todo", 2}, {"open_tasks", 2}}));
  EXPECT_EQ(work["counts"]["open"], 4) << "of all";
  EXPECT_EQ(Get("/tree?limit=2")["cut"]["tasks"], 3);
}

TEST_F(Projects, NextSaysWhetherOthersMayTakeItAndOfWhichState) {
  Fill();
  const Json mine = Get("/next?actor=ann");
  EXPECT_EQ(mine["task_id"], "t2");
  EXPECT_EQ(mine["claimable_by_others"], false);
  EXPECT_EQ(mine["as_of_seq"], 13);
  EXPECT_EQ(mine["state_digest"], Get()["state_digest"]);
  EXPECT_EQ(mine["runners_up"][0]["decided_by"], "rule");
  Do("pause_task", {{"task_id", "t2"}});
  Do("withdraw_task", {{"task_id", "t3"}});
  const Json free = Get("/next?actor=bob");
  EXPECT_EQ(free["task_id"], "t1");
  EXPECT_EQ(free["claimable_by_others"], true);
  Do("start_task", {{"task_id", "t1"}});
  const auto late = Post("/v1/projects/book/start_task", {{"task_id", "t1"}, {"as_of", free["as_of_seq"]}, {"by", "bob"}});
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.body["reason"], "CHANGED");
  EXPECT_EQ(late.body["details"]["task"]["status"], "doing");
  EXPECT_EQ(Do("take_next", {{"by", "bob"}})["answer"]["task_id"], "t2");
}

TEST_F(Projects, ListsFilterAndPage) {
  Fill();
  Do("create_goal", {{"text", "Sell it"}, {"priority", 0}});
  Do("pause_goal", {{"goal_id", "g2"}});
  EXPECT_EQ(Get("/goals")["goals"][0]["goal_id"], "g2") << "the more urgent first";
  EXPECT_EQ(Get("/goals?status=paused")["goals"].size(), 1u);
  EXPECT_EQ(Get("/goals?limit=1")["cut"]["goals"], 1);
  const auto ids = [](const Json& page) {
    std::vector<std::string> out;
    for (const Json& one : page["tasks"]) out.push_back(one["task_id"]);
    return out;
  };
  EXPECT_THAT(ids(Get("/tasks")), ElementsAre("t1", "t2", "t3", "t4", "t5"));
  EXPECT_THAT(ids(Get("/tasks?status=todo")), ElementsAre("t1", "t5"));
  EXPECT_THAT(ids(Get("/tasks?goal=g2")), IsEmpty());
  const Json page = Get("/tasks?limit=3");
  EXPECT_EQ(page["next_after"], "t3");
  EXPECT_THAT(ids(Get("/tasks?after=t3")), ElementsAre("t4", "t5"));
  EXPECT_FALSE(Get("/tasks?limit=5").contains("next_after"));
  Do("withdraw_task", {{"task_id", "t5"}});
  EXPECT_EQ(Get("/tasks").at("tasks").size(), 4u);
  EXPECT_EQ(Get("/tasks?withdrawn=true").at("tasks").size(), 5u);
  EXPECT_EQ(Get("/tree")["goals"][1]["tasks"].size(), 4u);
}

TEST_F(Projects, ATaskIsShownWithItsCheckpointAndItsWholeReason) {
  Fill();
  Do("add_task", {{"goal_id", "g1"}, {"title", "Sell"}, {"depends_on", {"t5"}}, {"acceptance_criteria", {"one is sold"}}});
  const Json task = Get("/tasks/t6");
  EXPECT_EQ(task["acceptance_criteria"][0], "one is sold");
  EXPECT_EQ(task["goal"]["text"], "Write the book");
  EXPECT_EQ(task["ready"], false);
  EXPECT_EQ(task["reasons"][0]["because"][0]["subject"], "t1") << "through t5 to what is at the bottom of it";
  EXPECT_EQ(Get("/tasks/t2")["checkpoint"]["where_we_left_off"], "Page 3 is done.");
}

TEST_F(Projects, IsReadAsItWas) {
  Fill();
  EXPECT_EQ(Get("/tasks?at_seq=3")["tasks"].size(), 1u);
  EXPECT_EQ(Get("/work?at_seq=3")["event_seq"], 3);
  const std::string then = FormatWallTime(clock_.Wall());
  const Json before = Get("/work");
  clock_.Advance(seconds(60));
  Do("pause_task", {{"task_id", "t2"}});
  EXPECT_EQ(Get("/work?at_time=" + then), before);
  EXPECT_NE(Get("/work")["state_digest"], before["state_digest"]);
  EXPECT_EQ(Ask("GET", "/v1/projects/book/work?at_seq=999").status, 422);
  EXPECT_EQ(Ask("GET", "/v1/projects/book/work?at_seq=0").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/projects/book/work?at_time=2020-01-01T00:00:00Z").status, 422);
  EXPECT_THAT(Ask("GET", "/v1/projects/book/work?at_time=yesterday").text, HasSubstr("2026-11-27T09:00:00Z"));
  EXPECT_THAT(Ask("GET", "/v1/projects/book/work?at_seq=3&at_time=" + then).text, HasSubstr("one of them"));
}

TEST_F(Projects, AQueryThatDoesNotFitIsRefused) {
  Fill();
  for (const auto& [query, text] : {std::pair("/tasks?stauts=doing", "did you mean 'status'?"),
                                    {"/tasks?status=waiting", "todo, doing, blocked, done"},
                                    {"/work?limit=0", "from 1 to 1000"},
                                    {"/work?limit=all", "from 1 to 1000"},
                                    {"/tasks?withdrawn=1", "true or false"},
                                    {"/tasks/t1?task_id=t2", "no parameter 'task_id'"}}) {
    const auto answer = Ask("GET", std::string("/v1/projects/book") + query);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_EQ(answer.code(), "bad-parameter");
    EXPECT_THAT(answer.text, HasSubstr(text));
  }
}

// What the OpenAPI file promises of each reading is in its answer.
TEST_F(Projects, EachReadingHasTheMembersThatAreDocumented) {
  Fill();
  const Json paths = Json::parse(Ask("GET", "/openapi.json").text)["paths"];
  int looked = 0;
  for (const auto& operation : project::Operations()) {
    if (operation.TakesKey() || !operation.OfOneProject()) continue;
    std::string path = operation.Pattern().substr(std::string("/v1/projects/{project}").size());
    if (const auto at = path.find("{task_id}"); at != std::string::npos) path.replace(at, 9, "t2");
    const Json answer = Get(path), response = paths[operation.Pattern()]["get"]["responses"]["200"];
    for (const Json& member : response["content"]["application/json"]["schema"]["allOf"][1]["required"]) {
      EXPECT_TRUE(answer.contains(member.get<std::string>())) << operation.name << " " << member;
      ++looked;
    }
  }
  EXPECT_GT(looked, 20);
}

// What was done is in the journal, and its events are read as a run's are.
TEST_F(Projects, TheJournalIsOfTheProjectAlone) {
  Fill();
  Make("atlas");
  const Json page = Get("/events");
  EXPECT_EQ(page["head_seq"], Get()["event_seq"]);
  ASSERT_EQ(page["events"].size(), page["head_seq"].get<std::size_t>());
  EXPECT_EQ(page["events"][0]["event_type"], "project.created");
  EXPECT_EQ(Get("/events", "atlas")["events"].size(), 1u);
  EXPECT_EQ(Get("/events?after_seq=3&limit=2")["events"][0]["event_seq"], 4);
  EXPECT_EQ(Post("/v1/projects/book/complete_task", {{"task_id", "t1"}, {"by", "bob"}}).status, 409);
  EXPECT_EQ(Get("/events")["events"].back()["event_type"], "command.refused");
  EXPECT_EQ(Ask("GET", "/v1/projects/book/events?limit=0").status, 400);
}

// A desk out of reach, or of a project that does not verify.
class FailingDesk final : public ProjectDesk {
 public:
  explicit FailingDesk(ProjectDesk& names) : names_(names) {}

  Error error{Code::kInternal, ""};

  Result<std::vector<Listed>> List(const std::string&, int) override { return error; }
  Result<Listed> Find(const std::string& id_or_name) override { return names_.Find(id_or_name); }
  Result<Done> Execute(const ProjectId&, const Asked&) override { return error; }
  Result<Done> Create(const Asked&) override { return error; }
  Result<std::shared_ptr<const ProjectView>> Read(const ProjectId&) override { return error; }
  Result<std::shared_ptr<const ProjectView>> ReadAt(const ProjectId&, std::optional<std::int64_t>, std::optional<WallTime>) override {
    return error;
  }

 private:
  ProjectDesk& names_;
};

TEST_F(Projects, WhatIsLostIsSaid) {
  Make();
  FailingDesk desk(projects_);
  api_->projects = &desk;
  router_ = Router();
  AddProjectRoutes(router_, *api_);
  desk.error = {Code::kCorrupt, "the project is quarantined: event 7 does not verify; airun verify shows it"};
  for (const auto& answer : {Ask("GET", "/v1/projects/book/next"), Post("/v1/projects/book/take_next", {{"by", "ann"}})}) {
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(answer.code(), "quarantined");
    EXPECT_THAT(answer.text, HasSubstr("airun verify"));
  }
  desk.error = {Code::kUnavailable, "no database"};
  EXPECT_EQ(Post("/v1/projects/book/take_next", {{"by", "ann"}}).status, 503);
  EXPECT_EQ(Ask("GET", "/v1/projects").status, 503);
}

}  // namespace
}  // namespace acl::coordinator
