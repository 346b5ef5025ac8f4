// airun's words on projects against the API itself, over projects in memory.
#include <gmock/gmock.h>

#include <fstream>

#include "shared/kinds/project/operations.h"
#include "tests/unit/cli/fake_transport.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::cli::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class CliProjects : public coordinator::ApiFixture {
 protected:
  class Direct final : public Transport {
   public:
    explicit Direct(CliProjects* api) : api_(api) {}
    Result<ApiReply> Send(const ApiRequest& request) override {
      HttpHeaders headers;
      for (const auto& [name, value] : request.headers) {
        std::string lower = name;
        for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
        headers.emplace_back(lower, value);
      }
      api_->asked.push_back(request.method + " " + request.path);
      const auto answer = api_->Ask(request.method, request.path, request.body, headers);
      return ApiReply{answer.status, {}, answer.text};
    }
    Result<ApiReply> Stream(const ApiRequest& request, const std::function<bool(std::string_view)>&) override { return Send(request); }

   private:
    CliProjects* api_;
  };

  Outcome Run(const std::vector<std::string>& words) {
    clock_.Advance(seconds(1));
    std::ostringstream out, err;
    Environment given{out,
                      err,
                      false,
                      false,
                      [this](const std::string& name) { return environment.contains(name) ? environment[name] : std::string(); },
                      [this](const std::string&) { return std::make_unique<Direct>(this); },
                      [](std::chrono::milliseconds) {},
                      "/nowhere/airun"};
    Outcome outcome;
    outcome.code = RunCli(words, std::move(given));
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
  }
  // It must succeed.
  std::string Do(const std::vector<std::string>& words) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, kExitOk) << testing::PrintToString(words) << outcome.err;
    return outcome.out;
  }
  Json Read(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "json"});
    return Json::parse(Do(words), nullptr, false);
  }
  // A goal with tasks: t1 being done by ann with a checkpoint, t2 blocked, t3 waits for t1, t4 done.
  void Fill() {
    Do({"project", "create", "book"});
    Do({"goal", "add", "Write the book", "--priority", "1"});
    Do({"task", "add", "Chapter one", "--goal", "g1", "--criterion", "ten pages", "--criterion", "no typos"});
    Do({"task", "add", "Cover", "--goal", "g1"});
    Do({"task", "add", "Print", "--goal", "g1", "--depends-on", "t1", "--priority", "0"});
    Do({"task", "add", "Outline", "--goal", "g1", "--evidence", "person"});
    for (const char* task : {"t4", "t2", "t1"}) Do({"task", "start", task});
    Do({"task", "complete", "t4", "--evidence", "person:it reads well"});
    Do({"task", "block", "t2", "No artist"});
    Do({"checkpoint", "t1", "--where", "Page 3 is done.", "--next", "Write page 4", "--ref", "url:https://example.com/notes", "--tried",
        "Dictating: too slow", "--pending", "the editor's word"});
  }

  std::map<std::string, std::string> environment{{"AIRUN_PROJECT", "book"}, {"AIRUN_ACTOR", "ann"}};
  std::vector<std::string> asked;  // "GET /v1/projects"
};

TEST_F(CliProjects, FromNothingToANextStep) {
  EXPECT_EQ(Do({"project", "create", "book"}), "book\n");
  EXPECT_EQ(Do({"goal", "add", "Write the book"}), "g1\n");
  EXPECT_EQ(Do({"task", "add", "Chapter one", "--goal", "g1"}), "t1\n");
  const Outcome started = Run({"task", "start", "t1"});
  EXPECT_THAT(started.err, HasSubstr("started t1; claim 1 of ann until 2026-"));
  EXPECT_THAT(Run({"checkpoint", "t1", "--where", "Page 3 is done.", "--next", "Write page 4"}).err,
              HasSubstr("wrote the checkpoint of t1"));
  const std::string next = Do({"next"});
  for (const char* text : {"t1          Chapter one", "next step   Write page 4", "it is being done", "1 open"})
    EXPECT_THAT(next, HasSubstr(text));
}

TEST_F(CliProjects, WorkIsOneScreen) {
  Fill();
  const std::string work = Do({"work"});
  for (const char* text : {"book   3 open: 1 doing, 1 blocked, 1 todo; 1 done",
                           "BEING DONE",
                           "t1          Chapter one",
                           "goal        Write the book",
                           "held        claim 1 of ann until 2026-",
                           "left        Page 3 is done.",
                           "next step   Write page 4",
                           "https://example.com/notes",
                           "tried       Dictating: too slow",
                           "pending     the editor's word",
                           "IN THE WAY",
                           "t2          b1: No artist (since ",
                           "NEXT",
                           "why         it is being done",
                           "after it    t2: the first is being done",
                           "OPEN TASKS",
                           "waits for t1",
                           "GOALS",
                           "g1          Write the book   active, 3 open",
                           "DONE LAST",
                           "t4          Outline"})
    EXPECT_THAT(work, HasSubstr(text));
  EXPECT_LT(std::count(work.begin(), work.end(), '\n'), 45);
  const std::string others = Do({"work", "--as", "bob"});
  EXPECT_THAT(others, Not(HasSubstr("BEING DONE"))) << "what ann has is not bob's";
  EXPECT_THAT(others, HasSubstr("LAST LEFT"));
  EXPECT_THAT(others, HasSubstr("Resolve b1: No artist"));
}

TEST_F(CliProjects, NextSaysWhyAndWhyNotTheOthers) {
  Fill();
  const std::string blocked = Do({"next", "--as", "bob"});
  for (const char* text : {"t2          Cover", "Resolve b1: No artist", "it was blocked last", "blocked by  b1: No artist"})
    EXPECT_THAT(blocked, HasSubstr(text));
  const std::string way_out = Run({"next", "--as", "bob"}).err;
  EXPECT_THAT(way_out, HasSubstr("when it is gone: airun task resolve t2 b1\nto go on all the same: airun task start t2 --resolved WHY"));
  Do({"task", "resolve", "t2", "b1"});
  EXPECT_THAT(Do({"next", "--as", "bob"}), HasSubstr("each of its blockers is resolved"));
  Do({"task", "withdraw", "t2"});
  const std::string nothing = Do({"next", "--as", "bob"});
  for (const char* text :
       {"Nothing can be worked on now", "t3 waits:", "- it depends on t1 (Chapter one), which is doing", "    - ann has it since"})
    EXPECT_THAT(nothing, HasSubstr(text));
  Do({"task", "complete", "t1"});
  EXPECT_THAT(Run({"next"}).err, HasSubstr("airun next --take"));
  EXPECT_THAT(Do({"next", "--take", "--claim-seconds", "60"}), HasSubstr("held        claim 1 of ann"));
  EXPECT_EQ(Read({"task", "show", "t3"})["status"], "doing");
  EXPECT_EQ(Run({"next", "--take", "--at", "3"}).code, kExitUsage) << "the past cannot be taken";
}

TEST_F(CliProjects, NextSaysOfWhatIsNeededWhetherItIsStillThere) {
  Fill();
  Do({"checkpoint", "t1", "--where", "Page 3 is done.", "--next", "Write page 4", "--ref", "task:t2", "--ref", "task:t77"});
  const std::string next = Do({"next"});
  EXPECT_THAT(next, HasSubstr("needed      task:t2   ok"));
  EXPECT_THAT(next, HasSubstr("            task:t77   gone"));
}

TEST_F(CliProjects, ListsTreeAndShow) {
  Fill();
  Do({"task", "edit", "t3", "--depends-on", "t1", "--depends-on", "t2"});
  EXPECT_THAT(Do({"task", "list"}), HasSubstr("waits for t1, t2"));
  EXPECT_THAT(Do({"task", "list", "--status", "blocked"}), Not(HasSubstr("Print")));
  EXPECT_THAT(Do({"task", "tree"}), HasSubstr("g1  Write the book  (active)\n  t1    doing   Chapter one  (ann)\n"));
  const std::string shown = Do({"task", "show", "t3"});
  for (const char* text : {"t3          Print", "depends on  t1\n            t2",
                           "it cannot be worked on now:\n  - it depends on t1 (Chapter one), which is doing"})
    EXPECT_THAT(shown, HasSubstr(text));
  EXPECT_THAT(Do({"task", "show", "t1"}), HasSubstr("done when   ten pages\n            no typos\n"));
  EXPECT_THAT(Do({"goal", "list"}), HasSubstr("Write the book"));
  EXPECT_THAT(Do({"project", "list"}), HasSubstr("book"));
  EXPECT_THAT(Do({"project", "show"}), HasSubstr("digest"));
  EXPECT_EQ(Do({"project", "show", "book"}), Do({"project", "show"}));
  EXPECT_THAT(Run({"project", "show", "atlas"}).err, HasSubstr("there is no project 'atlas'"));
}

TEST_F(CliProjects, ALongListIsReadPageByPageAsOfOneEvent) {
  Fill();
  for (int i = 0; i < 201; ++i) Do({"task", "add", "more", "--goal", "g1"});
  asked.clear();
  const Json all = Read({"task", "list"});
  EXPECT_EQ(all["tasks"].size(), 205u);
  EXPECT_EQ(all["schema_version"], 1);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_THAT(asked[1], HasSubstr("at_seq=" + all["event_seq"].dump()));
  EXPECT_EQ(Read({"task", "list", "--limit", "3"})["tasks"].size(), 3u);
  EXPECT_THAT(Do({"work"}), HasSubstr("and 191 more: airun task list"));
  EXPECT_THAT(Run({"work"}).err, HasSubstr("not shown: 4 of todo, 4 of open_tasks; airun work --limit N"));
}

TEST_F(CliProjects, EveryChangeHasItsWords) {
  Fill();
  const std::pair<std::vector<std::string>, const char*> table[] = {
      {{"task", "resolve", "t2", "b1", "--reason", "found one"}, "resolved a blocker of t2"},
      {{"task", "unblock", "t2"}, "unblocked t2"},
      {{"task", "edit", "t3", "--depends-on", "", "--title", "Print it"}, "changed t3"},
      {{"task", "start", "t3"}, "started t3"},
      {{"task", "claim", "t3", "--claim-seconds", "7200", "--token", "1"}, "renewed the claim on t3; claim 1 of ann until"},
      {{"task", "block", "t3", "No paper"}, "blocked t3: b1"},
      {{"task", "start", "t3", "--resolved", "bought some"}, "started t3"},
      {{"task", "pause", "t3", "--reason", "lunch"}, "paused t3"},
      {{"task", "reopen", "t4"}, "reopened t4"},
      {{"task", "complete", "t4", "--evidence", R"({"kind":"person","by":"bob","said":"fine"})"}, "completed t4"},
      {{"goal", "edit", "g1", "--text", "Write it"}, "changed g1"},
      {{"goal", "pause", "g1", "--reason", "summer"}, "paused g1"},
      {{"goal", "resume", "g1"}, "resumed g1"},
      {{"goal", "done", "g1", "--force", "--reason", "good enough"}, "finished g1"},
      {{"task", "withdraw", "t2"}, "withdrew t2"},
  };
  for (const auto& [words, says] : table) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, kExitOk) << testing::PrintToString(words) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says));
  }
  Do({"goal", "add", "Another"});
  EXPECT_THAT(Run({"goal", "withdraw", "g2"}).err, HasSubstr("withdrew g2"));
  EXPECT_EQ(Read({"task", "show", "t3"}).value("depends_on", Json::array()).size(), 0u);
}

TEST_F(CliProjects, ExitCodesAreThoseOfTheOtherCommands) {
  Fill();
  const std::tuple<std::vector<std::string>, int, const char*> table[] = {
      {{"task", "pause", "t1", "--as", "bob"}, kExitConflict, "ann has task t1 since"},
      {{"task", "complete", "t2"}, kExitConflict, "from there it may become doing or todo"},
      {{"task", "start", "t9"}, kExitNotFound, "there is no task \"t9\" in this project"},
      {{"task", "show", "t9"}, kExitNotFound, "there is no task 't9' in this project"},
      {{"task", "start", "t3"}, kExitConflict, "it depends on t1 (Chapter one), which is doing"},
      {{"work", "--project", "atlas"}, kExitNotFound, "there is no project 'atlas'"},
      {{"checkpoint", "t1", "--where", "x", "--next", "one; two"}, kExitUsage, "next_step: says two actions"},
      {{"task", "add", "x"}, kExitUsage, "--goal is required"},
      {{"task", "add", "x", "--goal", "g1", "--priority", "9"}, kExitUsage, "--priority: takes a whole number from 0 to 4, not '9'"},
      {{"task", "add", "x", "--goal", "g1", "--evidence", "hope"}, kExitUsage, "hope not in"},
      {{"task", "complete", "t1", "--evidence", "hope"}, kExitUsage, "--evidence: takes person:WORDS, artifact:FILE, run:ID or JSON"},
      {{"task", "complete", "t1", "--evidence", "artifact:/nowhere/at-all"}, kExitUsage, "/nowhere/at-all"},
      {{"task", "complete", "t1", "--evidence", "run:" + kId}, kExitNotFound, "there is no workflow run"},
      {{"work", "--at", "999"}, kExitUsage, "event 999 is not there"},
      {{"work", "--at", "yesterday"}, kExitUsage, "at_time is a time"},
      {{"task", "lits"}, kExitUsage, "airun task has no command 'lits'; did you mean 'list'?"},
      {{"goal", "add", "x", "--expected-seq", "1"}, kExitConflict, "not at 1"},
  };
  for (const auto& [words, code, says] : table) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, code) << testing::PrintToString(words) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(CliProjects, WhoIsNamedAndWhereOrItIsSaidHow) {
  Fill();
  environment = {{"USER", "root"}};
  EXPECT_THAT(Run({"work"}).err, HasSubstr("no project was named: --project NAME, or AIRUN_PROJECT=NAME"));
  EXPECT_EQ(Run({"goal", "add", "x"}).code, kExitUsage);
  EXPECT_EQ(Run({"task", "start", "t2", "--resolved", "so", "--project", "book"}).code, kExitOk);
  EXPECT_THAT(Do({"task", "show", "t2", "--project", "book"}), HasSubstr("claim 2 of root")) << "USER, if nothing else is said";
  environment = {{"AIRUN_PROJECT", "book"}};
  EXPECT_THAT(Run({"goal", "add", "x"}).err, HasSubstr("nobody was named who asks: --as NAME, or AIRUN_ACTOR=NAME"));
  EXPECT_THAT(Do({"next"}), HasSubstr("t2")) << "nobody in particular may ask";
}

TEST_F(CliProjects, TheSameKeyDoesItOnce) {
  Fill();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Do({"goal", "add", "Sell it", "--idempotency-key", "k"}), "g2\n");
  EXPECT_EQ(Read({"goal", "list"})["goals"].size(), 2u);
  EXPECT_EQ(Run({"goal", "add", "Give it away", "--idempotency-key", "k"}).code, kExitConflict);
}

TEST_F(CliProjects, AsItWas) {
  Fill();
  EXPECT_EQ(Read({"task", "list", "--at", "4"})["tasks"].size(), 2u);
  const std::string then = FormatWallTime(clock_.Wall());
  clock_.Advance(seconds(5));
  const Json before = Read({"work"});
  Do({"task", "pause", "t1"});
  EXPECT_EQ(Read({"work", "--at", then}), before);
}

TEST_F(CliProjects, EveryReadingAndChangeIsJsonWithItsSchemaIfAsked) {
  Fill();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"project", "list"},
                                                                                     {"project", "show"},
                                                                                     {"goal", "list"},
                                                                                     {"task", "list"},
                                                                                     {"task", "tree"},
                                                                                     {"task", "show", "t1"},
                                                                                     {"work"},
                                                                                     {"next"},
                                                                                     {"doctor", "tasks"},
                                                                                     {"goal", "add", "x"},
                                                                                     {"task", "pause", "t1"},
                                                                                     {"next", "--take"},
                                                                                     {"project", "create", "atlas"}}) {
    const Json answer = Read(words);
    ASSERT_TRUE(answer.is_object()) << testing::PrintToString(words);
    EXPECT_EQ(answer["schema_version"], 1) << testing::PrintToString(words);
    EXPECT_EQ(answer.contains("event_seq"), words.front() != "project" || words.back() != "list") << testing::PrintToString(words);
  }
}

TEST_F(CliProjects, DoctorLooksAtTasksAndSaysTheCommand) {
  Fill();
  EXPECT_THAT(Do({"doctor", "tasks"}), HasSubstr("nothing is odd"));
  EXPECT_EQ(asked.back(), "GET /v1/projects/book/doctor") << "and not at the rest of the house";
  Do({"task", "resolve", "t2", "b1"});
  const Outcome odd = Run({"doctor", "tasks"});
  EXPECT_EQ(odd.code, kExitFailure);
  EXPECT_THAT(odd.out, HasSubstr("warning  BLOCKED_WITHOUT_BLOCKER: task t2"));
  EXPECT_THAT(odd.out, HasSubstr("fix: airun task unblock t2"));
}

TEST_F(CliProjects, AFileIsEvidenceByItsHash) {
  Fill();
  Folder folder;
  const std::string file = folder.Write("page.txt", "abc");
  Do({"task", "complete", "t1", "--evidence", "artifact:" + file});
  EXPECT_EQ(Read({"task", "show", "t1"})["status"], "done");
}

TEST_F(CliProjects, TextOfOthersNeverReachesTheTerminalRaw) {
  Fill();
  Do({"goal", "add", "turn \u202e round"});
  EXPECT_THAT(Do({"work"}), Not(HasSubstr("\u202e")));
  EXPECT_THAT(Do({"goal", "list"}), HasSubstr("\\u202e"));
}

// Each operation that has words is a command with its parameters, and each has its help.
TEST(CliProjectWords, AreThoseOfTheTable) {
  FakeServer server;
  for (const auto& operation : project::Operations()) {
    std::vector<std::string> words;
    std::istringstream split(operation.words);
    for (std::string word; split >> word;)
      if (!word.starts_with("--")) words.push_back(word);
    words.emplace_back("--help");
    const Outcome help = Airun(&server, words);
    EXPECT_EQ(help.code, kExitOk) << operation.words << help.err;
    EXPECT_THAT(help.out, HasSubstr(operation.summary.substr(0, 30)));
    for (const auto& parameter : operation.parameters) {
      if (parameter.flag.starts_with("--")) {
        EXPECT_THAT(help.out, HasSubstr(parameter.flag)) << operation.words;
      }
    }
  }
}

}  // namespace
}  // namespace acl::cli::test
