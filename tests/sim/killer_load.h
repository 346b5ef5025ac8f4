#pragma once
// A few workflow runs that kill whatever worker runs them, each in another way, among many that do no harm: whoever kills is judged, after
// a bounded number of deaths, and nobody else is, whatever happens to the fleet besides (shared/kernel/suspicion.h).

#include "tests/sim/workflow_load.h"

namespace acl::test {

class KillerLoad final : public WorkflowLoad {
 public:
  CreateItem MakeSubject(Random& random, const SubjectId& id) override;
  Scheduled MakeSchedules(Random&, WallTime, std::chrono::seconds) override { return NothingScheduled(); }
  std::pair<std::string, Json> MakeSignal(Random& random, const MemorySubject& subject, bool uncertain) override;
  StepResult RunStep(Random& random, const StepCall& call) override;
  std::optional<milliseconds> Takes(const StepCall& call) override;
  bool Kills(const StepCall& call) override;
  bool MayEndQuarantined(const SubjectId& subject) const override;
  bool MayBeReleased(const MemorySubject& subject) const override;
  void Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) override;

  enum class Kind { kPureKiller, kJournaledKiller, kDispatchedKiller, kLong, kQuick };
  const std::map<SubjectId, int>& kills() const { return kills_; }
  int completed() const { return completed_; }
  int released() const { return released_; }  // from quarantine, and judged then
  const std::map<Kind, int>& judged() const { return judged_; }

 private:
  std::map<SubjectId, Kind> kinds_made_;
  std::map<SubjectId, int> kills_;
  std::map<Kind, int> judged_;
  int completed_ = 0, released_ = 0;
};

}  // namespace acl::test
