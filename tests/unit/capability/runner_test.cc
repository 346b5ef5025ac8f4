#include <future>

#include "shared/capability/workspace.h"

#include "tests/support/no_threads.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Runner : public CapabilityTest {
 protected:
  // A registry with one more capability of the test's own.
  void StartWith(const std::string& id, CapabilityHandler handler, EffectClass effect = EffectClass::kPure,
                 FalseSuccess false_success = FalseSuccess::kFailure, int threads = 2) {
    runner_.reset();
    registry_ = CapabilityRegistry();
    CapabilityConfig config;
    RegisterStandardCapabilities(registry_, config);
    CapabilityDefinition spec;
    spec.id = id;
    spec.effect = effect;
    spec.false_success = false_success;
    registry_.Add(spec, std::move(handler));
    auto made = CapabilityRunner::Make(registry_, contents_, config, {.work_folder = work_.path, .threads = threads, .max_queued = 2});
    ASSERT_TRUE(made) << made.error();
    runner_ = std::move(*made);
  }
  static StepResult Give(Json outputs) {
    StepResult result;
    result.outputs = std::move(outputs);
    return result;
  }
};

TEST_F(Runner, UnknownCapabilitiesFailWithTheNearest) {
  StepResult result = Call("io.fs.writ_file", Json::object());
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_FALSE(result.retryable);
  EXPECT_THAT(result.error, HasSubstr("did you mean 'io.fs.write_file'?"));
  EXPECT_THAT(FailureOf("crm.create_account", Json::object()), HasSubstr("airun capability list"));
}

TEST_F(Runner, WrongParametersFailWithEveryMistake) {
  StepResult result = Call("io.fs.write_file", {{"path", 1}});
  EXPECT_FALSE(result.retryable);
  EXPECT_THAT(result.error, HasSubstr("'path' must be a string"));
  EXPECT_THAT(result.error, HasSubstr("missing parameter 'content'"));
}

TEST_F(Runner, ACallThatHoldsAnErrorIsNotMade) {
  StepCall call = MakeCall("test.echo", Json::object());
  call.step.call = CallToJson({"test.echo", Json::object(), "input 'x': no such step"});
  StepResult result = runner_->Call(call, {});
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_FALSE(result.retryable);
  EXPECT_EQ(result.error, "input 'x': no such step");
}

TEST_F(Runner, OutputsAreHeldAgainstTheDeclaredResults) {
  Json outputs;
  CapabilityDefinition spec;
  spec.id = "test.typed";
  spec.results = {{.name = "count", .type = "integer", .required = true}, {.name = "note", .type = "string"}};
  registry_.Add(std::move(spec), [&](const Json&, CallContext&) { return Give(outputs); });
  const auto run = [&](Json given) {
    outputs = std::move(given);
    return Call("test.typed", Json::object());
  };
  EXPECT_EQ(run({{"count", 1}}).outcome, Outcome::kSucceeded);
  EXPECT_EQ(run({{"count", 1.0}, {"note", "x"}, {"more", nullptr}}).outcome, Outcome::kSucceeded);
  StepResult missing = run({{"note", "x"}});
  EXPECT_EQ(missing.error, "test.typed: output 'count' (integer) is missing; this is a bug of the capability");
  EXPECT_FALSE(missing.retryable);
  EXPECT_THAT(
      run({{"count", "1"}, {"note", 2}}).error,
      HasSubstr("output 'count' is the string \"1\", not a whole number; output 'note' is the integer 2, not a string; this is a bug"));
}

TEST_F(Runner, TestHelpers) {
  EXPECT_EQ(Apply("test.echo", {{"outputs", {{"z", 1}, {"a", 2.0}}}}).outputs.dump(), R"({"z":1,"a":2.0})");
  StepResult failed = Call("test.fail", {{"message", "boom"}});
  EXPECT_EQ(failed.error, "boom");
  EXPECT_TRUE(failed.retryable);
  EXPECT_EQ(Apply("test.sleep", {{"seconds", 0}}).outcome, Outcome::kSucceeded);
  EXPECT_THAT(FailureOf("human.approve", Json::object()), HasSubstr("a step of type HUMAN_APPROVAL asks a person"));
}

TEST_F(Runner, TimeoutAndStop) {
  StepCall call = MakeCall("test.sleep", {{"seconds", 1000}});
  call.step.timeout = milliseconds(30);
  EXPECT_EQ(runner_->Call(call, {}).outcome, Outcome::kTimedOut);
  std::promise<StepResult> done;
  StopToken stop;
  std::promise<void> started;
  StartWith("test.wait", [&](const Json&, CallContext& context) {
    started.set_value();
    while (!context.stop.stopped()) std::this_thread::yield();
    StepResult result;
    result.outcome = Outcome::kCancelled;
    return result;
  });
  runner_->Run(MakeCall("test.wait", Json::object()), stop, [&](StepResult result) { done.set_value(std::move(result)); });
  started.get_future().wait();
  stop.Stop();
  EXPECT_EQ(done.get_future().get().outcome, Outcome::kCancelled);
}

thread_local bool answers = false;  // this thread brings answers
bool IsLarge(int call) { return call % 3 == 0; }

// Calls that wait for somebody else: all on their way at once, ended in any order from any thread, and many answers need no more threads.
TEST_F(Runner, CallsThatWaitHoldNoThread) {
  constexpr int kCalls = 500;
  std::mutex mutex;
  std::vector<std::pair<std::string, CapabilityDone>> on_their_way;
  runner_.reset();
  CapabilityDefinition spec;
  spec.id = "test.asks";
  spec.results = {{.name = "answer", .type = "string", .required = true}};
  registry_.AddStarter(spec, [&](const Json& parameters, CallContext& context, CapabilityDone done) {
    EXPECT_TRUE(parameters.empty());
    std::lock_guard lock(mutex);
    on_their_way.emplace_back(context.call.step.step_id, std::move(done));
  });
  auto made = CapabilityRunner::Make(registry_, contents_, {}, {.work_folder = work_.path, .threads = 64, .max_queued = kCalls});
  ASSERT_TRUE(made) << made.error();
  runner_ = std::move(*made);
  std::map<std::string, StepResult> results;
  std::atomic<int> at_once{0};
  std::vector<StepRunner::Job> jobs;
  for (int i = 0; i < kCalls; ++i) {
    StepCall call = MakeCall("test.asks", Json::object());
    call.step.step_id = std::to_string(i);
    jobs.push_back({call, {}, [&, i, id = call.step.step_id](StepResult result) {
                      EXPECT_EQ(answers, !IsLarge(i)) << "what little is left of a call is done by who answers it";
                      if (IsLarge(i)) ++at_once;
                      EXPECT_LE(at_once, 1) << "the rest by one thread, however many answers come at once";
                      {
                        std::lock_guard lock(mutex);
                        results[id] = std::move(result);
                      }
                      if (IsLarge(i)) --at_once;
                    }});
  }
  runner_->RunMany(std::move(jobs));
  const auto await = [&](auto reached) {
    for (std::unique_lock lock(mutex); !reached();) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  };
  await([&] { return on_their_way.size() == kCalls; });
  EXPECT_TRUE(results.empty());
  // Another call has its turn while all of these wait.
  EXPECT_EQ(runner_->Call(MakeCall("test.echo", {{"outputs", {{"x", 1}}}}), {}).outcome, Outcome::kSucceeded);
  std::vector<std::thread> others;
  for (std::size_t part = 0; part < 4; ++part) {
    others.emplace_back([&, part] {
      answers = true;
      for (std::size_t i = part; i < on_their_way.size(); i += 4) {
        const auto& [id, done] = on_their_way[i];
        const std::string padding(IsLarge(std::stoi(id)) ? 20'000 : 0, '.');
        done(Give(id == "7" ? Json{{"answer", 7}} : Json{{"answer", "to " + id + padding}}));
      }
    });
  }
  for (std::thread& other : others) other.join();
  await([&] { return results.size() == kCalls; });
  EXPECT_EQ(results["499"].outputs, Json({{"answer", "to 499"}}));
  EXPECT_THAT(results["7"].error, HasSubstr("output 'answer' is the integer 7")) << "what comes back is checked like any other's";
}

TEST_F(Runner, WhoStopsEndsWhatIsOnItsWay) {
  runner_.reset();
  CapabilityDefinition spec;
  spec.id = "test.asks";
  std::thread other;
  std::promise<void> begun;
  registry_.AddStarter(spec, [&](const Json&, CallContext& context, CapabilityDone done) {
    other = std::thread([stop = context.stop, done = std::move(done)] {
      while (!stop.stopped()) std::this_thread::yield();
      StepResult result;
      result.outcome = Outcome::kCancelled;
      done(std::move(result));
    });
    begun.set_value();
  });
  auto made = CapabilityRunner::Make(registry_, contents_, {}, {.work_folder = work_.path, .threads = 1});
  ASSERT_TRUE(made) << made.error();
  std::promise<StepResult> ended;
  (*made)->Run(MakeCall("test.asks", Json::object()), {}, [&](StepResult result) { ended.set_value(std::move(result)); });
  begun.get_future().wait();
  made->reset();
  EXPECT_EQ(ended.get_future().get().outcome, Outcome::kCancelled);
  other.join();
}

TEST_F(Runner, AThrowingHandlerIsAFailureOrUnknown) {
  auto thrower = [](const Json&, CallContext&) -> StepResult { throw std::runtime_error("oops"); };
  StartWith("test.throws", thrower);
  EXPECT_THAT(FailureOf("test.throws", Json::object()), HasSubstr("oops"));
  StartWith("test.throws", thrower, EffectClass::kNonIdempotent);
  EXPECT_EQ(Call("test.throws", Json::object()).outcome, Outcome::kUnknown) << "it may have happened";
}

TEST_F(Runner, OutputsThatCannotBeStoredFail) {
  Json outputs;
  StartWith("test.gives", [&](const Json&, CallContext&) { return Give(outputs); });
  outputs = {{"a", std::string("x\0y", 3)}};
  EXPECT_THAT(FailureOf("test.gives", Json::object()), HasSubstr("cannot be stored"));
  outputs = {{"a", "\xff"}};
  EXPECT_THAT(FailureOf("test.gives", Json::object()), HasSubstr("cannot be stored"));
  outputs = {{"a", std::string(9u << 20, 'x')}};
  EXPECT_THAT(FailureOf("test.gives", Json::object()), HasSubstr("8388608 are allowed"));
  outputs = Json::array();
  EXPECT_THAT(FailureOf("test.gives", Json::object()), HasSubstr("not a map"));
}

TEST_F(Runner, SuccessFalseIsAFailureUnlessTheCapabilitySaysOtherwise) {
  auto handler = [](const Json&, CallContext& context) {
    EXPECT_TRUE(context.workspace->Write("f", "x", false));
    return Give({{"success", false}, {"error_message", "no luck"}});
  };
  StartWith("test.gives", handler);
  StepResult failed = Call("test.gives", Json::object());
  EXPECT_EQ(failed.outcome, Outcome::kFailed);
  EXPECT_THAT(failed.error, HasSubstr("no luck"));
  EXPECT_THAT(failed.files, IsEmpty()) << "a failure's layer is thrown away";
  StartWith("test.gives", handler, EffectClass::kPure, FalseSuccess::kResult);
  StepResult result = Call("test.gives", Json::object());
  EXPECT_EQ(result.outcome, Outcome::kSucceeded);
  EXPECT_EQ(result.files.size(), 1u);
}

TEST_F(Runner, SlowCallsNeverBlockTheCallerAndTheQueueIsBounded) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::promise<void> started;
  StartWith(
      "test.slow",
      [&, first = std::make_shared<std::atomic<bool>>(true)](const Json&, CallContext&) {
        if (first->exchange(false)) started.set_value();
        released.wait();
        return Give(Json::object());
      },
      EffectClass::kPure, FalseSuccess::kFailure, 1);
  std::mutex mutex;
  std::vector<Outcome> outcomes;
  auto run = [&] {
    runner_->Run(MakeCall("test.slow", Json::object()), {}, [&](StepResult result) {
      std::lock_guard lock(mutex);
      outcomes.push_back(result.outcome);
    });
  };
  run();
  started.get_future().wait();  // the one thread is busy from here on
  for (int i = 0; i < 3; ++i) run();
  {
    std::lock_guard lock(mutex);
    EXPECT_THAT(outcomes, ElementsAre(Outcome::kNotStarted)) << "two wait, the third is turned away";
  }
  std::thread closer([&] { runner_.reset(); });
  release.set_value();
  closer.join();
  EXPECT_EQ(outcomes.size(), 4u) << "every call is answered, once";
}

// What only computes is carried out by who asks, if it is little: nothing else is, however quick its beginning.
TEST_F(Runner, AFewQuickCallsAreCarriedOutByTheCaller) {
  runner_.reset();
  std::mutex mutex;
  std::map<std::string, std::thread::id> by;
  const auto add = [&](const std::string& id, bool quick) {
    CapabilityDefinition spec;
    spec.id = id;
    spec.quick = quick;
    registry_.Add(spec, [&](const Json&, CallContext& context) {
      std::lock_guard lock(mutex);
      by[context.call.step.step_id] = std::this_thread::get_id();
      return Give(Json::object());
    });
  };
  add("test.computes", true);
  add("test.works", false);
  CapabilityDefinition asks;
  asks.id = "test.begins";
  registry_.AddStarter(asks, [&](const Json&, CallContext& context, const CapabilityDone& done) {
    {
      std::lock_guard lock(mutex);
      by[context.call.step.step_id] = std::this_thread::get_id();
    }
    done(Give(Json::object()));
  });
  auto made = CapabilityRunner::Make(registry_, contents_, {}, {.work_folder = work_.path, .threads = 1, .quick_here = 2});
  ASSERT_TRUE(made) << made.error();
  runner_ = std::move(*made);
  Json inputs = Json::object();
  const auto run = [&](const std::vector<std::string>& capabilities) {
    by.clear();
    std::atomic<int> ended{0};
    std::vector<StepRunner::Job> jobs;
    for (const std::string& capability : capabilities) {
      StepCall call = MakeCall(capability, inputs);
      call.step.step_id = std::to_string(jobs.size());
      jobs.push_back({call, {}, [&](const StepResult& result) {
                        EXPECT_EQ(result.outcome, Outcome::kSucceeded) << result.error;
                        ++ended;
                      }});
    }
    runner_->RunMany(std::move(jobs));
    while (ended != int(capabilities.size())) std::this_thread::yield();
    std::string here;
    std::lock_guard lock(mutex);
    for (const auto& [step, thread] : by) here += thread == std::this_thread::get_id() ? step : "-";
    return here;
  };
  EXPECT_EQ(run({"test.computes"}), "0");
  EXPECT_EQ(run({"test.computes", "test.works", "test.computes"}), "0-2") << "the slow one has a thread of its own";
  EXPECT_EQ(run({"test.computes", "test.computes", "test.computes"}), "---") << "three are worth a thread";
  EXPECT_EQ(run({"test.computes", "test.begins"}), "--") << "what it begins may wait for much";
  inputs = {{"text", std::string(20'000, 'x')}};
  EXPECT_EQ(run({"test.computes"}), "-") << "the caller has others to serve";
}

TEST_F(Runner, AWorkFolderOfADeadWorkerIsRemovedOfALivingOneKept) {
  std::string abandoned = work_.path + "/w-0000000000000000";
  ASSERT_TRUE(MakeFolders(abandoned + "/runs/x"));
  auto second = WorkFolder::Open(work_.path);
  ASSERT_TRUE(second) << second.error();
  EXPECT_FALSE(std::filesystem::exists(abandoned));
  Write("a", "x");  // the fixture's runner still has its folder
  EXPECT_EQ(Apply("io.fs.read_file", {{"path", "a"}}).outputs["content"], "x");
  std::string path = (*second)->path();
  second->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Runner, AWorkFolderThatCannotBeMadeIsSaid) {
  CapabilityConfig config;
  auto made = CapabilityRunner::Make(registry_, contents_, config, {.work_folder = "/proc/nope"});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.message(), HasSubstr("/proc/nope"));
}

// As if memory were out: an error of the call alone. What may be repeated is tried again; whether the other reached the outside, nobody
// knows.
TEST_F(Runner, ACallThatHasNotEnoughMemoryFailsAlone) {
  const CapabilityHandler handler = [](const Json&, CallContext&) -> StepResult { throw std::bad_alloc(); };
  StartWith("my.hungry", handler);
  const StepResult pure = Call("my.hungry", Json::object());
  EXPECT_EQ(pure.outcome, Outcome::kFailed);
  EXPECT_TRUE(pure.retryable);
  EXPECT_THAT(pure.error, HasSubstr("not enough memory"));
  StartWith("my.hungry", handler, EffectClass::kNonIdempotent);
  EXPECT_EQ(Call("my.hungry", Json::object()).outcome, Outcome::kUnknown);
  StartWith("my.hungry", [](const Json&, CallContext&) -> StepResult { throw std::length_error("too long"); });
  EXPECT_TRUE(Call("my.hungry", Json::object()).retryable);
  EXPECT_EQ(Call("test.echo", Json::object()).outcome, Outcome::kSucceeded);
}

TEST_F(Runner, WhereNoThreadIsToBeHadTheCallIsGivenBackAndTheNextIsMade) {
  const auto call = [this] {
    std::promise<StepResult> ended;
    runner_->Run(MakeCall("test.echo", {{"a", 1}}), {}, [&](StepResult result) { ended.set_value(std::move(result)); });
    return ended.get_future().get();
  };
  {
    const test::NoThreads none;
    const StepResult result = call();
    EXPECT_EQ(result.outcome, Outcome::kNotStarted) << "no attempt is charged";
    EXPECT_THAT(result.short_of, HasSubstr("no further thread can be had"));
  }
  EXPECT_EQ(call().outcome, Outcome::kSucceeded);
  const test::NoThreads none;
  EXPECT_EQ(call().outcome, Outcome::kSucceeded) << "the thread that is there does it";
}

}  // namespace
}  // namespace acl
