#include "tests/support/script_runner.h"

#include <algorithm>

namespace acl::test {

void ScriptRunner::Set(const std::string& step_id, std::vector<StepResult> results) {
  std::lock_guard lock(mutex_);
  results_[step_id].assign(std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
}

void ScriptRunner::SetDefault(Answer answer) {
  std::lock_guard lock(mutex_);
  default_ = std::move(answer);
}

void ScriptRunner::Hold(const std::string& step_id) {
  std::lock_guard lock(mutex_);
  held_[step_id] = true;
}

StepResult ScriptRunner::ResultFor(const StepCall& call) {
  auto scripted = results_.find(call.step.step_id);
  if (scripted != results_.end() && !scripted->second.empty()) {
    StepResult result = scripted->second.front();
    if (scripted->second.size() > 1) scripted->second.pop_front();
    return result;
  }
  return default_ ? default_(call) : StepResult{};
}

void ScriptRunner::Run(StepCall call, StopToken stop, std::function<void(StepResult)> done) {
  std::unique_lock lock(mutex_);
  calls_.push_back(call);
  const std::string step_id = call.step.step_id;
  if (held_[step_id]) {
    waiting_[step_id].push_back({std::move(call), std::move(stop), std::move(done)});
    return;
  }
  StepResult result = ResultFor(call);
  lock.unlock();  // the answer may start the next step
  done(std::move(result));
}

bool ScriptRunner::Release(const std::string& step_id) {
  std::unique_lock lock(mutex_);
  auto& queue = waiting_[step_id];
  if (queue.empty()) return false;
  Call waiting = std::move(queue.front());
  queue.pop_front();
  StepResult result = ResultFor(waiting.call);
  lock.unlock();
  waiting.done(std::move(result));
  return true;
}

bool ScriptRunner::Release(const std::string& step_id, StepResult result) {
  std::unique_lock lock(mutex_);
  auto& queue = waiting_[step_id];
  if (queue.empty()) return false;
  Call waiting = std::move(queue.front());
  queue.pop_front();
  lock.unlock();
  waiting.done(std::move(result));
  return true;
}

std::vector<std::string> ScriptRunner::Calls() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const StepCall& call : calls_) names.push_back(call.step.step_id + "#" + std::to_string(call.attempt_id));
  return names;
}

int ScriptRunner::CallsOf(const std::string& step_id) const {
  std::lock_guard lock(mutex_);
  return int(std::count_if(calls_.begin(), calls_.end(), [&](const StepCall& call) { return call.step.step_id == step_id; }));
}

std::vector<std::string> ScriptRunner::IdempotencyKeysOf(const std::string& step_id) const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  for (const StepCall& call : calls_) {
    if (call.step.step_id == step_id) keys.push_back(call.step.idempotency_key);
  }
  return keys;
}

bool ScriptRunner::StopAsked(const std::string& step_id) const {
  std::lock_guard lock(mutex_);
  auto it = waiting_.find(step_id);
  return it != waiting_.end() && !it->second.empty() && it->second.front().stop.stopped();
}

}  // namespace acl::test
