#pragma once
// A project in memory: commands are decided, their events folded as the kernel does it, and may be replayed.

#include <string>
#include <vector>

#include "shared/kinds/project/decide.h"
#include "shared/kinds/project/next_step.h"
#include "tests/unit/kinds/project/golden.h"

namespace acl::project::test {

class ProjectDriver {
 public:
  explicit ProjectDriver(bool create = true, const std::string& verify = "");

  // One second later each time.
  Decided Try(const std::string& name, Json arguments = Json::object(), const std::string& by = "ann");
  // The same; a refusal is a failure of the test.
  Json Do(const std::string& name, Json arguments = Json::object(), const std::string& by = "ann");
  // The machine's reason for refusing it; empty: it was not refused.
  std::string Refused(const std::string& name, Json arguments = Json::object(), const std::string& by = "ann");

  Task TaskOf(const std::string& id) const;
  Goal GoalOf(const std::string& id) const;
  NextStep Next(const std::string& actor = "ann") const { return ChooseNext(state, actor); }
  // All events from the beginning: the deltas as they were, by their words.
  Document Replayed() const;
  void Wait(std::chrono::seconds time) { now_ += time; }

  Document state;
  std::vector<EventDraft> events;
  std::vector<GoldenHistory::Said> said;  // all commands, refused ones too

 private:
  WallTime now_{std::chrono::seconds(1'800'000'000)};
  std::vector<Json> patches_;
};

}  // namespace acl::project::test
