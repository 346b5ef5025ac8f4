#include "shared/telemetry/metrics.h"

#include <gtest/gtest.h>

#include "shared/telemetry/kernel_metrics.h"

namespace acl {
namespace {

TEST(Metrics, SameNameAndLabelsIsTheSameNumber) {
  Metrics metrics;
  metrics.counter(names::kCommits, {{"outcome", "fenced"}}).Add();
  metrics.counter(names::kCommits, {{"outcome", "fenced"}}).Add(2);
  metrics.counter(names::kCommits, {{"outcome", "committed"}}).Add(5);
  EXPECT_EQ(metrics.counter(names::kCommits, {{"outcome", "fenced"}}).Value(), 3);
  const auto page = metrics.Page();
  EXPECT_NE(page.find("acl_commits_total{outcome=\"fenced\"} 3"), std::string::npos) << page;
  EXPECT_NE(page.find("# TYPE acl_commits_total counter"), std::string::npos) << page;
}

TEST(Metrics, ADefaultHandleCountsNothing) {
  KernelMetrics none;
  none.committed.Add();
  Gauge gauge;
  gauge.Set(4);
  none.commit_batch_size.Observe(4);
  EXPECT_EQ(none.committed.Value(), 0);
  EXPECT_EQ(gauge.Value(), 0);
  EXPECT_EQ(none.commit_batch_size.Count(), 0);
}

TEST(Metrics, TheSixNamesOfDocument000AreOnThePage) {
  Metrics metrics;
  KernelMetrics kernel(metrics);
  kernel.events_replayed.Observe(7);
  kernel.lease_acquisition_failures.Add();
  const auto page = metrics.Page();
  for (const char* type :
       {"restore_time_ms histogram", "events_replayed_per_restore histogram", "time_since_last_snapshot_sec histogram",
        "journal_size_since_snapshot_bytes histogram", "lease_acquisition_failures counter", "idempotency_cache_hits counter"}) {
    EXPECT_NE(page.find(std::string("# TYPE ") + type), std::string::npos) << type;
  }
  EXPECT_NE(page.find("events_replayed_per_restore_bucket{le=\"10\"} 1"), std::string::npos) << page;
  EXPECT_NE(page.find("events_replayed_per_restore_bucket{le=\"5\"} 0"), std::string::npos) << page;
  EXPECT_NE(page.find("\nlease_acquisition_failures 1"), std::string::npos) << page;
  EXPECT_EQ(kernel.events_replayed.Sum(), 7);
}

}  // namespace
}  // namespace acl
