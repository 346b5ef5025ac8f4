#pragma once
// Agent sessions under simulation: told things in every mode, paused, stopped, resumed, decided on, while the fleet fails. A session has no
// end; here one that was told that the simulation is over closes once it has stopped.

#include "shared/kinds/agent/agent_kind.h"
#include "shared/kinds/agent/create_agent.h"
#include "tests/sim/test_bed.h"

namespace acl::test {

class AgentLoad final : public SimLoad {
 public:
  AgentLoad();

  const KindRegistry& kinds() const override { return kinds_; }
  CreateItem MakeSubject(Random& random, const SubjectId& id) override;
  Scheduled MakeSchedules(Random&, WallTime, std::chrono::seconds) override { return {capabilities_, kind_, {}}; }
  std::pair<std::string, Json> MakeSignal(Random& random, const MemorySubject& subject, bool uncertain) override;
  DirectDecider MakeDirect(Random&, const MemorySubject&) override { return nullptr; }
  StepResult RunStep(Random& random, const StepCall& call) override;
  std::optional<std::pair<std::string, Json>> MakeStop(const MemorySubject& subject) override;
  void Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) override;

  std::int64_t turns = 0, actions = 0, uncertain = 0, interrupted = 0, approved = 0, repeated = 0;

 private:
  std::shared_ptr<CapabilityRegistry> capabilities_ = std::make_shared<CapabilityRegistry>();
  std::shared_ptr<const SubjectKind> kind_;
  KindRegistry kinds_;
};

}  // namespace acl::test
