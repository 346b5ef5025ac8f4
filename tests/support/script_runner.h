#pragma once
// A StepRunner that does what the test says: results by step id, at once or when the test lets them go. For tests of the worker, the
// simulator and whole runs without capabilities.

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "shared/kernel/step_runner.h"

namespace acl::test {

class ScriptRunner final : public StepRunner {
 public:
  struct Call {
    StepCall call;
    StopToken stop;
    std::function<void(StepResult)> done;
  };
  using Answer = std::function<StepResult(const StepCall& call)>;

  // What a step answers, one after another; the last one stays. Steps without an answer succeed with no outputs.
  void Set(const std::string& step_id, std::vector<StepResult> results);
  // For every step without results of its own.
  void SetDefault(Answer answer);
  // From now on calls of this step wait for Release.
  void Hold(const std::string& step_id);
  // Ends the oldest waiting call of the step with its scripted result, or the given one; false if none waits. Runs `done` here.
  bool Release(const std::string& step_id);
  bool Release(const std::string& step_id, StepResult result);

  // All calls so far, in order: "step_id#attempt".
  std::vector<std::string> Calls() const;
  int CallsOf(const std::string& step_id) const;
  std::vector<std::string> IdempotencyKeysOf(const std::string& step_id) const;
  // True if the oldest waiting call of the step was asked to stop.
  bool StopAsked(const std::string& step_id) const;

  void Run(StepCall call, StopToken stop, std::function<void(StepResult)> done) override;

 private:
  StepResult ResultFor(const StepCall& call);

  mutable std::mutex mutex_;
  std::map<std::string, std::deque<StepResult>> results_;
  Answer default_;
  std::map<std::string, bool> held_;
  std::map<std::string, std::deque<Call>> waiting_;
  std::vector<StepCall> calls_;
};

}  // namespace acl::test
