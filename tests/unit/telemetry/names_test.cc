// docs/reference/metrics.md is the list of metrics as people build dashboards and alerts on it: names, types and meaning change only on
// purpose (ACL_UPDATE_DOCS=1 build/dev/bin/unit_telemetry writes it).
#include "shared/telemetry/names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace acl {
namespace {

std::string TextOfFile(const std::string& path) {
  std::ifstream file(std::string(ACL_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Counters end in _total, but for two whose names are document 000's.
std::string TypeOf(const MetricDef& def) {
  if (!def.buckets.empty()) return "histogram";
  const bool counts = def.name.ends_with("_total") || &def == &names::kLeaseAcquisitionFailures || &def == &names::kIdempotencyHits;
  return counts ? "counter" : "gauge";
}

std::string Page() {
  std::string page =
      "# Metrics\n\n"
      "Generated from `shared/telemetry/names.h`; a test holds this page to it. Coordinators show theirs at `/metrics` of the API's "
      "address,\n"
      "workers at that of `--health-listen`; a metric is on the page of the process that has something to say of it. The first six are\n"
      "document 000's (11.7.7), under its names. Alert rules: `docs/operate/alerts.yml`.\n\n"
      "| name | type | meaning |\n|---|---|---|\n";
  for (const MetricDef* def : names::All()) {
    page += "| `" + std::string(def->name) + "` | " + TypeOf(*def) + " | " + std::string(def->help) + " |\n";
  }
  return page;
}

TEST(MetricNames, EachIsInTheList) {
  const std::string source = TextOfFile("shared/telemetry/names.h");
  const std::regex definition(R"(const MetricDef (k\w+)\{\s*"(\w+)\")");
  std::vector<std::string> defined, listed;
  for (std::sregex_iterator it(source.begin(), source.end(), definition), end; it != end; ++it) defined.push_back((*it)[2]);
  for (const MetricDef* def : names::All()) listed.emplace_back(def->name);
  EXPECT_GT(listed.size(), 30u);
  EXPECT_EQ(defined, listed) << "add it to names::All(), in the order of the file";
}

TEST(MetricNames, AreThoseOfTheDocumentation) {
  if (std::getenv("ACL_UPDATE_DOCS") != nullptr) std::ofstream(std::string(ACL_SOURCE_DIR) + "/docs/reference/metrics.md") << Page();
  EXPECT_EQ(TextOfFile("docs/reference/metrics.md"), Page()) << "ACL_UPDATE_DOCS=1 build/dev/bin/unit_telemetry writes it";
}

}  // namespace
}  // namespace acl
