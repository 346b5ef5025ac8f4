// Each row of the table of endings (shared/capability/endings.h) that a capability decides, brought about.

#include "shared/capability/endings.h"

#include <sys/stat.h>

#include <fstream>

#include <sys/resource.h>
#include <unistd.h>
#include "tests/support/small_server.h"

#include "shared/capability/process_tree.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

class EndingsTable : public CapabilityTest {
 protected:
  using Rows = std::map<std::pair<std::string, std::string>, std::function<StepResult()>>;

  void SetUp() override { Begin(0); }
  void Begin(int at_once) {
    CapabilityConfig config;
    config.http.allow_private_networks = true;
    config.http.max_body_bytes = 10'000;
    config.exec.allowed_programs = {"sh", "no-program", "not-installed-anywhere"};
    config.exec.program_folders.insert(config.exec.program_folders.begin(), programs_.path);
    config.exec.at_once = at_once;
    config.files.max_files = 3;
    Start(config);
  }

  StepResult Shell(const std::string& script, const Json& more = Json::object(), StopToken stop = {}) {
    Json inputs{{"command", "sh"}, {"args", {"-c", script}}};
    inputs.update(more);
    return Call("sys.exec.run", inputs, std::move(stop));
  }
  // A program that is stopped once it runs.
  StepResult StoppedProgram() {
    const std::string ready = work_.path + "/ready";
    EXPECT_EQ(::mkfifo(ready.c_str(), 0600), 0);
    StopToken stop;
    std::thread stopper([&] {
      std::ifstream(ready).get();  // opening it waits for the other side
      stop.Stop();
    });
    StepResult result =
        Call("sys.exec.run", {{"command", "sh"}, {"args", {"-c", "echo >\"$1\"; sleep 1000", "sh", ready}}, {"timeout", 600}}, stop);
    stopper.join();
    return result;
  }
  // With one place taken by another program.
  StepResult StoppedInTheQueue() {
    Begin(1);
    const std::string ready = work_.path + "/running", go = work_.path + "/go";
    EXPECT_EQ(::mkfifo(ready.c_str(), 0600), 0);
    EXPECT_EQ(::mkfifo(go.c_str(), 0600), 0);
    std::thread first([&] { Shell("echo >" + ready + "; read x <" + go); });
    std::ifstream(ready).get();
    StopToken stop;
    std::thread stopper([&] {
      while (!stop.waits()) std::this_thread::yield();
      stop.Stop();
    });
    StepResult result = Shell("echo never", Json::object(), stop);
    stopper.join();
    std::ofstream(go) << "x\n";
    first.join();
    return result;
  }

  StepResult To(const std::string& capability, const SmallServer::Script& script, Json more = Json::object(), StopToken stop = {}) {
    SmallServer server(script);
    more["url"] = server.Url();
    return Call(capability, more, std::move(stop));
  }
  StepResult Status(const std::string& capability, const std::string& status, std::size_t bytes = 0) {
    return To(capability, [&](const std::string&) { return SmallServer::Answer(status, std::string(bytes, 'x')); });
  }
  // The server keeps the request and says nothing until the call has ended.
  StepResult Unanswered(const std::string& capability, const Json& more, bool stopped) {
    std::atomic<bool> release{false};
    StopToken stop;
    SmallServer server([&](const std::string&) -> std::optional<std::string> {
      if (stopped) stop.Stop();
      release.wait(false);
      return std::nullopt;
    });
    Json inputs = more;
    inputs["url"] = server.Url();
    StepResult result = Call(capability, inputs, stop);
    release = true;
    release.notify_all();
    return result;
  }
  StepResult Refused(const std::string& capability) {
    const int port = SmallServer([](const std::string&) { return std::nullopt; }).port();
    return Call(capability, {{"url", "http://127.0.0.1:" + std::to_string(port) + "/"}});
  }

  // As after `ulimit -n` with a small number.
  StepResult WithoutDescriptors() {
    rlimit before{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    Fd next(::dup(0));
    rlimit few = before;
    few.rlim_cur = rlim_t(next.get()) + 4;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    StepResult result = Shell("exit 0");
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_NE(result.short_of.find("Too many open files"), std::string::npos) << result.error;
    return result;
  }

  Rows Programs() {
    const std::string what = "sys.exec.run";
    std::ofstream(programs_.path + "/no-program") << "neither a binary nor a script\n";
    ::chmod((programs_.path + "/no-program").c_str(), 0755);
    return {
        {{what, "the program is not on the worker's list or not installed, or a parameter is wrong"},
         [this] {
           return Call("sys.exec.run", {{"command", "not-installed-anywhere"}});
         }},
        {{what, "the program cannot be started"},
         [this] {
           return Call("sys.exec.run", {{"command", "no-program"}});
         }},
        {{what, "not begun: the worker is short of disk, descriptors, processes or memory"}, [this] { return WithoutDescriptors(); }},
        {{what, "its time is over before the program is begun"},
         [this] {
           return Shell("exit 0", {{"timeout", 1e-9}});
         }},
        {{what, "stopped while it waits for its turn"}, [this] { return StoppedInTheQueue(); }},
        {{what, "exit code 0"}, [this] { return Shell("exit 0"); }},
        {{what, "any other exit code"}, [this] { return Shell("exit 3"); }},
        {{what, "ended by a signal that the worker did not send (exit code 128 + n)"}, [this] { return Shell("kill -KILL $$"); }},
        {{what, "any other exit code, or such a signal, with `check: true`"},
         [this] {
           return Shell("kill -KILL $$", {{"check", true}});
         }},
        {{what, "killed at its timeout"},
         [this] {
           return Shell("sleep 1000", {{"timeout", 0.2}});
         }},
        {{what, "stopped while the program runs"}, [this] { return StoppedProgram(); }},
        {{what, "the process that watches over the program is stopped or killed"},
         [this] {
           AdoptOrphans();  // as a worker does: else the sleep would stay
           return Shell("kill -KILL $PPID; sleep 1000");
         }},
        {{what, "ended, and its files break a limit of the run"}, [this] { return Shell("touch a b c d e"); }},
        {{what, "ended, and its files cannot be stored (store away, disk full)"},
         [this] {
           contents_.fail_put = true;
           StepResult result = Shell("echo new >a");
           contents_.fail_put = false;
           return result;
         }},
    };
  }

  Rows Posts() {
    const std::string what = "net.http.post";
    return {
        {{what, "a parameter is wrong, or the address is not allowed"},
         [this] {
           return Call("net.http.post", {{"url", "ftp://x"}});
         }},
        {{what, "connection refused, or no such host"}, [this] { return Refused("net.http.post"); }},
        {{what, "stopped before anything was sent"},
         [this] {
           StopToken stop;
           stop.Stop();
           return To(
               "net.http.post", [](const std::string&) { return std::nullopt; }, Json::object(), stop);
         }},
        {{what, "any status, 5xx too, unless `expect_status` or `retry_on` says otherwise"},
         [this] { return Status("net.http.post", "503 Service Unavailable"); }},
        {{what, "connection closed or reset after sending"},
         [this] { return To("net.http.post", [](const std::string&) { return std::nullopt; }); }},
        {{what, "its time is over after sending"},
         [this] {
           return Unanswered("net.http.post", {{"timeout", 0.5}}, false);
         }},
        {{what, "stopped after sending"}, [this] { return Unanswered("net.http.post", Json::object(), true); }},
        {{what, "the answer is larger than allowed"}, [this] { return Status("net.http.post", "200 OK", 20'000); }},
    };
  }

  Rows Reads(const std::string& id) {
    const std::string what = "net.http.get, net.http.put";
    return {
        {{what, "a parameter is wrong, or the address is not allowed"},
         [this, id] {
           return Call(id, {{"url", "ftp://x"}});
         }},
        {{what, "connection refused, closed or reset"}, [this, id] { return Refused(id); }},
        {{what, "its time is over"},
         [this, id] {
           return Unanswered(id, {{"timeout", 0.5}}, false);
         }},
        {{what, "any status, 5xx too, unless `expect_status` or `retry_on` says otherwise"},
         [this, id] { return Status(id, "503 Service Unavailable"); }},
        {{what, "the answer is larger than allowed"}, [this, id] { return Status(id, "200 OK", 20'000); }},
    };
  }

  Rows Others() {
    const std::string what = "any other";
    return {
        {{what, "bad input, a missing file, a limit"},
         [this] {
           return Call("io.fs.read_file", {{"path", "nope"}});
         }},
        {{what, "the store of contents is away"},
         [this] {
           contents_.fail_put = true;
           StepResult result = Call("io.fs.write_file", {{"path", "a"}, {"content", "x"}});
           contents_.fail_put = false;
           return result;
         }},
        {{what, "its time is over"},
         [this] {
           StepCall call = MakeCall("test.sleep", {{"seconds", 1000}});
           call.step.timeout = milliseconds(50);
           return runner_->Call(call, {});
         }},
    };
  }

  // What follows if the coordinator answers that. `stop`: once it was asked.
  StepResult Asked(const std::string& status, const Json& body, std::optional<StopToken> stop = std::nullopt, int timeout_ms = 0) {
    SmallServer server([&](const std::string&) {
      if (stop) stop->Stop();
      return SmallServer::Answer(status, body.dump());
    });
    CapabilityConfig config;
    config.ask.urls = {server.Url("")};
    Start(config);
    StepCall call = MakeCall("llm.ask", {{"question", "What is next?"}});
    call.step.timeout = milliseconds(timeout_ms);
    return runner_->Call(call, stop.value_or(StopToken()));
  }
  Rows Asks() {
    const auto row = [](const char* how) { return std::pair<std::string, std::string>("llm.ask", how); };
    const Json answered = {
        {"text", "The report."}, {"withheld", false}, {"exchange", {{"exchange_id", "e"}, {"session_id", "s"}, {"model", "m"}}}};
    Json withheld = answered;
    withheld["withheld"] = true;
    const Json under_way = {{"code", "under-way"}, {"detail", "no outcome yet"}};
    return {
        {row("the worker has no `aegis_urls`"),
         [this] {
           return Call("llm.ask", {{"question", "What is next?"}});
         }},
        {row("no coordinator is reached for five seconds"),
         [this] {
           CapabilityConfig config;
           config.ask.urls = {"http://127.0.0.1:1"};
           Start(config);
           return Call("llm.ask", {{"question", "What is next?"}});
         }},
        {row("answered, and on record"), [=, this] { return Asked("200 OK", answered); }},
        {row("the answer is withheld"), [=, this] { return Asked("200 OK", withheld); }},
        {row("the model surely did not run: `rate-limited`, `overloaded`, `not-connected`"),
         [this] {
           return Asked("502 Bad Gateway", {{"code", "rate-limited"}});
         }},
        {row("a budget, the kernel or the provider says no"),
         [this] {
           return Asked("409 Conflict", {{"code", "budget"}});
         }},
        {row("nobody knows what became of the call: `uncertain`, `not-recorded`"),
         [this] {
           return Asked("409 Conflict", {{"code", "uncertain"}});
         }},
        {row("its time is over while the coordinator asks"), [=, this] { return Asked("409 Conflict", under_way, std::nullopt, 50); }},
        {row("stopped while the coordinator asks"), [=, this] { return Asked("409 Conflict", under_way, StopToken()); }},
    };
  }

  StepResult OfProject(const std::string& status, const Json& body, int timeout_ms = 20'000) {
    SmallServer server([&](const std::string&) { return SmallServer::Answer(status, body.dump()); });
    CapabilityConfig config;
    config.ask.urls = {server.Url("")};
    Start(config);
    StepCall call = MakeCall("project.take", Json::object());
    call.step.timeout = milliseconds(timeout_ms);
    return runner_->Call(call, StopToken());
  }
  Rows Projects() {
    const auto row = [](const char* how) { return std::pair<std::string, std::string>("project.*", how); };
    return {{row("the worker has no `aegis_urls`"), [this] { return Call("project.next", Json::object()); }},
            {row("no coordinator is reached for five seconds"),
             [this] {
               CapabilityConfig config;
               config.ask.urls = {"http://127.0.0.1:1"};
               Start(config);
               return Call("project.next", Json::object());
             }},
            {row("the project says yes, or said so under this key before"),
             [this] {
               return OfProject("200 OK", {{"event_seq", 7}, {"answer", {{"task_id", "t1"}}}});
             }},
            {row("the project says no, and why"),
             [this] {
               return OfProject("409 Conflict", {{"reason", "HELD"}, {"detail", "bob holds it"}});
             }},
            {row("its time is over"), [this] { return OfProject("503 Service Unavailable", Json::object(), 50); }}};
  }

  static Follows Of(const StepResult& result, bool repeatable) {
    switch (result.outcome) {
      case Outcome::kSucceeded: return Follows::kCompleted;
      case Outcome::kFailed:
      case Outcome::kTimedOut: return result.retryable ? Follows::kFailedAgain : Follows::kFailed;
      case Outcome::kCancelled: return repeatable ? Follows::kAgain : Follows::kUnknown;
      case Outcome::kNotStarted: return Follows::kAgain;
      case Outcome::kUnknown: return Follows::kUnknown;
    }
    return Follows::kUnknown;
  }

  void Check(const std::string& what, const Rows& rows, bool repeatable) {
    std::size_t checked = 0;
    for (const Ending& ending : Endings()) {
      if (ending.what != what) continue;
      SCOPED_TRACE(std::string(ending.what) + ": " + std::string(ending.how));
      const auto row = rows.find({std::string(ending.what), std::string(ending.how)});
      ASSERT_NE(row, rows.end()) << "a row that nobody tests";
      const StepResult result = row->second();
      EXPECT_EQ(FollowsText(Of(result, repeatable)), FollowsText(ending.follows)) << result.error << " " << result.outputs;
      ++checked;
    }
    EXPECT_EQ(checked, rows.size());
  }

  TemporaryFolder programs_;
};

TEST_F(EndingsTable, OfPrograms) { Check("sys.exec.run", Programs(), false); }
TEST_F(EndingsTable, OfPosts) { Check("net.http.post", Posts(), false); }
TEST_F(EndingsTable, OfGets) { Check("net.http.get, net.http.put", Reads("net.http.get"), true); }
TEST_F(EndingsTable, OfPuts) { Check("net.http.get, net.http.put", Reads("net.http.put"), true); }
TEST_F(EndingsTable, OfAsks) { Check("llm.ask", Asks(), true); }
TEST_F(EndingsTable, OfProjects) { Check("project.*", Projects(), true); }
TEST_F(EndingsTable, OfEverythingElse) { Check("any other", Others(), true); }

}  // namespace
}  // namespace acl
