// tests/data/definitions: every file is loaded; what is expected to be found stands beside it (NAME.expected). The first line says what the
// JSON Schema thinks: accepts, refuses, or "-" if the text is not even a tree. The published schema and the loader must agree:
//   - what the loader takes, the schema takes;
//   - what the schema refuses, the loader refuses.
// ACL_UPDATE_EXPECTED=1 rewrites the expectations; read the difference before committing it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "shared/definition/source_tree.h"
#include "tests/unit/definition/schema_check.h"
#include "tests/unit/definition/test_registry.h"

namespace acl {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = fs::path(ACL_SOURCE_DIR);

std::string Slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const test::SchemaCheck& Schema() {
  static const test::SchemaCheck schema(*ParseJson(Slurp(kRoot / "docs/reference/workflow.schema.json")));
  return schema;
}

// What the schema says of the tree: "" accepts, else why not. nullopt: no tree.
std::optional<std::string> SchemaOpinion(const std::string& text) {
  std::vector<Finding> ignored;
  auto tree = ReadSource(text, {}, &ignored);
  if (!tree) return std::nullopt;
  return Schema().Check(ToJson(*tree));
}

std::vector<fs::path> Files(const char* folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/data/definitions" / folder))
    if (entry.path().extension() != ".expected") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

Loaded Load(const std::string& text) {
  static const CapabilityRegistry registry = test::SmallRegistry();
  return LoadWorkflow(text, registry, {});
}

std::string Report(const Loaded& loaded, const std::optional<std::string>& schema) {
  std::string out = std::string("schema: ") + (!schema ? "-" : schema->empty() ? "accepts" : "refuses") + "\n";
  for (const Finding& finding : loaded.findings) out += FormatFinding("", finding).substr(1) + "\n";
  return out;
}

void CheckExpected(const fs::path& file, const std::string& report) {
  const fs::path expected = file.string() + ".expected";
  if (std::getenv("ACL_UPDATE_EXPECTED")) std::ofstream(expected) << report;
  EXPECT_EQ(report, Slurp(expected)) << file;
}

TEST(Corpus, ValidFilesLoad) {
  const auto files = Files("valid");
  EXPECT_GE(files.size(), 12u);
  for (const fs::path& file : files) {
    const std::string text = Slurp(file);
    Loaded loaded = Load(text);
    auto schema = SchemaOpinion(text);
    EXPECT_TRUE(loaded.ok()) << file;
    ASSERT_TRUE(schema) << file;
    EXPECT_EQ(*schema, "") << file << ": the loader takes it, the schema does not";
    CheckExpected(file, Report(loaded, schema));
    if (loaded.ok()) {
      EXPECT_EQ(PlanOrder(*loaded.definition).size(), loaded.definition->steps.size()) << file;
    }
  }
}

TEST(Corpus, InvalidFilesAreRefusedWithAllFindings) {
  const auto files = Files("invalid");
  EXPECT_GE(files.size(), 35u);
  for (const fs::path& file : files) {
    const std::string text = Slurp(file);
    Loaded loaded = Load(text);
    EXPECT_FALSE(loaded.ok()) << file;
    for (const Finding& finding : loaded.findings) EXPECT_GT(finding.mark.line, 0) << file << " " << finding.code;
    CheckExpected(file, Report(loaded, SchemaOpinion(text)));
  }
}

// One key at a time gets a value of every kind: where the schema refuses the loader must, and the other way round for plain types.
TEST(Corpus, SchemaAndLoaderAgreeKeyByKey) {
  const Json base = *ParseJson(
      R"({"name":"w","version":"1","description":"","workflow_id":"i","metadata":{"owner":"o","business_unit":"b","compliance_tags":[],"audit_level":"FULL","retention_days":1,"tags":[]},
    "initial_state":{},"inputs":{"i":{"type":"any","description":"","required":false}},"policy":[{"agent_name":"a","allowed_capabilities":[]}],"max_execution_time_seconds":1,"enable_auto_rollback":true,"queue":"q","priority":1,
    "global_compensation_steps":[{"name":"g","capability":"test.fail","inputs":{},"description":"","max_retries":1,"timeout_seconds":1}],
    "steps":[{"name":"s","step_type":"ACTION","capability":"test.fail","agent_name":"a","description":"","inputs":{},"depends_on":[],"risk_level":"LOW","max_retries":1,"timeout_seconds":1,"step_timeout_seconds":1,
      "on_unknown_outcome":"ask","retry":{"backoff":"fixed","initial_delay":1,"max_delay":1,"multiplier":1,"jitter":0},"compensation":{"step_name":"s","capability":"test.fail","inputs":{},"description":"","max_retries":1,"timeout_seconds":1},"queue":"q","priority":1}]})");
  const std::vector<Json> values = {nullptr,
                                    true,
                                    false,
                                    0,
                                    1,
                                    2,
                                    4,
                                    -1,
                                    1.5,
                                    2.0,
                                    1e12,
                                    "",
                                    "x",
                                    "1",
                                    "-1",
                                    "yes",
                                    "5m",
                                    "1.5s",
                                    "5 m",
                                    "fixed",
                                    "LOW",
                                    "low",
                                    "ask",
                                    Json::array(),
                                    Json::array({"s"}),
                                    Json::array({1}),
                                    Json::object()};
  ASSERT_EQ(Schema().Check(base), "");
  int compared = 0;
  const Json flat = base.flatten();
  std::set<std::string> pointers;
  for (const auto& [pointer, value] : flat.items())
    for (std::string at = pointer; !at.empty(); at = at.substr(0, at.rfind('/'))) pointers.insert(at);
  for (const std::string& pointer : pointers) {
    for (const Json& value : values) {
      Json changed = base;
      changed[Json::json_pointer(pointer)] = value;
      const std::string schema = Schema().Check(changed);
      Loaded loaded = Load(DumpJson(changed));
      // The loader alone knows names, references and what a default must be; everything else is the schema's business too.
      static const std::set<std::string> kBeyond = {"unknown-dependency", "self-dependency", "compensation-step",
                                                    "bad-name",           "out-of-range",    "bad-duration"};
      bool only_beyond = !loaded.ok() && std::all_of(loaded.findings.begin(), loaded.findings.end(), [&](const Finding& one) {
        return one.severity == Finding::Severity::kWarning || kBeyond.contains(one.code);
      });
      if (!only_beyond) {
        EXPECT_EQ(schema.empty(), loaded.ok()) << pointer << " = " << value << ": schema says '" << schema << "', loader "
                                               << (loaded.findings.empty() ? "nothing" : FormatFinding("", loaded.findings[0]));
      }
      if (loaded.ok()) {
        EXPECT_EQ(schema, "") << pointer << " = " << value;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(Corpus, ExamplesAreCleanUnderTheSchema) {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(kRoot / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++seen;
    const std::string text = Slurp(entry.path());
    EXPECT_EQ(SchemaOpinion(text), std::optional<std::string>("")) << entry.path();
    Loaded loaded = Load(text);
    for (const Finding& finding : loaded.findings)
      EXPECT_EQ(finding.severity, Finding::Severity::kWarning) << FormatFinding(entry.path().filename().string(), finding);
  }
  EXPECT_GE(seen, 5);
}

}  // namespace
}  // namespace acl
