#include "shared/aegis/kernel_file.h"

#include "shared/base/canonical_json.h"
#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis {
namespace {

using namespace bundles;

// "LINE:COLUMN code" of each.
std::vector<std::string> FindingsOf(const std::string& text) {
  std::vector<std::string> out;
  const LoadedKernel loaded = LoadKernel(text);
  for (const acl::Finding& finding : loaded.findings)
    out.push_back(std::to_string(finding.mark.line) + ":" + std::to_string(finding.mark.column) + " " + finding.code);
  EXPECT_EQ(loaded.kernel.has_value(), out.empty());
  return out;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(KernelFile, AnEmptyFileSaysWhatToDo) {
  const auto loaded = LoadKernel("");
  ASSERT_FALSE(loaded.kernel.has_value());
  EXPECT_EQ(FormatFinding("k.yaml", loaded.findings.at(0)),
            "k.yaml:1:1: error: empty-file: the file says nothing; begin with 'kernel: aegis/1' or copy one of examples/aegis");
  EXPECT_EQ(LoadKernel("a: 1\n---\nb: 2\n").findings.back().message, "the file holds more than one YAML document; one kernel a file");
}

TEST(KernelFile, TheExamplesLoad) {
  for (int tier = 1; tier <= 3; ++tier) {
    const std::string name = "beta-tier" + std::to_string(tier) + ".yaml";
    const Kernel kernel = KernelOf(TextOfFile(ACL_SOURCE_DIR "/examples/aegis/" + name));
    EXPECT_EQ(kernel.phase, "beta") << name;
    EXPECT_EQ(kernel.tier, tier) << name;
    EXPECT_TRUE(kernel.sanitise_for_model) << name;
    EXPECT_TRUE(kernel.Drift("completeness").fail_closed) << name;
    EXPECT_NE(kernel.Observational("sys_health"), nullptr) << name;
    ASSERT_NE(kernel.Actuation("systemctl_restart"), nullptr) << name;
    EXPECT_EQ(kernel.Actuation("systemctl_restart")->verbs, (std::vector<std::string>{"restart", "stop", "start"})) << name;
  }
}

TEST(KernelFile, OnlyWhatActsHasAWorkflowAndOnlyThatIsProposed) {
  const std::string text = TextOfFile(ACL_SOURCE_DIR "/examples/aegis/beta-tier3.yaml");
  const Kernel kernel = KernelOf(text);
  EXPECT_TRUE(kernel.Actuation("file_write")->MayBeProposed(3));
  EXPECT_FALSE(kernel.Actuation("file_write")->MayBeProposed(2));
  EXPECT_FALSE(kernel.Actuation("file_write")->allow_requester);
  EXPECT_EQ(kernel.Actuation("file_write")->parameters["required"], (Json{"path", "content"}));
  EXPECT_FALSE(kernel.Actuation("systemctl_restart")->MayBeProposed(3)) << "nothing would run";
  const auto sight = LoadKernel(Replaced(text, "sys_health: {from_tier: 1,", "sys_health: {workflow: 'name: x', from_tier: 1,"));
  ASSERT_FALSE(sight.kernel.has_value());
  EXPECT_EQ(sight.findings.at(0).code, "workflow-of-sight");
}

TEST(KernelFile, SaysWhatItSays) {
  const Kernel kernel = KernelOf(KernelText());
  EXPECT_EQ(kernel.ModelId(), "ollama llama3.1:8b");
  EXPECT_EQ(KernelOf(Replaced(KernelText(), "artifacts: {", "permits: [tag], artifacts: {")).permits, std::vector<std::string>{"tag"});
  EXPECT_EQ(kernel.model.seed, 7);
  EXPECT_EQ(kernel.model.temperature, 0.2);
  EXPECT_EQ(kernel.rings[1].tokens, 3'000);
  EXPECT_EQ(kernel.recent_turns, 2);
  EXPECT_EQ(kernel.deep_after_s, 30 * 86'400);
  EXPECT_EQ(kernel.artifact_from_tier[std::size_t(ArtifactType::kRunState)], 3);
  EXPECT_EQ(kernel.artifact_from_tier[std::size_t(ArtifactType::kTurn)], 1);
  EXPECT_EQ(kernel.Drift("evidence").severity, "high");
  EXPECT_FALSE(KernelOf(KernelText("{ring0: {tokens: 1, bytes: 1}, ring1: {tokens: 1, bytes: 1}, ring2: {tokens: 1, bytes: 1}}", 1))
                   .Drift("evidence")
                   .fail_closed);
}

// The hash is over what the file says, not how.
TEST(KernelFile, TheHashIsOverTheValue) {
  const Kernel yaml = KernelOf(KernelText());
  EXPECT_EQ(yaml.hash, "sha256:" + ToHex(CanonicalHash(yaml.value)));
  EXPECT_EQ(KernelOf("# a comment\n" + KernelText()).hash, yaml.hash);
  EXPECT_EQ(KernelOf(CanonicalJson(yaml.value)).hash, yaml.hash);
  EXPECT_EQ(KernelOf(yaml.value.dump(2)).hash, yaml.hash);
  EXPECT_NE(KernelOf(Replaced(KernelText(), "temperature: 0.2", "temperature: 0.3")).hash, yaml.hash);
  const auto read = KernelFromValue(yaml.value);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(read->hash, yaml.hash);
}

TEST(KernelFile, AllThatIsWrongIsSaidAtOnce) {
  const auto found = FindingsOf(
      "kernel: aegis/2\n"
      "phase: betta\n"
      "tier: 4\n"
      "host_role: the brain\n"
      "constraints: [read_only_default]\n"
      "temprature: 1\n");
  EXPECT_EQ(found, (std::vector<std::string>{"1:1 missing-caps", "1:1 missing-drift", "1:1 missing-model", "1:9 unknown-word",
                                             "2:8 unknown-word", "3:7 out-of-range", "4:12 bad-name", "6:1 unknown-key"}));
}

TEST(KernelFile, EachMistakeHasItsPlaceAndWayOut) {
  const struct {
    const char *from, *to, *code, *says;
  } cases[] = {
      {"evidence_first, ", "", "missing-constraint", "'evidence_first'; add it"},
      {"evidence_first, ", "evidence_first, evidence_first, ", "constraint-twice", "remove one"},
      {"unknowns_are_risk]", "unknowns_are_risk, own_rule]", "constraint-without-text", "write {rule: own_rule, text: ...}"},
      {"  tone: [{tiers: [1, 2, 3]", "  tone: [{tiers: [1, 3]", "drift-unsaid", "tier 2; add {tiers: [2]"},
      {"  tone: [{tiers: [1, 2, 3]", "  tone: [{tiers: [1, 2, 2]", "drift-said-twice", "keep one"},
      {"  tone: [{tiers: [1, 2, 3], severity: low, action: mark}]\n", "", "missing-tone", "add 'tone: "},
      {"{systemctl_restart:", "{sys_health:", "tool-of-both-classes", "keep the one that is true"},
      {"max_tokens: 256", "max_tokens: 256, key: sk-live-123", "key-not-a-reference", "as in 'secret:ollama-key'"},
      {"{tokens: 3000, bytes: 24000}", "{tokens: 3000}", "missing-bytes", "add 'bytes: 4096'"},
      {"action: mark}]\n  schema", "action: ignore}]\n  schema", "unknown-word", "fail_closed, mark"},
      {"{note: 2,", "{notes: 2,", "unknown-key", "did you mean 'note'?"},
      {"deep_after: 30d", "deep_after: soon", "bad-duration", "seconds as a number"},
      {"{from_tier: 3}}\ncaps", "{from_tier: 3, verbs: [\"re start\"]}}\ncaps", "bad-name", "a verb of 'verbs'"},
      {"about: \"load and memory\"", "about: \"a\\nb\"", "bad-line", "one line"},
  };
  for (const auto& one : cases) {
    const LoadedKernel loaded = LoadKernel(Replaced(KernelText(), one.from, one.to));
    ASSERT_FALSE(loaded.findings.empty()) << one.to;
    const acl::Finding& finding = loaded.findings.front();
    EXPECT_EQ(finding.code, one.code) << one.to;
    EXPECT_NE(finding.message.find(one.says), std::string::npos) << finding.message;
    EXPECT_GT(finding.mark.line, 0) << one.to;
    EXPECT_EQ(finding.message.find("sk-live"), std::string::npos) << "the key itself is in the message";
  }
}

}  // namespace
}  // namespace acl::aegis
