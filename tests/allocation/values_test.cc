// Texts, values, files and templates: whichever allocation fails, the answer is the right one or an error, and what was given is as it was.

#include <gtest/gtest.h>

#include "shared/base/canonical_json.h"
#include "shared/base/memory.h"
#include "shared/capability/standard.h"
#include "shared/definition/loader.h"
#include "shared/definition/template.h"
#include "tests/allocation/fail_allocation.h"

namespace acl {
namespace {

using test::FailEachAllocation;

const char* const kText = R"({"a":[1,2.5,"a text that is too long to be kept inside of a string",null,{"b":true}],"\u00e4":{"c":[[],{}]}})";

TEST(Allocation, JsonIsReadAndWrittenOrNot) {
  const Json expected = *ParseJson(kText);
  const std::string written = DumpJson(expected);
  int good = 0;
  const int asked = FailEachAllocation([&] {
    std::optional<Result<Json>> parsed;
    std::string text;
    const bool enough = WithinMemory([&] {
      parsed = ParseJson(kText);
      text = DumpJson(**parsed);
      ASSERT_TRUE(CheckStorable(**parsed).ok());
    });
    if (!enough) return;
    EXPECT_EQ(text, written);
    ++good;
  });
  EXPECT_GT(asked, 20);
  EXPECT_EQ(good, 1);  // the last; each of the others failed
  EXPECT_EQ(DumpJson(expected), written);
}

TEST(Allocation, AFileIsLoadedOrThereIsAFinding) {
  CapabilityRegistry capabilities;
  RegisterStandardCapabilities(capabilities, {});
  for (const std::string text : {
           R"(
name: night
inputs: {city: {type: string, default: Bern}}
steps:
  - name: fetch
    capability: net.http.get
    inputs: &call {url: "https://example.org/{{city | lower}}", heders: {}}
  - {name: again, capability: net.http.get, inputs: *call, depends_on: [fetch, nobody]}
  - name: say
    capability: test.echo
    depends_on: [fetch]
    inputs: {text: "{{fetch.body}} {{fetch.bodi}}"}
    compensation: {capability: test.echo, inputs: {text: undone}}
)",
           R"({"name":"j","steps":[{"name":"a","capability":"test.echo","inputs":{"text":"{{x | default('y')}}"}}]})"}) {
    const Loaded expected = LoadWorkflow(text, capabilities, {});
    int good = 0;
    const int asked = FailEachAllocation([&] {
      std::optional<Loaded> loaded;
      if (!WithinMemory([&] { loaded = LoadWorkflow(text, capabilities, {}); })) return;
      if (!loaded->findings.empty() && loaded->findings[0].code == "out-of-memory") {
        EXPECT_FALSE(loaded->ok());
        return;
      }
      ++good;
      EXPECT_EQ(loaded->ok(), expected.ok());
      ASSERT_EQ(loaded->findings.size(), expected.findings.size());
      for (std::size_t i = 0; i < expected.findings.size(); ++i) EXPECT_EQ(loaded->findings[i].message, expected.findings[i].message);
    });
    EXPECT_GT(asked, 100);
    EXPECT_GE(good, 1);
  }
}

TEST(Allocation, TemplatesExpandOrNot) {
  const Json state = *ParseJson(R"({"l":["one","two"],"s":"a text that is long enough to be allocated","m":{"k":{"d":1}}})");
  const Json inputs = *ParseJson(R"({"a":"{{l | join(', ')}}","b":["{{m}}","x {{m.k}} y {{nope}}"],"c":"{{ s | json | json | upper }}"})");
  const TemplateScope scope = [&](std::string_view name) -> const Json* {
    const auto found = state.find(std::string(name));
    return found == state.end() ? nullptr : &*found;
  };
  const Json before = state, expected = ExpandTemplates(inputs, scope)->value;
  int good = 0;
  const int asked = FailEachAllocation([&] {
    std::optional<Result<Expanded>> expanded;
    if (!WithinMemory([&] { expanded = ExpandTemplates(inputs, scope); })) return;
    ASSERT_TRUE(expanded->ok());
    EXPECT_EQ((*expanded)->value, expected);
    ++good;
  });
  EXPECT_GT(asked, 20);
  EXPECT_EQ(good, 1);
  EXPECT_EQ(state, before);
}

}  // namespace
}  // namespace acl
