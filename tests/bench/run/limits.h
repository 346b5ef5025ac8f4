#pragma once
// Targets beside throughput: how fast runs are taken in, what an idle fleet asks of the database, and whether a step of a long run costs
// more than one of a short run.

#include "tests/bench/figures/result.h"
#include "tests/bench/run/measure.h"

namespace acl::bench {

// Runs a second that the API takes in while no worker runs, 64 requests (or runs, in batches of 16) in flight.
double MeasureSubmit(const Stage& stage, bool batch);
// Statements a second of a coordinator and a worker that have nothing to do.
double MeasureIdle(const Stage& stage);
// CPU of everything but the load, a step: of four runs of `steps` steps at once, over that of ten-step runs, four in flight.
double MeasureLongRuns(const Stage& stage, int steps);
// Most memory, in MB, of one worker with so many calls on their way at once, each to a server that takes its time (limits_scale.cc).
double MeasureSlowCalls(const Stage& stage, int calls);
// CPU of everything but the load, a step of ten-step runs, 16 in flight: beside so many slow calls on the same worker, over that beside
// none.
double MeasureBesideCalls(const Stage& stage, int calls);
// A worker that holds so many leases is killed; seconds from the end of its time until another was granted the last of them.
double MeasureTakeover(const Stage& stage, int leases);
// Milliseconds within which 99 of 100 runs were restored by another worker, each from a snapshot of 150 kB and so many events
// after it, or more; a bound of the worker's histogram.
double MeasureRestore(const Stage& stage, int events);
// CPU of everything but the load, a step of ten-step runs, 16 in flight: beside so many open runs, each waiting for its timer, over that
// beside none.
double MeasureOpenRuns(const Stage& stage, int open);

}  // namespace acl::bench
