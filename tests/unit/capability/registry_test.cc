#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/capability/capability.h"
#include "shared/capability/spelling.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CapabilityDefinition Sample() {
  CapabilityDefinition spec;
  spec.id = "demo.copy";
  spec.parameters = {
      {.name = "path", .type = "string", .description = "where", .required = true, .aliases = {"file_path"}},
      {.name = "level", .type = "integer", .default_value = Json(6)},
      {.name = "ratio", .type = "float"},
      {.name = "deep", .type = "boolean", .default_value = Json(false)},
      {.name = "items", .type = "array"},
      {.name = "headers", .type = "object"},
      {.name = "data", .type = "any"},
      {.name = "mode", .type = "string", .allowed = {"fast", "slow"}},
  };
  return spec;
}

std::vector<std::string> Check(const char* json, bool literal_only = false) {
  return CheckParameters(Sample(), Json::parse(json), literal_only);
}

TEST(Parameters, WhatFitsPasses) {
  EXPECT_THAT(Check(R"({"path":"x"})"), IsEmpty());
  EXPECT_THAT(Check(R"({"file_path":"x","level":6.0,"ratio":1,"deep":true,"items":[],"headers":{},"data":null,"mode":"fast","extra":1})"),
              IsEmpty());
  EXPECT_THAT(Check(R"({"path":"x","file_path":"x","level":null})"), IsEmpty());
}

TEST(Parameters, EachMistakeIsALineOfItsOwn) {
  EXPECT_THAT(Check("{}"), ElementsAre(HasSubstr("missing parameter 'path'")));
  EXPECT_THAT(Check(R"({"path":null})"), ElementsAre(HasSubstr("missing parameter 'path'")));
  EXPECT_THAT(Check(R"({"path":"a","file_path":"b"})"), ElementsAre(HasSubstr("keep one")));
  EXPECT_THAT(Check(R"([1])"), ElementsAre(HasSubstr("must be a map")));
  EXPECT_THAT(
      Check(R"({"path":1,"level":2.5,"ratio":"1","deep":"yes","items":{},"headers":[],"mode":"warp"})"),
      ElementsAre(HasSubstr("'path' must be a string, not the integer 1"), HasSubstr("'level' must be a whole number"),
                  HasSubstr("'ratio' must be a number"), HasSubstr("'deep' must be a boolean, not the string \"yes\""),
                  HasSubstr("'items' must be a list, not a map"), HasSubstr("'headers' must be a map"), HasSubstr("one of fast, slow")));
  EXPECT_THAT(Check(R"({"path":"x","level":true})"), ElementsAre(HasSubstr("not the boolean true")));
}

TEST(Parameters, ValuesThatStillHoldATemplateWaitForTheRun) {
  EXPECT_THAT(Check(R"({"path":"{{a.b}}","level":"{{n}}","items":"{{list}}","headers":{"x":"{{y}}"},"mode":"{{m}}"})", true), IsEmpty());
  EXPECT_EQ(Check(R"({"path":"x","level":"{{n}}"})", false).size(), 1u);
}

TEST(Parameters, DefaultsAreFilledAndAliasesRenamed) {
  Json out = WithDefaults(Sample(), Json::parse(R"({"extra":1,"file_path":"x","level":7.0,"ratio":null})"));
  EXPECT_EQ(out.dump(), R"({"path":"x","level":7,"deep":false,"extra":1})");
}

TEST(Parameters, UnknownOnesAreToldWithTheNearestAndWhetherTheyAreSlips) {
  const auto found = UnknownParameters(Sample(), Json::parse(R"({"path":"x","heders":{},"Headers":{},"zzzzzz":1,"head":1})"));
  ASSERT_EQ(found.size(), 4u);
  for (const auto& [line, slip] : found) EXPECT_EQ(slip, line.find("did you mean 'headers'?") != line.npos) << line;
  EXPECT_THAT(found[2].line, HasSubstr("'zzzzzz' is ignored"));
}

TEST(Registry, FindsAndSuggests) {
  CapabilityRegistry registry;
  for (const char* id : {"io.fs.write_file", "io.fs.delete", "net.http.get", "net.http.post"}) {
    CapabilityDefinition spec;
    spec.id = id;
    registry.Add(spec, [](const Json&, CallContext&) { return StepResult{}; });
  }
  EXPECT_NE(registry.Find("net.http.get"), nullptr);
  EXPECT_EQ(registry.Find("net.http"), nullptr);
  EXPECT_EQ(registry.Nearest("io.fs.writefile"), "io.fs.write_file");
  EXPECT_EQ(registry.Nearest("net.http.gte"), "net.http.get");
  EXPECT_EQ(registry.Nearest("io.fs.delete_file"), "io.fs.delete");  // a name the documents use
  EXPECT_EQ(registry.Nearest("crm.create_customer_account"), "");
  EXPECT_EQ(registry.All().size(), 4u);
  EXPECT_EQ(registry.All().front()->id, "io.fs.delete");
}

TEST(Registry, RiskWordsAreUpperCaseOnly) {
  EXPECT_EQ(ParseRisk("CRITICAL"), RiskLevel::kCritical);
  EXPECT_FALSE(ParseRisk("low"));
  EXPECT_EQ(RiskName(RiskLevel::kMedium), "MEDIUM");
}

TEST(Spelling, CountsEdits) {
  EXPECT_EQ(EditDistance("abc", "abc"), 0);
  EXPECT_EQ(EditDistance("abc", "acb"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("", "ab"), 2);
}

}  // namespace
}  // namespace acl
