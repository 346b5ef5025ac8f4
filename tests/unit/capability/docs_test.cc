#include <fstream>

#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// docs/reference/capabilities.md is the registry written out; ACL_UPDATE_DOCS=1 rewrites it.
TEST(Docs, CapabilitiesPageSaysWhatTheRegistrySays) {
  CapabilityRegistry registry;
  RegisterStandardCapabilities(registry, {});
  std::string want = CapabilityMarkdown(registry), path = std::string(ACL_SOURCE_DIR) + "/docs/reference/capabilities.md";
  if (::getenv("ACL_UPDATE_DOCS")) std::ofstream(path) << want;
  EXPECT_EQ(ReadText(path), want) << "run the test with ACL_UPDATE_DOCS=1 and commit docs/reference/capabilities.md";
}

TEST(Docs, EveryRowIsWhole) {
  CapabilityRegistry registry;
  RegisterStandardCapabilities(registry, {});
  std::set<std::string> types{"string", "integer", "float", "boolean", "array", "object", "any"};
  for (const auto* spec : registry.All()) {
    EXPECT_FALSE(spec->summary.empty() || spec->docs.empty()) << spec->id;
    EXPECT_NE(registry.Handler(spec->id) != nullptr, registry.Starter(spec->id) != nullptr) << spec->id;
    for (const auto* fields : {&spec->parameters, &spec->results}) {
      for (const auto& field : *fields) {
        EXPECT_TRUE(types.contains(field.type)) << spec->id << "." << field.name;
        EXPECT_FALSE(field.description.empty()) << spec->id << "." << field.name;
        EXPECT_FALSE(field.required && field.default_value) << spec->id << "." << field.name;
      }
    }
    // Defaults fit their own types.
    Json defaults = Json::object();
    for (const auto& field : spec->parameters) {
      if (field.default_value) defaults[field.name] = *field.default_value;
    }
    for (const auto& line : CheckParameters(*spec, defaults, false)) EXPECT_NE(line.find("missing parameter"), std::string::npos) << line;
    Json view = CapabilityToJson(*spec);
    EXPECT_EQ(view["id"], spec->id);
    EXPECT_EQ(view["parameters"].size(), spec->parameters.size());
  }
}

TEST(Docs, EffectsAndRisksAreThoseOfTheTable) {
  CapabilityRegistry registry;
  RegisterStandardCapabilities(registry, {});
  const std::tuple<const char*, EffectClass, RiskLevel> table[] = {
      {"io.fs.read_file", EffectClass::kPure, RiskLevel::kLow},      {"io.fs.write_file", EffectClass::kPure, RiskLevel::kMedium},
      {"io.fs.delete", EffectClass::kPure, RiskLevel::kHigh},        {"sys.archive.zip", EffectClass::kPure, RiskLevel::kMedium},
      {"sys.info.get_time", EffectClass::kRead, RiskLevel::kLow},    {"sys.exec.run", EffectClass::kNonIdempotent, RiskLevel::kHigh},
      {"net.http.get", EffectClass::kRead, RiskLevel::kLow},         {"net.http.post", EffectClass::kNonIdempotent, RiskLevel::kHigh},
      {"net.http.put", EffectClass::kIdempotent, RiskLevel::kHigh},  {"data.json.get", EffectClass::kPure, RiskLevel::kLow},
      {"text.template.render", EffectClass::kPure, RiskLevel::kLow},
  };
  for (const auto& [id, effect, risk] : table) {
    const auto* spec = registry.Find(id);
    ASSERT_TRUE(spec) << id;
    EXPECT_EQ(spec->effect, effect) << id;
    // Whatever changes files of the run gives them back.
    const bool changes_files =
        std::set<std::string_view>{"sys.exec.run", "io.fs.delete", "io.fs.write_file", "sys.archive.zip"}.contains(id);
    EXPECT_EQ(spec->undo == UndoKind::kFiles, changes_files) << id;
    EXPECT_EQ(spec->risk, risk) << id;
  }
  EXPECT_FALSE(registry.Find("sys.exec.run")->honours_key);
  EXPECT_FALSE(registry.Find("net.http.post")->honours_key);
  EXPECT_EQ(registry.Find("io.fs.write_file")->undo, UndoKind::kFiles);
}

}  // namespace
}  // namespace acl
