#pragma once
// Counters under simulation: the kernel's protocols without any workflow.

#include "tests/sim/test_bed.h"
#include "tests/support/counter_kind.h"

namespace acl::test {

class CounterLoad final : public SimLoad {
 public:
  CounterLoad() : kind_(std::make_shared<CounterKind>()) { kinds_.Add(kind_); }

  const KindRegistry& kinds() const override { return kinds_; }
  CreateItem MakeSubject(Random& random, const SubjectId& id) override {
    CounterOptions options;
    options.steps = random.Below(8) == 0 ? 80 : 1 + int(random.Below(9));
    options.effects = random.Below(3) == 0 ? "p" : "prin";
    options.wait_for_stop = random.Below(3) == 0;
    return kind_->MakeCreateItem(id, options);
  }
  Scheduled MakeSchedules(Random&, WallTime, std::chrono::seconds) override {
    return {std::make_shared<const CapabilityRegistry>(), kind_, {}};
  }
  std::pair<std::string, Json> MakeSignal(Random& random, const MemorySubject&, bool uncertain) override {
    if (uncertain) return {"resolve", Json{{"decision", "retry"}}};
    return {"signal", Json{{"n", random.Below(1000)}}};
  }
  DirectDecider MakeDirect(Random& random, const MemorySubject&) override { return kind_->Increment(int(random.Below(5))); }
  StepResult RunStep(Random& random, const StepCall&) override {
    StepResult result;
    const auto draw = random.Below(20);
    if (draw < 3) {
      result.outcome = StepResult::Outcome::kFailed;
      result.error = "a fault of the outside";
    } else {
      result.outputs = Json{{"add", 1}};
    }
    return result;
  }
  std::optional<std::pair<std::string, Json>> MakeStop(const MemorySubject&) override {
    return std::pair<std::string, Json>{"stop", Json::object()};
  }
  void Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) override {
    const Json* counter = state.Find("counter");
    if (!counter || !subject.closed) return;
    if (!counter->at("stopped").get<bool>() && counter->at("done") != counter->at("steps")) {
      violations.push_back(subject.id.ToString() + ": closed with steps left");
    }
  }

 private:
  std::shared_ptr<CounterKind> kind_;
  KindRegistry kinds_;
};

}  // namespace acl::test
