#pragma once
// Workflow runs under simulation: random definitions (sequences and graphs, every effect class, retries, sagas), random results, people who
// pause, resume, cancel and resolve. The engine's own rules are checked at the end.

#include "tests/sim/test_bed.h"
#include "tests/support/watched_kind.h"

namespace acl::test {

class WorkflowLoad : public SimLoad {
 public:
  WorkflowLoad();
  const KindRegistry& kinds() const override { return kinds_; }
  CreateItem MakeSubject(Random& random, const SubjectId& id) override;
  Scheduled MakeSchedules(Random& random, WallTime from, std::chrono::seconds within) override;
  std::pair<std::string, Json> MakeSignal(Random& random, const MemorySubject& subject, bool uncertain) override;
  DirectDecider MakeDirect(Random&, const MemorySubject&) override { return nullptr; }
  std::vector<std::string> DispatchQueues() const override { return {"gpu", "cpu"}; }
  StepResult RunStep(Random& random, const StepCall& call) override;
  bool ActsEveryTime(const StepCall& call) override { return call.step.call.value("capability", "") == "sim.unkeyed"; }
  std::optional<std::pair<std::string, Json>> MakeStop(const MemorySubject& subject) override;
  void Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) override;

  // How runs ended, by status: every way must be met.
  const std::map<std::string, int>& ended() const { return ended_; }
  int waits() const { return waits_; }                                        // WAIT steps whose time came
  int scopes() const { return scopes_; }                                      // steps that hold others, begun
  int children() const { return children_; }                                  // runs that others started
  int signals() const { return signals_; }                                    // SIGNAL steps whose signal or time came
  const std::map<std::string, int>& approvals() const { return approvals_; }  // how they ended, by state
  int fast_paths() const { return int(watched_->fast_paths.size()); }

 protected:
  const SubjectKind& kind_of_runs() const { return *kind_; }
  Scheduled NothingScheduled() const { return {capabilities_, kind_, {}}; }

 private:
  std::shared_ptr<const CapabilityRegistry> capabilities_;
  std::shared_ptr<const SubjectKind> kind_;
  KindRegistry kinds_;
  void CheckApprovals(const MemorySubject& subject, std::vector<std::string>& violations);

  std::map<std::string, int> ended_, approvals_;
  int waits_ = 0, scopes_ = 0, signals_ = 0, children_ = 0;
  std::shared_ptr<const WatchedKind> watched_;
};

}  // namespace acl::test
