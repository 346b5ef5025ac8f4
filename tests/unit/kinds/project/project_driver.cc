#include "tests/unit/kinds/project/project_driver.h"

#include <gtest/gtest.h>

#include "shared/kinds/project/evolve.h"

namespace acl::project::test {

ProjectDriver::ProjectDriver(bool create, const std::string& verify) {
  if (!create) return;
  Json arguments = {{"name", "a project"}};
  if (!verify.empty()) arguments["verify"] = verify;
  Do("create_project", std::move(arguments));
}

Decided ProjectDriver::Try(const std::string& name, Json arguments, const std::string& by) {
  now_ += std::chrono::seconds(1);
  said.push_back({by, name, arguments});
  Decided decided = Decide(state, {name, std::move(arguments), by}, now_);
  for (const EventDraft& draft : decided.events) {
    Delta delta = Evolve(state, draft);
    patches_.push_back(delta.ToPatch());
    const Status applied = state.Apply(delta);
    EXPECT_TRUE(applied.ok()) << draft.type << ": " << applied.message();
    events.push_back(draft);
  }
  return decided;
}

Json ProjectDriver::Do(const std::string& name, Json arguments, const std::string& by) {
  Decided decided = Try(name, std::move(arguments), by);
  EXPECT_FALSE(decided.refused) << name << ": " << decided.refused->message;
  return decided.answer;
}

std::string ProjectDriver::Refused(const std::string& name, Json arguments, const std::string& by) {
  const Decided decided = Try(name, std::move(arguments), by);
  return decided.refused ? decided.refused->reason : "";
}

Task ProjectDriver::TaskOf(const std::string& id) const { return FindTask(state, id).value_or(Task{}); }
Goal ProjectDriver::GoalOf(const std::string& id) const { return FindGoal(state, id).value_or(Goal{}); }

Document ProjectDriver::Replayed() const {
  Document again;
  for (const Json& patch : patches_) {
    const Status applied = again.Apply(patch);
    EXPECT_TRUE(applied.ok()) << applied.message();
  }
  return again;
}

}  // namespace acl::project::test
