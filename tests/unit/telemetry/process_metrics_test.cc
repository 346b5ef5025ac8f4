#include "shared/telemetry/process_metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/telemetry/names.h"

namespace acl {
namespace {

TEST(ProcessMetrics, ReadsWhatProcSays) {
  // proc(5): utime is field 14, stime 15, threads 20, starttime 22, vsize 23, rss 24.
  const auto use = ParseProcStat(
      "4711 (a b) c) S 1 4711 4711 0 -1 4194560 9000 1 2 3 250 50 7 8 20 0 13 0 123456 99999744 2048 18446744073709551615 1 1 0\n");
  ASSERT_TRUE(use);
  EXPECT_EQ(use->cpu_ticks, 300);
  EXPECT_EQ(use->threads, 13);
  EXPECT_EQ(use->started_ticks, 123456);
  EXPECT_EQ(use->virtual_bytes, 99999744);
  EXPECT_EQ(use->resident_pages, 2048);
  for (const char* text : {"", "4711 (a", "4711 (a) S 1 2 3", "no process"}) EXPECT_FALSE(ParseProcStat(text)) << text;
}

TEST(ProcessMetrics, TellsOfThisProcess) {
  Metrics metrics;
  ProcessMetrics process(metrics);
  process.Measure();
  const auto value = [&](const MetricDef& def) { return metrics.gauge(def).Value(); };
  EXPECT_GT(value(names::kProcessResident), 1'000'000);
  EXPECT_GT(value(names::kProcessVirtual), value(names::kProcessResident));
  EXPECT_GE(value(names::kProcessThreads), 1);
  EXPECT_GE(value(names::kProcessMaxFds), value(names::kProcessFds));
  const double now = double(MicrosOf(SystemClock().Wall())) / 1e6;
  EXPECT_LE(value(names::kProcessStart), now + 2);
  EXPECT_GT(value(names::kProcessStart), now - 3'600 * 24);
  const double files = value(names::kProcessFds);
  EXPECT_GE(files, 3);
  const int more = dup(1);
  process.Measure();
  EXPECT_EQ(value(names::kProcessFds), files + 1);
  close(more);
  const double before = metrics.counter(names::kProcessCpu).Value();
  volatile unsigned turned = 0;
  while (metrics.counter(names::kProcessCpu).Value() < before + 0.05) {
    for (int n = 0; n < 1'000'000; ++n) turned = turned + 1;
    process.Measure();
  }
  process.Measure();
  EXPECT_LT(metrics.counter(names::kProcessCpu).Value(), before + 60) << "it is set, not added up";
}

}  // namespace
}  // namespace acl
