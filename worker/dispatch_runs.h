#pragma once
// Dispatches of dispatched steps in a worker's memory (kernel/dispatch.h): the part of WorkerCore that has nothing to do with leases. No
// I/O, no clock, no threads.
//
//   taken --slot free, trusted--> running --result--> ended --delivered or refused--> forgotten
//     '------ drain, cancel, lost trust, nothing it could be started with ------^
//
// A dispatch is fenced by its own token and not by a lease: what it may do is decided by the time of its grant (never begun when the
// grant's answer came later than the session could have lived) and by the compare-and-set when its result is delivered. A result is kept
// and offered again until the database says yes or no, also over the loss of the session it was taken under.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/base/random.h"
#include "shared/capability/dispatch_format.h"
#include "shared/kernel/step_runner.h"
#include "shared/kernel/store.h"
#include "worker/observer.h"

namespace acl {

struct DispatchCounts {
  std::int64_t taken = 0, delivered = 0, replayed = 0, refused = 0, kept = 0, released = 0;
};

// Of a runner that did not come back at its deadline: what it did may be done, and is not done again unless that does no harm.
StepResult Dropped(EffectClass effect);
// A call that was stopped says why its worker stopped it, if there is a reason.
void SayWhyStopped(const std::string& why, StepResult* result);
inline constexpr const char* kDrained = "its worker was drained (stopped for an upgrade or a scale-down) while the step ran";
// When a runner that does not come back is dropped: its time counts from when the call began, if it had to wait for its turn.
SteadyTime DropAt(SteadyTime now, SteadyTime drop_at, const StopToken& stop, milliseconds timeout, milliseconds grace);

class DispatchRuns {
 public:
  struct Config {
    std::string worker_name;
    milliseconds retry_min{50}, retry_max{2'000}, runner_grace{5'000};
    // Dispatches that ended here are remembered so long, and so many: a failover may bring them back.
    milliseconds remembered_for{180'000};
    std::size_t remembered = 300'000;
  };
  struct Start {
    StepCall call;
    StopToken stop;
  };

  DispatchRuns(Config config, Random& random, WorkerObserver& observer)
      : config_(std::move(config)), random_(random), observer_(observer) {}

  // Granted; `start_until`: after that it is not begun any more.
  void Take(SteadyTime now, ClaimedDispatch dispatch, SteadyTime start_until);
  // Begins what waits, in the order of the grants, at most `slots`.
  std::vector<Start> Begin(SteadyTime now, WallTime db_now, bool trusted, int slots);
  // True if this was one of ours.
  bool OnStepDone(SteadyTime now, const SubjectId& subject, Token token, const std::string& step_id, int attempt_id, StepResult result);
  // The run wants it back.
  void OnUnwanted(const DispatchId& dispatch);
  // What the table says this session holds. What is not known here is ended: as not started if it was never heard of, or may run again.
  // What it did is unknown if it began here, or may have, for then the database has lost that it ended (a failover).
  void OnHeld(SteadyTime now, const std::vector<HeldDispatch>& held);
  // Its subject; nil if it was not known.
  SubjectId OnDelivered(SteadyTime now, const DispatchId& dispatch, Token token, const Result<PostAnswer>& answer);

  // Nothing more begins; what waits ends as not started.
  void ReleaseWaiting(const std::string& why);
  // What runs is asked to stop; `all`: also what may not be repeated. `why` goes into what is said of its end.
  void StopRunning(const std::string& why = "", bool all = true);
  void StopNotBegun();      // those that wait for a thread or a place
  bool RunsEffect() const;  // something runs that may not be repeated
  // The session is gone: what runs is stopped and forgotten, its end nobody's business; results stay.
  void ForgetRunning();
  void ForgetAll() { dispatches_.clear(), ended_.clear(), ended_order_.clear(); }

  // Reports to deliver now; each is in flight until OnDelivered.
  std::vector<DispatchReport> TakeReports(SteadyTime now);
  void OnTime(SteadyTime now);  // the watchdog: a runner past its deadline and grace is dropped
  std::optional<SteadyTime> NextWake() const;

  int busy() const;                               // slots taken or waited for
  int running() const;                            // slots taken
  int lost() const { return int(lost_.size()); }  // dropped, and their runner has not come back
  bool empty() const { return dispatches_.empty(); }
  const DispatchCounts& counts() const { return counts_; }

 private:
  struct Dispatch {
    ClaimedDispatch grant;
    DispatchOffer offer;
    enum class State { kWaiting, kRunning, kEnded } state = State::kWaiting;
    SteadyTime start_until;
    StopToken stop;
    std::string stopped_why;
    std::optional<SteadyTime> drop_at;
    milliseconds timeout{0};
    DispatchReport report;
    bool sending = false, second_text = false;
    std::optional<SteadyTime> retry_at;
    int failures = 0;
    std::int64_t order = 0;
    std::optional<EffectClass> began;  // it was begun here
  };

  void End(Dispatch& dispatch, StepResult result);
  void EndWithoutBeginning(Dispatch& dispatch, StepResult::Outcome outcome, const std::string& why, bool retryable = true);

  const Config config_;
  Random& random_;
  WorkerObserver& observer_;
  // One that was begun and has ended here, and is not among the dispatches any more.
  struct Ended {
    EffectClass effect;
    SteadyTime at;
  };
  using EndedKey = std::pair<DispatchId, Token>;
  void Forget(SteadyTime now, std::map<DispatchId, Dispatch>::iterator dispatch);

  std::map<DispatchId, Dispatch> dispatches_;
  std::set<std::pair<DispatchId, Token>> lost_;
  std::map<EndedKey, Ended> ended_;
  std::deque<EndedKey> ended_order_;
  SteadyTime forgot_at_{};  // something was forgotten before its time: until then what is not known may have begun
  std::int64_t order_ = 0;
  DispatchCounts counts_;
};

}  // namespace acl
