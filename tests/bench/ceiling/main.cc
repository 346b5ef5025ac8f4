// bench-ceiling: what PostgreSQL alone gives on this machine for the same work, a closed loop of batched, fenced commits.
//
//   bench-ceiling l1 --database CONNINFO            one connection, one step a commit: the least latency of a durable step
//   bench-ceiling l2 --database CONNINFO            two connections, 64 steps a commit of runs that are there: the most steps a second
//   bench-ceiling closed N --database CONNINFO      N runs of ten steps in flight, one connection, what became ready while the last commit
//                                                   was on its way is the next batch
//   ... [--warm-up S] [--window S] [--rounds R]
//
// Makes the schema `lean` in that database anew.
#include <poll.h>

#include <iostream>

#include "tests/bench/ceiling/lean.h"
#include "tests/bench/figures/rounds.h"
#include "tests/bench/wire/arguments.h"

namespace acl::bench {
namespace {

struct Options {
  std::string conninfo;
  double warm_up = 1, window = 5;
  int rounds = 1;
};

void Await(Database* database) {
  while (!database->Finished()) {
    pollfd wait{database->socket(), POLLIN, 0};
    poll(&wait, 1, 1000);
  }
}

void Done(std::int64_t steps) { Rounds::Say({{"mark", "done"}, {"steps", steps}}); }

// Runs are made as needed, so that no range can run out; making one is no part of a step's time.
void OneStepAtATime(const Options& options) {
  Database database(PinnedPlans(options.conninfo));
  MakeLeanTables(&database, 0);
  LeanBatch::Prepare(&database);
  LeanBatch batch;
  Rounds rounds(options.warm_up, options.window, options.rounds);
  std::int64_t steps = 0;
  for (std::int64_t run = 0; !rounds.Over(rounds.Now()); ++run) {
    for (int step = 0; step <= kModelSteps; ++step) {
      batch.Clear();
      if (step == 0) {
        batch.AddRun(run);
      } else {
        batch.AddStep(run, step);
      }
      const std::int64_t began = rounds.Now();
      batch.Send(&database);
      Await(&database);
      LeanBatch::Check(database.Take(), batch.steps());
      if (step > 0) rounds.Count(began, rounds.Now(), 1, 1);
      steps += batch.steps();
    }
  }
  Done(steps);
}

// Two connections at work at once, each with runs of its own; a range large enough for 400 000 steps a second is there before it begins.
void TwoConnections(const Options& options) {
  constexpr int kConnections = 2, kBatch = 64;
  const double seconds = (options.warm_up + options.window) * options.rounds + 1;
  const auto runs_each = static_cast<std::int64_t>(seconds * 20'000 / kBatch) * kBatch;
  struct Side {
    explicit Side(const std::string& conninfo) : database(conninfo) { LeanBatch::Prepare(&database); }
    Database database;
    LeanBatch batch;
    std::int64_t first = 0, end = 0, began = 0;
    int step = 0;
  };
  {
    Database maker(options.conninfo);
    MakeLeanTables(&maker, runs_each * kConnections);
  }
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<pollfd> waits;
  for (int i = 0; i < kConnections; ++i) {
    sides.push_back(std::make_unique<Side>(PinnedPlans(options.conninfo)));
    sides.back()->first = i * runs_each;
    sides.back()->end = (i + 1) * runs_each;
    waits.push_back({sides.back()->database.socket(), POLLIN, 0});
  }
  Rounds rounds(options.warm_up, options.window, options.rounds);
  std::int64_t steps = 0;
  const auto send = [&](Side* side) {
    if (side->step == kModelSteps) {
      side->step = 0;
      side->first += kBatch;
      if (side->first + kBatch > side->end) throw std::runtime_error("l2: the range of runs ran out: faster than 400 000 steps a second");
    }
    ++side->step;
    side->batch.Clear();
    for (int i = 0; i < kBatch; ++i) side->batch.AddStep(side->first + i, side->step);
    side->began = rounds.Now();
    side->batch.Send(&side->database);
  };
  for (auto& side : sides) send(side.get());
  int at_work = kConnections;
  while (at_work > 0) {
    poll(waits.data(), waits.size(), 100);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Side& side = *sides[i];
      if (waits[i].revents == 0 || waits[i].fd < 0 || !side.database.Finished()) continue;
      LeanBatch::Check(side.database.Take(), kBatch);
      steps += kBatch;
      const std::int64_t now = rounds.Now();
      rounds.Count(side.began, now, 1, kBatch);
      if (!rounds.Over(now)) {
        send(&side);
      } else {
        waits[i].fd = -1;
        --at_work;
      }
    }
  }
  Done(steps);
}

void ClosedLoop(const Options& options, int in_flight) {
  constexpr std::size_t kLargest = 512;
  struct Run {
    std::int64_t id = 0, began = 0;
    int step = -1;  // -1: its row is to be made
  };
  Database database(PinnedPlans(options.conninfo));
  MakeLeanTables(&database, 0);
  LeanBatch::Prepare(&database);
  LeanBatch batch;
  Rounds rounds(options.warm_up, options.window, options.rounds);
  std::vector<Run> runs(static_cast<std::size_t>(in_flight));
  std::int64_t next_id = 1, steps = 0;
  std::deque<Run*> ready;
  for (Run& run : runs) {
    run = {next_id++, rounds.Now(), -1};
    ready.push_back(&run);
  }
  std::vector<Run*> out;
  while (!rounds.Over(rounds.Now())) {
    batch.Clear();
    out.clear();
    while (!ready.empty() && out.size() < kLargest) {
      Run* run = ready.front();
      ready.pop_front();
      if (run->step < 0) {
        batch.AddRun(run->id);
      } else {
        batch.AddStep(run->id, run->step + 1);
      }
      out.push_back(run);
    }
    batch.Send(&database);
    Await(&database);
    LeanBatch::Check(database.Take(), batch.steps());
    const std::int64_t now = rounds.Now();
    rounds.CountSteps(batch.steps());
    steps += batch.steps();
    for (Run* run : out) {
      if (++run->step == kModelSteps) {
        rounds.Count(run->began, now, 1, 0);
        *run = {next_id++, now, -1};
      }
      ready.push_back(run);
    }
  }
  Done(steps);
}

int Main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  Options options;
  options.conninfo = arguments.Text("database", "");
  options.warm_up = arguments.Number("warm-up", options.warm_up);
  options.window = arguments.Number("window", options.window);
  options.rounds = arguments.Int("rounds", options.rounds);
  arguments.RefuseOthers();
  const auto& words = arguments.words();
  const std::string what = words.empty() ? "" : words[0];
  if (what == "l1" && words.size() == 1) {
    OneStepAtATime(options);
  } else if (what == "l2" && words.size() == 1) {
    TwoConnections(options);
  } else if (what == "closed" && words.size() == 2 && std::atoi(words[1].c_str()) > 0) {
    ClosedLoop(options, std::atoi(words[1].c_str()));
  } else {
    throw std::runtime_error("say l1, l2 or closed N");
  }
  return 0;
}

}  // namespace
}  // namespace acl::bench

int main(int argc, char** argv) {
  try {
    return acl::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench-ceiling: " << error.what() << "\n";
    return 1;
  }
}
