#include "tests/bench/figures/result.h"

#include <gtest/gtest.h>

namespace acl::bench {
namespace {

Point PointOf(const std::string& column, int in_flight, double steps_per_s, double p50, double p99) {
  Point point;
  point.column = column;
  point.in_flight = in_flight;
  point.window = {steps_per_s / 10, steps_per_s, p50, p99, p99 * 2};
  point.wal_bytes_per_step = 1500;
  point.transactions_per_step = 0.02;
  point.statements_per_step = 0.04;
  point.steps_per_commit = 50;
  point.cpu_us_per_step = {{"postgres", 20.0}, {"worker", 10.0}};
  point.peak_mb = {{"worker", 60.0}};
  return point;
}

Results Measured() {
  Results results;
  results.machine = "a machine";
  results.settings = {{"fsync", "on"}};
  results.flush_us = 100;
  results.l1_ms = 0.25;
  results.l2_steps_per_s = 90'000;
  results.ceiling = {{1, {400, 4000, 2, 3, 4}}, {64, {5000, 50'000, 12, 20, 30}}};
  results.points = {PointOf("embedded", 1, 3000, 3, 12), PointOf("embedded", 64, 31'000, 20, 40)};
  return results;
}

const Target& Named(const std::vector<Target>& targets, const std::string& name) {
  static const Target none{"missing", "", {}, false, ""};
  for (const Target& target : targets) {
    if (target.name == name) return target;
  }
  ADD_FAILURE() << "no target " << name;
  return none;
}

TEST(Medians, OfOddEvenAndNone) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median({}), 0);
  const Window window = MedianOf({{1, 10, 5, 9, 0}, {2, 30, 4, 8, 0}, {3, 20, 6, 7, 0}});
  EXPECT_EQ(window.runs_per_s, 2);
  EXPECT_EQ(window.steps_per_s, 20);
  EXPECT_EQ(window.p50_ms, 5);
  EXPECT_EQ(window.p99_ms, 8);
}

TEST(Targets, AreComparedWithTheCeilingOfTheSameRun) {
  const auto targets = TargetsOf(Measured());
  const Target& share = Named(targets, "embedded at 64: steps/s");
  EXPECT_DOUBLE_EQ(share.value.value_or(0), 62);
  EXPECT_TRUE(share.met);
  EXPECT_TRUE(Named(targets, "embedded at 1: p50").met);
  const Target& slow = Named(targets, "embedded at 1: p99");
  EXPECT_DOUBLE_EQ(slow.value.value_or(0), 4);
  EXPECT_FALSE(slow.met);
  EXPECT_EQ(slow.distance, "1.33 × too much");
  EXPECT_TRUE(Named(targets, "embedded at 64: WAL").met);
  EXPECT_TRUE(Named(targets, "embedded at 64: transactions").met);  // 0.02 x 50
  EXPECT_FALSE(Named(targets, "embedded at 64: statements").met);   // 0.04 x 50
}

TEST(Targets, WhatWasNotMeasuredIsNotMet) {
  auto results = Measured();
  results.ceiling.clear();
  for (const Target& target : TargetsOf(results)) {
    if (target.goal.find("ceiling") == std::string::npos) continue;
    EXPECT_FALSE(target.value.has_value()) << target.name;
    EXPECT_FALSE(target.met) << target.name;
  }
}

TEST(Targets, TheSlowColumnHasACeilingOfItsOwn) {
  auto results = Measured();
  results.points.push_back(PointOf(kSlowColumn, 64, 12'000, 40, 50));
  results.slow_ceiling = {{64, {2000, 20'000, 30, 40, 50}}};
  EXPECT_DOUBLE_EQ(Named(TargetsOf(results), "flush+1ms at 64: steps/s").value.value_or(0), 60);
}

TEST(Targets, ThePeerIsCompared) {
  auto results = Measured();
  for (
      const char* line :
      {R"({"peer":"dbos","in_flight":64,"steps_per_s":3100,"runs_per_s":310,"p50_ms":200,"p99_ms":300,"errors":0,"cpu_us_per_step":{"sdk":400}})",
       R"({"peer":"restate","in_flight":64,"steps_per_s":3000,"runs_per_s":300,"p50_ms":200,"p99_ms":300,"errors":0})",
       R"({"peer":"dbos","in_flight":16,"steps_per_s":9000,"runs_per_s":900,"p50_ms":2,"p99_ms":3,"errors":0})"}) {
    const auto peer = PeerOf(line);
    ASSERT_TRUE(peer.has_value()) << line;
    results.peers.push_back(*peer);
  }
  results.points.push_back(PointOf("kafka-no-continuation", 64, 7500, 10, 20));
  const auto targets = TargetsOf(results);
  std::vector<Target> best;
  for (const Target& target : targets) {
    if (target.goal.find("best peer") != std::string::npos) best.push_back(target);
  }
  ASSERT_EQ(best.size(), 1u);
  EXPECT_DOUBLE_EQ(best[0].value.value_or(0), 10);
  EXPECT_TRUE(best[0].met);
  const Target& hop = Named(targets, "kafka-no-continuation at 64: beside Restate");
  EXPECT_DOUBLE_EQ(hop.value.value_or(0), 2.5);
  EXPECT_TRUE(hop.met);
  EXPECT_NE(PeersText(results).find("embedded 10.0 ×"), std::string::npos) << PeersText(results);
  EXPECT_EQ(ToJson(results).at("peers").size(), 3u);
}

TEST(Peers, WhatFailedIsNone) {
  EXPECT_FALSE(PeerOf("no JSON").has_value());
  EXPECT_FALSE(PeerOf(R"({"peer":"dbos","in_flight":64,"steps_per_s":3100,"errors":3})").has_value());
  EXPECT_FALSE(PeerOf(R"({"peer":"dbos","in_flight":64})").has_value());
}

TEST(ResultsJson, HasWhatIsAskedFor) {
  const Json json = ToJson(Measured());
  EXPECT_EQ(json.at("l1_ms"), 0.25);
  EXPECT_EQ(json.at("l2_steps_per_s"), 90'000);
  ASSERT_EQ(json.at("ceiling").size(), 2u);
  EXPECT_EQ(json["ceiling"][1], Json({{"in_flight", 64}, {"steps_per_s", 50'000.0}, {"p50_ms", 12.0}, {"p99_ms", 20.0}, {"others", 0.0}}));
  ASSERT_EQ(json.at("points").size(), 2u);
  const Json& point = json["points"][1];
  for (const char* name :
       {"column", "in_flight", "steps_per_s", "share_of_ceiling", "p50_ms", "p99_ms", "wal_bytes_per_step", "cpu_us_per_step"}) {
    EXPECT_TRUE(point.contains(name)) << name;
  }
  EXPECT_DOUBLE_EQ(point["share_of_ceiling"], 0.62);
  EXPECT_EQ(point["cpu_us_per_step"]["postgres"], 20);
  EXPECT_EQ(point["cpu_us_per_step_all"], 30);
  for (const Json& target : json.at("targets")) {
    for (const char* name : {"name", "goal", "value", "met"}) EXPECT_TRUE(target.contains(name)) << name;
  }
}

TEST(ResultsText, SaysWhatWasDisturbed) {
  Results results = Measured();
  EXPECT_EQ(CeilingText(results.ceiling).find("disturbed"), std::string::npos);
  EXPECT_EQ(PointText(results, results.points[0]).find("disturbed"), std::string::npos);
  results.ceiling[0].window.others = results.points[0].window.others = 1.3;
  EXPECT_NE(CeilingText(results.ceiling).find("disturbed: 1.3"), std::string::npos);
  EXPECT_NE(PointText(results, results.points[0]).find("disturbed: 1.3"), std::string::npos);
}

TEST(ResultsText, SaysWhatIsMissing) {
  const std::string text = TargetsText(TargetsOf(Measured()));
  EXPECT_NE(text.find("✔"), std::string::npos);
  EXPECT_NE(text.find("✘ 1.33 × too much"), std::string::npos);
  EXPECT_NE(text.find("not measured in this run:"), std::string::npos);
  const Results results = Measured();
  const std::string line = PointText(results, results.points[1]);
  EXPECT_NE(line.find("62%"), std::string::npos) << line;
  EXPECT_NE(line.find("worker 10.0 (60)"), std::string::npos) << line;
}

}  // namespace
}  // namespace acl::bench
