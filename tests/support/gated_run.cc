#include "tests/support/gated_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

namespace acl::test {

GatedRun::GatedRun(Fleet& fleet, int steps, const Shape& shape) : fleet_(fleet), steps_(steps) {
  std::string yaml = "name: gated\nsteps:\n";
  for (int step = 1; step <= steps; ++step) {
    const auto after = shape.depends_on.find(step);
    const auto queue = shape.queues.find(step);
    yaml += "  - name: " + StepName(step) + "\n    capability: sys.exec.run\n    on_unknown_outcome: " + shape.on_unknown_outcome +
            (after == shape.depends_on.end() ? "" : "\n    depends_on: " + after->second) +
            (queue == shape.queues.end() ? "" : "\n    queue: " + queue->second) +
            "\n    inputs:\n      command: sh\n      timeout: 120\n      args: [\"-c\", \"echo $FENCING_TOKEN >> " + Path(step, "starts") +
            "; while [ ! -e " + Path(step, "go") + " ]; do sleep 0.02; done; echo done\"]\n";
  }
  id_ = fleet_.Submit(yaml + shape.more_steps);
}

std::string GatedRun::Path(int step, const std::string& what) const { return fleet_.folder() / (StepName(step) + "." + what); }

bool GatedRun::AwaitStarted(int step, int times) {
  if (WaitUntil([&] { return Starts(step) >= times; })) return true;
  ADD_FAILURE() << StepName(step) << " was started " << Starts(step) << " times, not " << times << ": " << DumpJson(fleet_.Run(id_)) << "\n"
                << fleet_.Logs();
  return false;
}

void GatedRun::Open(int step) { WriteFile(Path(step, "go"), ""); }

void GatedRun::OpenAll() {
  for (int step = 1; step <= steps_; ++step) Open(step);
}

int GatedRun::Starts(int step) const { return int(Tokens(step).size()); }

std::vector<std::int64_t> GatedRun::Tokens(int step) const {
  std::istringstream lines(ReadFile(Path(step, "starts")));
  std::vector<std::int64_t> tokens;
  for (std::string line; std::getline(lines, line);) tokens.push_back(line.empty() ? 0 : std::stoll(line));
  return tokens;
}

void GatedRun::ExpectCompletedOnce() {
  ASSERT_TRUE(fleet_.AwaitStatus(id_, "COMPLETED"));
  const auto where = " where workflow_id = '" + id_ + "'";
  EXPECT_EQ(Psql(fleet_.database_url(), "select count(*) || ' ' || count(distinct step_id) from completed_steps" + where),
            std::to_string(steps_) + " " + std::to_string(steps_));
  // Tokens never fall along the journal.
  EXPECT_EQ(Psql(fleet_.database_url(),
                 "select count(*) from (select fencing_token < lag(fencing_token) over (order by event_seq) as fell from events" + where +
                     ") t where fell"),
            "0");
  fleet_.ExpectVerified();
}

}  // namespace acl::test
