#include "shared/workflow/what_next.h"

#include <algorithm>

#include "shared/workflow/call.h"
#include "shared/workflow/frontier.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

constexpr int kMaxLookedAt = 256;

class Chooser {
 public:
  Chooser(const DefinitionCache& definitions, const CompiledDefinition& definition, const Document& state, RunRecord run,
          const NextContext& context)
      : definitions_(definitions),
        definition_(definition),
        state_(state),
        context_(context),
        run_(std::move(run)),
        progress_(ReadProgress(state)) {}

  Next Choose() {
    if (run_.phase == Phase::kClosed) {
      next_.closed = true;
    } else if (run_.phase == Phase::kStopping) {
      Stopping();
    } else if (run_.status == RunStatus::kRunning) {
      Forward();
    } else if (run_.status == RunStatus::kPaused) {
      Wait("paused", std::nullopt);
    }
    return std::move(next_);
  }

 private:
  bool Running(const std::string& step_id) const { return context_.running.contains(step_id); }

  // True if it was something to start, whether or not there was room. A dispatch takes no slot; at the bound of dispatches it is no work:
  // what is out comes back and wakes the run.
  bool Start(const Instance& instance) {
    if (Running(instance.step_id) || Out(instance.step_id)) return false;
    if (!instance.undo && !definition_.Calls(instance.step)) return false;  // the engine's own; nothing is called
    const bool away = definition_.TargetOf(instance).has_value();
    if (away && progress_.dispatches.size() + dispatched_ >= kMaxDispatchesOut) return false;
    if (away ? !context_.may_dispatch || started_bytes_ > limits::kStartedBytes : NoRoom()) return true;
    StartStep start = StartOf(definitions_, definition_, instance, state_, run_, context_.now);
    if (start.target) {
      ++dispatched_;
    } else if (started_ >= context_.free_slots) {
      return true;  // its call cannot be made: that is said here
    } else {
      ++started_;
    }
    started_bytes_ += SizeOf(start.call, limits::kStartedBytes);
    next_.start.push_back(std::move(start));
    return true;
  }

  // Large inputs go a few at a time: the rest begins when these are on their way.
  bool NoRoom() const { return started_ >= context_.free_slots || started_bytes_ > limits::kStartedBytes; }

  bool Out(const std::string& step_id) const {
    return std::find(progress_.dispatches.begin(), progress_.dispatches.end(), step_id) != progress_.dispatches.end();
  }

  void Wait(const char* reason, std::optional<WallTime> next_wake) {
    if (context_.running.empty()) next_.waiting = Waiting{reason, next_wake};
  }

  void Forward() {
    bool work = false;
    // Without free slots what can be dispatched is still looked for, but not through all of a wide graph.
    int seen = 0;
    Frontier(state_, definition_).ForEach(Frontier::Kind::kReady, [&](const Instance& instance) {
      work |= Start(instance);
      return !(work && NoRoom() && (!definition_.dispatches() || ++seen >= kMaxLookedAt));
    });
    if (work) return;
    if (definition_.has_own() && (!progress_.due.empty() || Frontier(state_, definition_).First(Frontier::Kind::kOwn)))
      return Wait("timer", context_.now);  // much at once: it goes on by a timer
    auto wake = progress_.next_retry;
    if (!wake || (progress_.next_due && *progress_.next_due < *wake)) wake = progress_.next_due;
    if (!progress_.uncertain.empty()) return Wait("uncertain", wake);
    if (!progress_.dispatches.empty()) return Wait("dispatch", wake);
    if (progress_.retrying > 0) return Wait("retry", wake);
    if (progress_.children > 0) return Wait("child", wake);
    if (progress_.waiting > progress_.signals + progress_.approvals) return Wait("timer", wake);
    if (progress_.approvals > 0) return Wait("approval", wake);
    if (progress_.signals > 0) Wait("signal", wake);
  }

  void Stopping() {
    bool work = false;
    for (const std::string& step_id : progress_.settle) {
      if (const auto instance = definition_.Find(step_id)) work |= Start(*instance);
    }
    if (work) return;
    if (!progress_.uncertain.empty()) return Wait("uncertain", std::nullopt);
    if (!progress_.dispatches.empty()) return Wait("dispatch", std::nullopt);
    if (!progress_.open.empty() || !progress_.settle.empty()) return;  // their results come
    if (progress_.children > 0) return Wait("child", std::nullopt);
    const auto undo = CurrentUndo();
    if (!undo) return;
    StepRecord record = ReadStep(state_, undo->step_id);
    if (record.status == StepStatus::kRetryWait) return Wait("retry", record.retry_at);
    if (record.status == StepStatus::kPending) Start(*undo);
  }

  std::optional<Instance> CurrentUndo() const {
    if (!progress_.undo.empty()) {
      const auto forward = definition_.Find(progress_.undo);
      return forward ? std::optional(definition_.UndoOf(*forward)) : std::nullopt;
    }
    if (progress_.global < GlobalsOf(run_, definition_.definition().global_compensation_steps.size()))
      return definition_.GlobalUndo(progress_.global);
    return std::nullopt;
  }

  const DefinitionCache& definitions_;
  const CompiledDefinition& definition_;
  const Document& state_;
  const NextContext& context_;
  const RunRecord run_;
  const Progress progress_;
  int started_ = 0;
  std::size_t dispatched_ = 0, started_bytes_ = 0;
  Next next_;
};

}  // namespace

Next WhatNextOf(const DefinitionCache& definitions, const Document& state, const NextContext& context) {
  auto run = ReadRun(state);
  if (!run) return {};
  auto definition = definitions.Of(state, run->definition_hash);
  if (!definition) return {};  // Decide has said so already: the run is on its way into quarantine
  return Chooser(definitions, **definition, state, std::move(*run), context).Choose();
}

}  // namespace acl::workflow
