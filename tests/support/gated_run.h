#pragma once
// A workflow whose every step stops in the middle until the test lets it go on: each step is a shell that writes that it began, with the
// token it was given, and waits for a file. So a test can kill what it likes at each step of a run.

#include <string>
#include <vector>

#include "tests/support/fleet.h"

namespace acl::test {

class GatedRun {
 public:
  struct Shape {
    std::string on_unknown_outcome = "retry";
    std::map<int, std::string> depends_on;  // by step: "[step_1, step_2]"; the others follow the step before them
    std::map<int, std::string> queues;      // by step: dispatched there
    std::string more_steps;                 // YAML, after the gated ones
  };
  GatedRun(Fleet& fleet, int steps, const Shape& shape);
  GatedRun(Fleet& fleet, int steps) : GatedRun(fleet, steps, Shape()) {}

  const std::string& id() const { return id_; }
  int steps() const { return steps_; }
  static std::string StepName(int step) { return "step_" + std::to_string(step); }
  // Until the step's shell was started `times` times.
  bool AwaitStarted(int step, int times = 1);
  void Open(int step);
  void OpenAll();
  int Starts(int step) const;
  // The fencing tokens its shells were given, in order of their start.
  std::vector<std::int64_t> Tokens(int step) const;
  // COMPLETED, each step completed once, one writer per token, and `airun verify` clean.
  void ExpectCompletedOnce();

 private:
  std::string Path(int step, const std::string& what) const;

  Fleet& fleet_;
  int steps_;
  std::string id_;
};

}  // namespace acl::test
