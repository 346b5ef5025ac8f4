#include "tests/sim/killer_load.h"

#include <fmt/format.h>

#include "shared/workflow/create_run.h"
#include "shared/workflow/run_view.h"

namespace acl::test {

namespace {

constexpr const char* kKills = "kills";
constexpr const char* kLong = "long";
// Free, free, in a group of two, alone five times, once more if its holder could have failed it; and while the fleet is in trouble some
// deaths judge nobody.
constexpr int kMostKills = 20;

}  // namespace

CreateItem KillerLoad::MakeSubject(Random& random, const SubjectId& id) {
  const auto number = kinds_made_.size();
  const Kind kind = number < 3 ? Kind(number) : random.Below(2) == 0 ? Kind::kLong : Kind::kQuick;
  kinds_made_[id] = kind;
  WorkflowDefinition definition;
  definition.name = "simulated";
  definition.owner = "sim";
  definition.max_execution_time = std::chrono::seconds(0);
  const auto add = [&](const std::string& name, const std::string& capability) -> StepDefinition& {
    StepDefinition step;
    step.name = name;
    step.agent_name = "sim";
    step.capability = capability;
    step.inputs = Json{{"text", "go"}};
    return definition.steps.emplace_back(std::move(step));
  };
  if (random.Below(2) == 0) add("first", "sim.idempotent");
  switch (kind) {
    case Kind::kPureKiller: add(kKills, "sim.pure"); break;
    case Kind::kJournaledKiller: add(kKills, "sim.idempotent"); break;
    case Kind::kDispatchedKiller: add(kKills, "sim.idempotent").queue = "gpu"; break;
    case Kind::kLong: add(kLong, random.Below(2) == 0 ? "sim.pure" : "sim.idempotent"); break;
    case Kind::kQuick:
      for (int n = 0; n < 4; ++n) add(fmt::format("s{}", n), n % 2 == 0 ? "sim.pure" : "sim.idempotent");
      break;
  }
  workflow::CreateRequest request;
  request.subject = id;
  request.submitter = "sim";
  auto item = workflow::MakeCreateItem(kind_of_runs(), definition, std::move(request));
  ACL_CHECK(item.ok(), "a simulated workflow can be created");
  return std::move(*item);
}

std::pair<std::string, Json> KillerLoad::MakeSignal(Random& random, const MemorySubject&, bool) {
  return {"signal", Json{{"name", "n"}, {"payload", random.Below(100)}}};
}

StepResult KillerLoad::RunStep(Random&, const StepCall& call) {
  StepResult result;
  result.duration = milliseconds(5);
  result.outputs = Json{{"said", call.step.step_id}, {"success", true}};
  return result;
}

std::optional<milliseconds> KillerLoad::Takes(const StepCall& call) {
  if (call.step.step_id == kLong) return milliseconds(8'000);
  if (call.step.step_id == kKills) return milliseconds(200);
  return std::nullopt;
}

bool KillerLoad::Kills(const StepCall& call) {
  if (call.step.step_id != kKills) return false;
  ++kills_[call.subject];
  return true;
}

bool KillerLoad::MayEndQuarantined(const SubjectId& subject) const {
  const auto kind = kinds_made_.find(subject);
  return kind != kinds_made_.end() && kind->second == Kind::kPureKiller;
}

// Where a worker died between its claim and its first commit nothing says whether the step was in flight: then the run is quarantined, a
// person releases it, and the next deaths judge the step.
bool KillerLoad::MayBeReleased(const MemorySubject& subject) const {
  const auto kind = kinds_made_.find(subject.id);
  return kind != kinds_made_.end() && kind->second == Kind::kJournaledKiller && subject.quarantines.size() == 1;
}

void KillerLoad::Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) {
  WorkflowLoad::Check(subject, state, violations);
  auto violated = [&](const std::string& what) { violations.push_back(subject.id.ToString() + ": " + what); };
  const Kind kind = kinds_made_.at(subject.id);
  const int kills = kills_[subject.id];
  if (kills > kMostKills) violated(fmt::format("it killed {} workers before it was judged", kills));
  auto view = workflow::ViewOf(state);
  if (!view) return;
  if (kind == Kind::kLong || kind == Kind::kQuick) {
    completed_ += view->status == "COMPLETED";
    if (view->status != "COMPLETED") violated("it did no harm and is " + view->status);
    if (!subject.quarantines.empty()) violated("it did no harm and was quarantined: " + subject.quarantines.back().detail);
    return;
  }
  if (kills < 5) violated(fmt::format("judged after {} deaths", kills));
  if (kind == Kind::kPureKiller) {
    judged_[kind] += subject.quarantined();
    if (!subject.quarantined()) violated("what kills its workers was not quarantined");
    return;
  }
  judged_[kind] += view->status == "FAILED" || view->status == "ROLLED_BACK";
  if (view->failed_step != kKills) violated("what kills its workers ended as " + view->status);
  const std::size_t allowed = kind == Kind::kJournaledKiller ? 1 : 0;
  released_ += int(subject.quarantines.size());
  if (subject.quarantines.size() > allowed) violated("quarantined, though there was a step to fail");
}

}  // namespace acl::test
