#pragma once
// A run's trace, told by the workers that run it. Span ids are derived (shared/base/trace_context.h), so every worker adds to the same
// trace without knowing of the others:
//
//   workflow NAME                     once, by whoever closes the run
//   |- claim                          each grant: token, events replayed, whether something was taken over
//   |- commit                         each of its items, with the size of the batch it went with
//   '- step ID                        by whoever recorded its last attempt
//      '- attempt CAPABILITY          by whoever recorded it
//
// An attempt is told once: by its worker when its outcome is in the journal; or, if that worker lost the run before, as `lost` by the one
// that took over, from the attempt's row; the attempt after it links to it. Lives on the deciding thread, never blocks.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "shared/telemetry/tracer.h"
#include "worker/observer.h"

namespace acl {

class TraceObserver : public WorkerObserver {
 public:
  TraceObserver(Tracer& tracer, const Clock& clock, std::string worker_name)
      : tracer_(tracer), clock_(clock), worker_name_(std::move(worker_name)) {}

  void OnLost(const SubjectId& subject, Token token, const char* why) override;
  void OnClaim(const Claimed& claimed, const Restored& restored, const SubjectKind& kind) override;
  void OnStep(const StepCall& call) override;
  void OnStepDone(const StepEnd& end, const StepResult& result) override;
  void OnRecorded(const StepEnd& end, const SubjectKind& kind, const Document& state) override;
  void OnOutcome(const CommitItem& item, const CommitOutcome& outcome) override;
  void OnLetGo(const CommitItem& item) override;
  void OnBatch(std::size_t items, SteadyTime::duration took) override;
  void OnQuarantine(const SubjectId& subject, Token token, const std::string& reason, const std::string& detail) override;

 private:
  struct Attempt {
    int id = 0;
    Token token;
    bool leaves_row = false;  // whoever takes over knows of it
    Span span;
  };
  struct Step {
    WallTime began, ended;
    int attempts = 0;
    bool failed = false;
    std::string message;
    std::string last_span;  // of the attempt before
    bool last_lost = false;
  };
  struct Run {
    Token token;
    TraceContext parent;
    std::string name;
    std::map<std::string, Step> steps;        // not over
    std::map<std::string, Attempt> attempts;  // running, or ended and not recorded; by step
    std::vector<Span> lost;                   // told once the takeover is in the journal
  };

  // An attempt of a dispatched step: its run is somebody else's.
  using DispatchKey = std::tuple<SubjectId, std::string, int, Token>;

  Run* Find(const SubjectId& subject);
  void BeginDispatch(const StepCall& call);
  // True if it was a dispatch's.
  bool EndDispatch(const StepEnd& end, const StepResult& result);
  Span Begin(const SubjectId& subject, const Run& run, std::string name) const;
  Span BeginAttempt(const StepCall& call, const Run& run) const;
  void Describe(const StepResult& result, Span& span) const;
  void EndRun(const CommitItem& item, Run& run);
  void EndStep(const SubjectId& subject, Run& run, const std::string& step_id);
  // What ran and nobody else will tell of; then nothing is known of the run any more.
  void Forget(const SubjectId& subject, const char* why);

  Tracer& tracer_;
  const Clock& clock_;
  const std::string worker_name_;
  std::map<SubjectId, Run> runs_;           // sampled ones
  std::map<DispatchKey, Span> dispatches_;  // running
  std::size_t batch_items_ = 0;
  SteadyTime::duration batch_took_{};
};

// The `traceparent` that an attempt hands to the outside: its own span's if it is recorded, else that of whoever submitted the run.
std::string OutgoingTraceparent(const Tracer& tracer, const StepCall& call);

}  // namespace acl
