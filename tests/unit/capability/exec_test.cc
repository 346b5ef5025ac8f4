#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "shared/capability/command_line.h"
#include "shared/capability/merge.h"
#include "shared/capability/process.h"
#include "shared/capability/process_tree.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Exec : public CapabilityTest {
 protected:
  void SetUp() override {
    CapabilityConfig config;
    config.exec.allowed_programs = {
        "sh", "cat", "echo", "ls", "env", "pwd", "not-installed-anywhere"};  // sh only because these tests need one
    config.exec.max_output_bytes = 1000;
    Start(config);
  }
  StepResult Shell(const std::string& script, double timeout = 30) {
    StepResult result = Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", script}}, {"timeout", timeout}});
    if (result.outcome == Outcome::kSucceeded) {
      EXPECT_TRUE(state_.Apply(PatchFiles(state_, result.files)));
    }
    return result;
  }
};

TEST(SplitCommand, SplitsLikeAShellWithoutExpanding) {
  const std::pair<std::string, std::vector<std::string>> table[] = {
      {"echo Hello, World!", {"echo", "Hello,", "World!"}},
      {"a  'b c' \"d e\"", {"a", "b c", "d e"}},
      {"a b\\ c", {"a", "b c"}},
      {"a '$HOME' $HOME *", {"a", "$HOME", "$HOME", "*"}},
      {"a ''", {"a", ""}},
      {"a \"x\\\"y\\n\"", {"a", "x\"y\\n"}},
      {"a '|' \";\"", {"a", "|", ";"}},
  };
  for (const auto& [command, words] : table) {
    auto split = SplitCommand(command);
    ASSERT_TRUE(split) << command << ": " << split.error();
    EXPECT_EQ(*split, words) << command;
  }
  for (const char* bad : {"", "  ", "a 'b", "a \"b", "a \\", "a | b", "a; b", "a && b", "a > b", "a `b`", "a $(b)", "a\nb"})
    EXPECT_FALSE(SplitCommand(bad)) << bad;
}

TEST_F(Exec, RunsAndReports) {
  Json outputs = Apply("sys.exec.run", {{"command", "echo Hello, World!"}}).outputs;
  EXPECT_EQ(outputs.dump(), R"({"stdout":"Hello, World!\n","stderr":"","exit_code":0,"success":true})");
  StepResult failed = Shell("echo oops >&2; exit 3");
  EXPECT_EQ(failed.outcome, Outcome::kSucceeded) << "an exit code is a result (K22)";
  EXPECT_EQ(failed.outputs.dump(), R"({"stdout":"","stderr":"oops\n","exit_code":3,"success":false})");
  EXPECT_EQ(Shell("kill -9 $$").outputs["exit_code"], 137);
  EXPECT_EQ(Shell("cat; echo end").outputs["stdout"], "end\n") << "nothing on stdin";
}

TEST_F(Exec, AFailingProgramIsAFailedAttemptIfAskedFor) {
  auto run = [&](const std::string& script) {
    return Call("sys.exec.run", {{"command", "sh"}, {"args", Json::array({"-c", script})}, {"check", true}});
  };
  EXPECT_EQ(run("exit 0").outcome, Outcome::kSucceeded);
  StepResult failed = run("touch made; echo out; echo why >&2; exit 3");
  EXPECT_EQ(failed.outcome, Outcome::kFailed);
  EXPECT_TRUE(failed.retryable);
  EXPECT_EQ(failed.error, "'sh' ended with exit code 3: why");
  EXPECT_THAT(failed.files, IsEmpty());
  EXPECT_EQ(run("echo only out; exit 1").error, "'sh' ended with exit code 1: only out");
  EXPECT_EQ(run("exit 1").error, "'sh' ended with exit code 1");
  EXPECT_LT(run("seq 100000 >&2; exit 1").error.size(), 2'100u);
}

// Laying out its files may take longer than it has: then it would be killed in the middle of something, and tried again.
TEST_F(Exec, AProgramWhoseTimeIsOverIsNotBegun) {
  const std::string made = work_.path + "/made";
  const StepResult late = Shell("echo x >" + made, 1e-9);
  EXPECT_EQ(late.outcome, Outcome::kTimedOut);
  EXPECT_THAT(late.error, HasSubstr("before it was begun"));
  EXPECT_NE(::access(made.c_str(), F_OK), 0);
}

TEST_F(Exec, ProgramsThatAreNotAllowedOrNotThere) {
  EXPECT_THAT(FailureOf("sys.exec.run", {{"command", "rm"}, {"args", Json::array()}}), HasSubstr("not allowed"));
  EXPECT_THAT(FailureOf("sys.exec.run", {{"command", "/bin/echo"}, {"args", Json::array()}}), HasSubstr("not allowed"));
  EXPECT_THAT(FailureOf("sys.exec.run", {{"command", "echo a; rm -rf /"}}), HasSubstr("would need a shell"));
  EXPECT_THAT(FailureOf("sys.exec.run", {{"command", "echo hi"}, {"args", Json::array()}}), HasSubstr("'echo hi' is not allowed"))
      << "with args, command is a bare name";
  EXPECT_THAT(FailureOf("sys.exec.run", {{"command", "echo hi"}, {"args", Json::array()}}), HasSubstr("the arguments go into `args`"));
  EXPECT_THAT(FailureOf("sys.exec.run", {{"command", "not-installed-anywhere"}}), HasSubstr("not installed"));
  Start();
  EXPECT_THAT(FailureOf("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "true"}}}), HasSubstr("not allowed")) << "no shell by default";
}

TEST_F(Exec, ArgumentsArriveByteForByte) {
  for (std::string hostile :
       {"$(id)", "`id`", "a;b", "a|b", "*", "~", "'", "\"", "\\", "-n", "--output=x", " ", "", "ünï ☃", "a\nb", "%s%n", "${IFS}", "&&"}) {
    StepResult result = Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "printf '[%s]' \"$1\"", "x", hostile}}});
    EXPECT_EQ(result.outputs["stdout"], "[" + hostile + "]");
  }
}

// The logical root is the attempt's folder wherever a path begins with it, and nowhere else. `+` stands for it on the right.
TEST_F(Exec, TheLogicalRootIsMappedAtPathBoundaries) {
  const std::string root = Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "printf '%s' \"${#PWD}\""}}}).outputs["stdout"];
  const std::pair<std::string, std::string> table[] = {
      {"/workspace", "+"},
      {"/workspace/x", "+/x"},
      {"--out=/workspace/x", "--out=+/x"},
      {"-I/workspace/x", "-I+/x"},
      {"a:/workspace/b:/workspace", "a:+/b:+"},
      {"open('/workspace/x')", "open('+/x')"},
      {"cd /workspace; ls", "cd +; ls"},
      {"{\"out\":\"/workspace/x\"}", "{\"out\":\"+/x\"}"},
      {"/workspace2/x", "/workspace2/x"},
      {"/workspace.txt", "/workspace.txt"},
      {"/my/workspace/x", "/my/workspace/x"},
      {"https://h.example/workspace/x", "https://h.example/workspace/x"},
      {"file:///workspace/x", "file:///workspace/x"},
      {"--x/workspace", "--x/workspace"},
      {"ab/workspace", "ab/workspace"},
      {"é/workspace", "é/workspace"},
  };
  // What the program prints is mapped back, so its length tells what it was given.
  for (const auto& [given, seen] : table) {
    const auto roots = std::count(seen.begin(), seen.end(), '+');
    const auto length = seen.size() + std::size_t(roots) * (std::stoul(root) - 1);
    StepResult result = Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "LC_ALL=C; printf '%s' \"${#1}\"", "x", given}}});
    EXPECT_EQ(result.outputs["stdout"], std::to_string(length)) << given;
  }
  EXPECT_EQ(Apply("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "echo hi > /workspace/made.txt"}}}).outcome, Outcome::kSucceeded);
  EXPECT_EQ(ContentOf("made.txt"), "hi\n");
}

TEST_F(Exec, TheEnvironmentIsCleanAndCarriesTheKeys) {
  ::setenv("ACL_TEST_SECRET", "do-not-leak", 1);
  std::string text = Call("sys.exec.run", {{"command", "env"}}).outputs["stdout"];
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) names.insert(line.substr(0, line.find('=')));
  EXPECT_THAT(names,
              ElementsAre("FENCING_SCOPE", "FENCING_TOKEN", "HOME", "IDEMPOTENCY_KEY", "LANG", "LC_ALL", "PATH", "PWD", "TMPDIR", "TZ"));
  EXPECT_THAT(text, HasSubstr("IDEMPOTENCY_KEY=key-1\n"));
  EXPECT_THAT(text, HasSubstr("FENCING_TOKEN=77\n"));
  EXPECT_THAT(text, HasSubstr("FENCING_SCOPE=run\n"));
  EXPECT_THAT(text, Not(HasSubstr("do-not-leak")));
}

TEST_F(Exec, OnlyThreeDescriptorsAndNoSignalsBlocked) {
  int leak = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  std::string fds = Shell("ls /proc/self/fd").outputs["stdout"];
  ::close(leak);
  EXPECT_EQ(fds, "0\n1\n2\n3\n") << "3 is ls's own";
  std::string blocked = Shell("grep SigBlk /proc/self/status || cat /proc/self/status").outputs["stdout"];
  EXPECT_THAT(blocked, HasSubstr("0000000000000000"));
}

TEST_F(Exec, SeesTheRunsFilesAndItsChangesComeBack) {
  Write("in/a.txt", "alpha");
  Write("in/gone.txt", "x");
  Write("same", "1234");
  Write("later", "x");
  Json outputs =
      Shell("cat in/a.txt; rm in/gone.txt; mkdir -p out/empty; printf beta > out/b.txt; printf 4321 > same; chmod 755 later; pwd").outputs;
  EXPECT_EQ(outputs["stdout"], "alpha/workspace\n") << "the real folder never shows";
  EXPECT_THAT(Paths(), ElementsAre("in/", "in/a.txt", "later", "out/", "out/b.txt", "out/empty/", "same"));
  EXPECT_EQ(ContentOf("out/b.txt"), "beta");
  EXPECT_EQ(ContentOf("same"), "4321") << "same size, other bytes";
  EXPECT_EQ((*FindFile(state_, "later"))->mode, 0755);
  EXPECT_EQ(Apply("sys.exec.run", {{"command", "cat"}, {"args", {"/workspace/out/b.txt"}}}).outputs["stdout"], "beta");
}

TEST_F(Exec, WhatDidNotChangeIsNoChange) {
  Write("a", "1");
  EXPECT_THAT(Shell("cat a; touch -r a b; rm b").files, IsEmpty());
  EXPECT_THAT(RealChanges(state_, Shell("touch a").files), IsEmpty()) << "a new time with the same bytes: relied on, not changed";
}

TEST_F(Exec, AFileMayBecomeADirectoryAndBack) {
  Write("x", "1");
  Shell("rm x; mkdir x; echo 2 > x/y");
  EXPECT_THAT(Paths(), ElementsAre("x/", "x/y"));
  Shell("rm -r x; echo 3 > x");
  EXPECT_THAT(Paths(), ElementsAre("x"));
  EXPECT_EQ(ContentOf("x"), "3\n");
}

TEST_F(Exec, LinksAndFifosAreIgnoredOrRefused) {
  Write("keep", "1");
  StepResult result = Shell("ln -s /etc/passwd link; ln -s / dirlink; mkfifo pipe; mkdir d; ln -s ../../.. d/up");
  ASSERT_EQ(result.outcome, Outcome::kSucceeded) << result.error;
  EXPECT_THAT(Paths(), ElementsAre("d/", "keep"));
  EXPECT_EQ(result.outputs["warnings"].size(), 4u) << result.outputs;
  StepResult replaced = Shell("rm keep; ln -s /etc/passwd keep");
  EXPECT_EQ(replaced.outcome, Outcome::kFailed);
  EXPECT_THAT(replaced.error, HasSubstr("a symbolic link in the place of 'keep'"));
}

TEST_F(Exec, NamesThatCannotBeStoredAreIgnoredWithAWarning) {
  StepResult result = Shell("printf x > \"$(printf 'a\\nb')\"; printf x > \"$(printf '\\377')\"; printf x > good");
  EXPECT_THAT(Paths(), ElementsAre("good"));
  EXPECT_EQ(result.outputs["warnings"].size(), 2u);
}

TEST_F(Exec, OutputIsCappedAndMadeStorable) {
  StepResult result = Shell("i=0; while [ $i -lt 3000 ]; do printf x; i=$((i+1)); done; printf 'a\\000b\\377' >&2");
  EXPECT_EQ(result.outputs["stdout"].get<std::string>().size(), 1000u);
  EXPECT_EQ(result.outputs["stdout_truncated"], true);
  EXPECT_EQ(result.outputs["stderr"], "a\uFFFDb\uFFFD");
  EXPECT_FALSE(result.outputs.contains("stderr_truncated"));
}

// The process of that id is gone, or only waits to be collected.
bool IsGone(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return true;
  return line.substr(line.rfind(')') + 2, 1) == "Z";
}

TEST_F(Exec, EverythingItStartedDiesWithIt) {
  // A child in another session and a double fork: neither is in the program's process group, both would outlive a plain kill.
  StepResult result = Shell(
      "setsid sh -c 'echo $$ > pid1; exec sleep 1000' & (setsid sh -c 'echo $$ > pid2; exec sleep 1000' &) ; "
      "while [ ! -s pid1 ] || [ ! -s pid2 ]; do :; done; echo done");
  ASSERT_EQ(result.outcome, Outcome::kSucceeded) << result.error;
  EXPECT_EQ(result.outputs["stdout"], "done\n");
  for (const char* file : {"pid1", "pid2"}) {
    std::string pid = ContentOf(file);
    pid.pop_back();
    EXPECT_TRUE(IsGone(pid)) << file;
  }
}

// Processes that have the mark among their arguments.
int Marked(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line;
    std::getline(file, line, '\n');  // one that has just ended gives nothing; an iterator of the buffer would throw
    if (line.find(mark) != std::string::npos) ++count;
  }
  return count;
}

// A program runs as the worker's user, and may do this to the process that is to end it.
TEST_F(Exec, AStoppedGuardIsKilledWithWhatItWatches) {
  const std::string mark = work_.path + "/mark";
  for (const char* script : {"kill -STOP $PPID; sleep 1000", "kill -STOP $PPID; exit 0", "kill -STOP $PPID; setsid sleep 1000 &",
                             "setsid sh -c 'sleep 1000; :' x \"$1\" & kill -STOP $PPID; sleep 1000"}) {
    const StepResult result = Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", script, "x", mark}}, {"timeout", 60}});
    EXPECT_EQ(result.outcome, Outcome::kUnknown) << script;
    EXPECT_THAT(result.error, HasSubstr("was stopped or killed")) << script;
    EXPECT_EQ(Marked(mark), 0) << script;
  }
}

// A program of hours that starts many which outlive their parents would fill the machine's table of processes.
TEST_F(Exec, OrphansAreCollectedWhileTheProgramRuns) {
  const StepResult result = Shell(
      "i=0; while [ $i -lt 50 ]; do (sh -c 'exit 0' &); i=$((i+1)); done; n=99; while [ $n -gt 5 ]; do n=0; "
      "for p in $(cat /proc/$PPID/task/$PPID/children); do n=$((n+1)); done; done; echo done",
      20);
  EXPECT_EQ(result.outputs["stdout"], "done\n") << result.error;
}

TEST_F(Exec, AKilledGuardLeavesNothingBehind) {
  AdoptOrphans();  // as a worker does
  const std::string mark = work_.path + "/mark";
  const StepResult result =
      Call("sys.exec.run", {{"command", "sh"},
                            {"args", {"-c", "(setsid sh -c 'sleep 1000; :' x \"$1\" &); kill -9 $PPID; sleep 1000", "x", mark}},
                            {"timeout", 60}});
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.error, HasSubstr("the process that watches"));
  EXPECT_EQ(Marked(mark), 0);
}

// Each link is there for a moment only, in a session of its own, and has gone on before its end.
TEST_F(Exec, WhatForksAndExitsInTurnDoesNotOutrunTheKill) {
  CapabilityConfig config;
  config.exec.allowed_programs = {"python3"};
  Start(config);
  const std::string mark = work_.path + "/mark";
  const std::string chain = "import os, signal\n" + std::string("stop = ") +
                            "%d\nif stop: os.kill(os.getppid(), signal.SIGSTOP)\n"
                            "for i in range(20000):\n  if os.fork(): os._exit(0)\n  os.setsid()\n";
  for (const bool stops_its_guard : {false, true}) {
    std::string program = chain;
    program.replace(program.find("%d"), 2, stops_its_guard ? "1" : "0");
    for (int round = 0; round < 3; ++round) {
      const StepResult result = Call("sys.exec.run", {{"command", "python3"}, {"args", {"-c", program, mark}}, {"timeout", 10}});
      EXPECT_TRUE(result.outcome == Outcome::kUnknown || result.outcome == Outcome::kSucceeded) << result.error;
      EXPECT_EQ(Marked(mark), 0) << "stops its guard: " << stops_its_guard;
    }
  }
}

TEST_F(Exec, TimeoutAndStopKillAndDropTheFiles) {
  StepResult late = Shell("echo x > left; sleep 1000", 0.2);
  EXPECT_EQ(late.outcome, Outcome::kUnknown) << "it may have had its effect: as a POST that timed out after sending";
  EXPECT_THAT(late.files, IsEmpty());
  StepCall by_step = MakeCall("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "sleep 1000"}}});
  by_step.step.timeout = milliseconds(200);
  EXPECT_EQ(runner_->Call(by_step, {}).outcome, Outcome::kUnknown);

  StopToken stop;
  std::string ready = work_.path + "/ready";  // opening it waits for the other side: the program runs
  ASSERT_EQ(::mkfifo(ready.c_str(), 0600), 0);
  std::thread stopper([&] {
    Fd opened(::open(ready.c_str(), O_RDONLY | O_CLOEXEC));
    stop.Stop();
  });
  Json args{"-c", "trap '' TERM INT HUP; echo x > \"$1\"; sleep 1000", "x", ready};
  StepResult stopped = Call("sys.exec.run", {{"command", "sh"}, {"args", args}, {"timeout", 600}}, stop);
  stopper.join();
  EXPECT_EQ(stopped.outcome, Outcome::kCancelled);
}

// A worker whose lease was taken over and that gets the run again: its old attempt still runs beside the new one.
TEST_F(Exec, AZombiesFilesAreItsOwn) {
  const std::string begun = work_.path + "/begun", end = work_.path + "/end";  // opening one waits for the other side
  ASSERT_EQ(::mkfifo(begun.c_str(), 0600) + ::mkfifo(end.c_str(), 0600), 0);
  StepResult old;
  std::thread zombie([&] {
    old = runner_->Call(
        MakeCall("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "echo zombie > left; : > \"$1\"; : < \"$2\"", "x", begun, end}}}), {});
  });
  Fd waits(::open(begun.c_str(), O_RDONLY | O_CLOEXEC));
  StepCall next = MakeCall("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "ls; echo next > mine"}}});
  next.token = Token{78};
  next.attempt_id = 2;
  const StepResult seen = runner_->Call(next, {});
  Fd(::open(end.c_str(), O_WRONLY | O_CLOEXEC));
  zombie.join();
  ASSERT_EQ(seen.outcome, Outcome::kSucceeded) << seen.error;
  EXPECT_EQ(seen.outputs["stdout"], "") << "it sees what a zombie wrote";
  ASSERT_EQ(seen.files.size(), 1u);
  EXPECT_EQ(seen.files[0].path, "mine");
}

// Programs run as the worker's user: what it keeps on disk is theirs to change, and must not reach others unseen.
TEST_F(Exec, AKeptFileThatAProgramChangedIsNotHandedOn) {
  Write("amount", "pay 10");
  const std::string kept = "f=$(ls -d \"$1\"/w-*/contents); for c in $f/*; do chmod u+w $c; printf 'pay 99' >$c; done; ls $f";
  const auto attack = [&] {
    const StepResult result = Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", kept, "x", work_.path}}});
    EXPECT_THAT(result.outputs["stdout"].get<std::string>(), Not(IsEmpty())) << "it changed nothing: the test proves nothing";
  };
  EXPECT_EQ(Shell("cat amount").outputs["stdout"], "pay 10");
  attack();
  EXPECT_EQ(Shell("cat amount").outputs["stdout"], "pay 10");
  attack();
  EXPECT_EQ(Call("io.fs.read_file", {{"path", "amount"}}).outputs["content"], "pay 10");
  const int gets = contents_.gets;
  EXPECT_EQ(Shell("cat amount").outputs["stdout"], "pay 10");
  EXPECT_EQ(contents_.gets, gets) << "the new copy is kept";
}

TEST_F(Exec, FoldersAreRemovedAndNeverShared) {
  Shell("echo x > f; mkdir locked; echo y > locked/g; chmod 0 locked");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work_.path)) {
    if (entry.path().string().find("/runs/") != std::string::npos) left.push_back(entry.path());
  }
  EXPECT_THAT(left, IsEmpty());
}

TEST_F(Exec, ATreeThatIsTooDeepFailsTheAttemptAndLeavesNothing) {
  const StepResult deep = Shell("i=0; while [ $i -lt 1500 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done");
  EXPECT_EQ(deep.outcome, Outcome::kFailed) << deep.outputs;
  EXPECT_FALSE(deep.retryable);
  EXPECT_THAT(deep.error, HasSubstr("more than 200 names"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work_.path))
    EXPECT_EQ(entry.path().string().find("/runs/"), std::string::npos) << entry.path();
  EXPECT_EQ(Shell("i=0; while [ $i -lt 200 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done").outcome, Outcome::kSucceeded);
}

TEST_F(Exec, ItsTimeIsTheStepsUnlessItHasItsOwn) {
  const auto seconds_of = [&](double own, milliseconds step) {
    Json inputs{{"command", "sh"}, {"args", {"-c", "sleep 1000"}}};
    if (own > 0) inputs["timeout"] = own;
    StepCall call = MakeCall("sys.exec.run", inputs);
    call.step.timeout = step;
    return runner_->Call(call, {});
  };
  for (const auto& [own, step] :
       {std::pair(0.0, milliseconds(200)), std::pair(600.0, milliseconds(200)), std::pair(0.2, milliseconds(600'000))})
    EXPECT_THAT(seconds_of(own, step).error, HasSubstr("killed at its timeout"));
  const CapabilityDefinition* exec = registry_.Find("sys.exec.run");
  EXPECT_EQ(exec->default_timeout, std::chrono::seconds(30));
  EXPECT_TRUE(std::none_of(exec->parameters.begin(), exec->parameters.end(), [](const FieldDefinition& field) {
    return field.name == "timeout" && field.default_value;
  })) << "a default of its own would beat the step's timeout_seconds";
}

// More programs than places: all run, never more at once, and the time of each counts from its own beginning.
TEST_F(Exec, ProgramsWaitForAPlace) {
  CapabilityConfig config;
  config.exec.allowed_programs = {"sh"};
  config.exec.at_once = 2;
  Start(config, 8);
  const std::string folder = work_.path + "/now";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  // Each program stands in the folder while it runs, sees how many do, and yields some processor time to the others.
  const std::string script =
      ": >" + folder + "/$$; ls " + folder + " | wc -l; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; rm " + folder + "/$$";
  std::vector<std::thread> threads;
  std::vector<StepResult> results(8);
  for (StepResult& result : results)
    threads.emplace_back([&] { result = Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", script}}, {"timeout", 60}}); });
  for (auto& thread : threads) thread.join();
  for (const StepResult& result : results) {
    ASSERT_EQ(result.outcome, Outcome::kSucceeded) << result.error;
    EXPECT_LE(std::stoi(result.outputs["stdout"].get<std::string>()), 2);
  }
}

TEST_F(Exec, AFileOverTheLimitFailsTheAttempt) {
  CapabilityConfig config;
  config.exec.allowed_programs = {"sh"};
  config.files.max_file_bytes = 4096;
  config.files.max_files = 5;
  Start(config);
  StepResult big = Shell("head -c 10000 /dev/zero > big; echo $?");
  EXPECT_EQ(big.outcome, Outcome::kSucceeded);
  ASSERT_TRUE(FindFile(state_, "big").ok());
  EXPECT_LE((*FindFile(state_, "big"))->size, 4096) << "the program itself is stopped at the limit";
  StepResult many = Shell("for i in 1 2 3 4 5 6 7; do echo > f$i; done");
  EXPECT_EQ(many.outcome, Outcome::kFailed);
  EXPECT_THAT(many.error, HasSubstr("more than 5 files"));
}

}  // namespace
}  // namespace acl
