// What a fleet's pages and docs/operate/alerts.yml are to Prometheus itself: checked by the real promtool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "shared/telemetry/names.h"
#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

const std::string kSource = ACL_SOURCE_DIR;

std::string Promtool() {
  const char* path = std::getenv("ACL_TEST_PROMTOOL");
  EXPECT_NE(path, nullptr) << "run ./dev test jaeger";
  return path ? path : "promtool";
}

RunResult CheckMetrics(const TestFolder& folder, const std::string& page) {
  WriteFile(folder / "page", page);
  return RunProgram({"/bin/sh", "-c", "exec \"$0\" check metrics < \"$1\"", Promtool(), (folder / "page").string()});
}

// Lines that start with `start`, what is behind it.
std::set<std::string> Lines(const std::string& text, const std::string& start) {
  std::set<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) found.insert(line.substr(start.size()));
  }
  return found;
}

std::string WithoutMetrics(const std::string& page, const std::set<std::string>& names) {
  std::string out;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::string of = line.starts_with("# ") ? line.substr(7) : line;  // "# HELP ", "# TYPE "
    const bool drop = std::any_of(names.begin(), names.end(), [&](const auto& name) { return of.starts_with(name); });
    if (!drop) out += line + "\n";
  }
  return out;
}

TEST(Promtool, PassesThePagesOfAFleetThatWorked) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1, {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"}});  // so that it counts spans too
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2);
  run.OpenAll();
  run.ExpectCompletedOnce();
  // Document 000's names bind and are not what Prometheus' linter likes; nothing else may displease it.
  std::set<std::string> bound;
  const auto all = names::All();
  for (std::size_t i = 0; i < 6; ++i) bound.emplace(all[i]->name);
  EXPECT_TRUE(bound.contains("restore_time_ms") && bound.contains("idempotency_cache_hits"));
  const std::string documented = ReadFile(kSource + "/docs/reference/metrics.md");
  std::set<std::string> seen;
  for (const std::string& url : {fleet.ApiUrl(), fleet.HealthUrl(1)}) {
    const std::string page = HttpGet(url + "/metrics").body;
    const auto whole = CheckMetrics(fleet.folder(), page);
    for (const std::string& complaint : Lines(whole.out + whole.err, "")) {
      const auto name = complaint.substr(0, complaint.find(' '));
      EXPECT_TRUE(bound.contains(name)) << complaint;
    }
    const auto ours = CheckMetrics(fleet.folder(), WithoutMetrics(page, bound));
    EXPECT_EQ(ours.exit_code, 0) << ours.out << ours.err;
    for (const std::string& line : Lines(page, "# TYPE ")) {
      const auto space = line.find(' ');
      const std::string name = line.substr(0, space);
      seen.insert(name);
      EXPECT_THAT(documented, ::testing::HasSubstr("| `" + name + "` | " + line.substr(space + 1) + " |")) << "docs/reference/metrics.md";
    }
  }
  EXPECT_GT(seen.size(), 25u);
  EXPECT_TRUE(seen.contains("acl_trace_spans_total"));
  // The test itself: promtool does say no.
  EXPECT_NE(CheckMetrics(fleet.folder(), "# HELP a_count x\n# TYPE a_count counter\na_count 1\n").exit_code, 0);
}

TEST(Promtool, TestsTheAlertRules) {
  const std::string rules = kSource + "/docs/operate/alerts.yml";
  const auto checked = RunProgram({Promtool(), "check", "rules", rules});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  TestFolder folder;
  const std::vector<std::string> files = {ReadFile(kSource + "/tests/jaeger/alerts_test.yml"),
                                          ReadFile(kSource + "/tests/jaeger/objectives_test.yml")};
  const auto run = [&](const std::string& cases, const std::string& rule_file) {
    std::string text = cases;
    text.replace(text.find("[ALERTS]"), 8, "[" + rule_file + "]");
    WriteFile(folder / "cases.yml", text);
    return RunProgram({Promtool(), "test", "rules", (folder / "cases.yml").string()});
  };
  for (const std::string& cases : files) {
    const auto tested = run(cases, rules);
    EXPECT_EQ(tested.exit_code, 0) << tested.out << tested.err;
  }
  // A rule that never fires is found out: each alone, with a condition that cannot be true.
  const std::string text = ReadFile(rules);
  const std::regex alert(R"(alert: (\w+)\n)");
  int rules_seen = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), alert), end; it != end; ++it) {
    ++rules_seen;
    std::string broken = text;
    const auto expression = broken.find("expr: ", std::size_t(it->position()));
    broken.replace(expression, broken.find('\n', expression) - expression, "expr: vector(0) > 1");
    WriteFile(folder / "broken.yml", broken);
    const bool about_hours = files[1].find((*it)[1]) != std::string::npos;
    EXPECT_NE(run(files[about_hours ? 1 : 0], (folder / "broken.yml").string()).exit_code, 0) << (*it)[1];
  }
  EXPECT_GE(rules_seen, 10);
}

// A rule on a metric that nobody has would be silent for ever.
TEST(Promtool, AlertsNameMetricsThatThereAre) {
  std::set<std::string> known;
  for (const MetricDef* def : names::All()) known.emplace(def->name);
  const std::string text = ReadFile(kSource + "/docs/operate/alerts.yml");
  const std::regex expression("expr: (.*)"), labels(R"(\{[^}]*\}|\b(by|without) ?\([^)]*\))"), name("[a-z][a-z0-9_]*_[a-z0-9_]+");
  std::set<std::string> used;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) {
    const std::string line = std::regex_replace((*it)[1].str(), labels, "");
    for (std::sregex_iterator word(line.begin(), line.end(), name); word != end; ++word) {
      std::string metric = word->str();
      if (metric == "histogram_quantile" || metric == "avg_over_time") continue;
      if (metric.ends_with("_bucket")) metric.resize(metric.size() - 7);
      EXPECT_TRUE(known.contains(metric)) << metric;
      used.insert(metric);
    }
  }
  EXPECT_GE(used.size(), 10u);
}

}  // namespace
}  // namespace acl::test
