#include "shared/definition/template.h"

#include <gtest/gtest.h>

#include "shared/definition/template_scan.h"

namespace acl {
namespace {

Json State() {
  return *ParseJson(
      R"({"run_id":"R1","n":7,"f":220.0,"yes":true,"nothing":null,"list":[1,"b",2.5],"empty":[],"map":{"z":1,"a":{"deep":"x"}},
    "text":" Grüße ","tricky":"{{run_id}}","big":1e15,"e":0.00001,"step":{"out":{"k":"v"},"items":["p","q"]}})");
}

Json Expand(const Json& value, std::vector<std::string>* missing = nullptr) {
  static const Json state = State();
  auto out = ExpandTemplates(value, [](std::string_view name) {
    auto it = state.find(std::string(name));
    return it == state.end() ? nullptr : &*it;
  });
  EXPECT_TRUE(out.ok()) << (out.ok() ? Error{} : out.error());
  if (!out) return nullptr;
  if (missing) *missing = out->missing;
  return out->value;
}

TEST(Template, WholeReferenceKeepsTheType) {
  EXPECT_EQ(Expand("{{n}}"), 7);
  EXPECT_EQ(Expand("{{ list }}"), *ParseJson(R"([1,"b",2.5])"));
  EXPECT_EQ(Expand("{{map.a}}"), *ParseJson(R"({"deep":"x"})"));
  EXPECT_EQ(Expand("{{yes}}"), true);
  EXPECT_EQ(Expand("{{f}}").type(), Json::value_t::number_float);
}

TEST(Template, ASpaceAroundSplicesAsText) {
  EXPECT_EQ(Expand("{{n}} "), "7 ");
  EXPECT_EQ(Expand(" {{yes}}"), " true");
  EXPECT_EQ(Expand("v={{f}}"), "v=220.0");
  EXPECT_EQ(Expand("{{big}}!"), "1000000000000000.0!");
  EXPECT_EQ(Expand("{{e}}!"), "1e-05!");
}

TEST(Template, MapsAndListsSpliceWithIndentTwoInKeyOrder) {
  EXPECT_EQ(Expand("m: {{map}}"), "m: {\n  \"z\": 1,\n  \"a\": {\n    \"deep\": \"x\"\n  }\n}");
  EXPECT_EQ(Expand("l: {{list}}{{empty}}"), "l: [\n  1,\n  \"b\",\n  2.5\n][]");
}

TEST(Template, MissingStaysLiteralAndIsNamedOnce) {
  std::vector<std::string> missing;
  EXPECT_EQ(Expand("a {{ nope.x }} {{nope.x}} {{nothing}} {{list.0}} {{map.}}", &missing),
            "a {{ nope.x }} {{nope.x}} {{nothing}} {{list.0}} {{map.}}");
  EXPECT_EQ(missing, (std::vector<std::string>{"nope.x", "nothing", "list.0", "map."}));
  // Each is kept with the step: their number is bounded, the text is not touched.
  std::string many;
  for (int i = 0; i < 40'000; ++i) many += "{{x" + std::to_string(i) + "}} ";
  EXPECT_EQ(Expand(many, &missing), Json(many));
  EXPECT_EQ(missing.size(), kMissingNames);
  EXPECT_EQ(Expand("{{nope}}", &missing), "{{nope}}");
}

TEST(Template, WhatIsNotTheGrammarIsLiteral) {
  std::vector<std::string> missing;
  for (const char* text : {"{{}}", "{{ a b }}", "{{ n + 1 }}", "{{ n | nofilter }}", "{{ n | upper( }}", "{ {n}}", "{{n}", "{{\nn}}",
                           "{{ n | }}", "{{ 'n' }}"})
    EXPECT_EQ(Expand(text, &missing), text);
  EXPECT_TRUE(missing.empty());
  EXPECT_EQ(Expand("{{{n}}}"), "{7}");
  EXPECT_EQ(Expand("{{{{n}}}}"), "{{7}}");
}

TEST(Template, ValuesAreNotScannedAgainAndKeysNotAtAll) {
  EXPECT_EQ(Expand("{{tricky}}"), "{{run_id}}");
  EXPECT_EQ(Expand("x{{tricky}}"), "x{{run_id}}");
  EXPECT_EQ(Expand(*ParseJson(R"({"{{n}}":["{{n}}",{"a":"{{run_id}}"}]})")), *ParseJson(R"({"{{n}}":[7,{"a":"R1"}]})"));
}

TEST(Template, Filters) {
  EXPECT_EQ(Expand("{{ nope | default('x') }}"), "x");
  EXPECT_EQ(Expand("{{ nothing | default(5) }}"), 5);
  EXPECT_EQ(Expand("{{ n | default(5) }}"), 7);
  EXPECT_EQ(Expand("{{ map | json }}"), R"({"z":1,"a":{"deep":"x"}})");
  EXPECT_EQ(Expand("{{ text | trim | upper }}"), "GRüßE");
  EXPECT_EQ(Expand("{{ run_id | lower }}"), "r1");
  EXPECT_EQ(Expand("{{ list | join(', ') }}"), "1, b, 2.5");
  EXPECT_EQ(Expand("{{ step.items | join }}"), "p,q");
  EXPECT_EQ(Expand("{{ list | length }}"), 3);
  EXPECT_EQ(Expand("{{ text | length }}"), 7);
  EXPECT_EQ(Expand("{{ list | first }}/{{ list | last }}"), "1/2.5");
  EXPECT_EQ(Expand("{{ text | trim | last }}"), "e");
  EXPECT_EQ(Expand("{{ empty | first | default(\"none\") }}"), "none");
  EXPECT_EQ(Expand("{{ nope | default('it\\'s }} fine') }}"), "it's }} fine");
}

TEST(Template, BadFilterArgumentsAreErrorsThatNameTheReference) {
  auto scope = [](std::string_view) -> const Json* {
    static const Json value = 3;
    return &value;
  };
  for (const char* text :
       {"{{ n | upper }}", "{{ n | default }}", "{{ n | join }}", "{{ n | length }}", "{{ n | json(1) }}", "{{ n | first }}"}) {
    auto out = ExpandTemplates(text, scope);
    ASSERT_FALSE(out.ok()) << text;
    EXPECT_EQ(out.code(), Code::kInvalid);
    EXPECT_NE(out.message().find(text), std::string::npos) << out.message();
  }
}

TEST(Template, OutputIsBounded) {
  Json big = std::string(1000, 'x');
  auto scope = [&](std::string_view) { return &big; };
  std::string text;
  for (int i = 0; i < 50; ++i) text += "{{a}}";
  TemplateLimits limits;
  limits.max_output_bytes = 49'999;
  EXPECT_FALSE(ExpandTemplates(text, scope, limits).ok());
  limits.max_output_bytes = 50'000;
  EXPECT_TRUE(ExpandTemplates(text, scope, limits).ok());
}

// What lies between a value and its text is bounded as the text is: nothing larger is made, whatever the filters would make of it later.
TEST(Template, WhatFiltersMakeOnTheirWayIsBounded) {
  const Json quotes = std::string(100'000, '"');
  const Json list = Json(std::vector<std::string>(20'000, "x"));
  const Json text = std::string(1'000'000, 'x');
  const TemplateScope scope = [&](std::string_view name) { return name == "q" ? &quotes : name == "l" ? &list : &text; };
  std::string many = "{{ q";
  for (int i = 0; i < 15; ++i) many += " | json";
  const std::string join = "{{ l | join('" + std::string(500'000, ',') + "') | length }}";
  std::string often;
  for (int i = 0; i < 1'000; ++i) often += "{{ t | length }}";
  for (const std::string& template_text : {many + " }}", many + " | length }}", join, often}) {
    const auto out = ExpandTemplates(template_text, scope);
    ASSERT_FALSE(out.ok()) << template_text.substr(0, 60);
    EXPECT_EQ(out.code(), Code::kInvalid);
    EXPECT_LT(out.message().size(), 500u);
  }
  EXPECT_TRUE(ExpandTemplates("{{ t | length }} {{ q | json | json | length }} {{ l | join('--') | upper }}", scope).ok());
}

TEST(Template, AMapThatIsSearchedManyTimesIsWork) {
  Json map = Json::object();
  for (int i = 0; i < 2'000; ++i) map.get_ref<Json::object_t&>().emplace_back("key" + std::to_string(i), i);
  const TemplateScope scope = [&](std::string_view) { return &map; };
  std::string text;
  for (int i = 0; i < 50; ++i) text += "{{ m.key1999 }}";
  EXPECT_TRUE(ExpandTemplates(text, scope, {.max_work_bytes = 100'000}).ok());
  EXPECT_FALSE(ExpandTemplates(text + "{{m.key1}}", scope, {.max_work_bytes = 100'000}).ok());
}

TEST(Template, ReferencesAreListedOnceInOrder) {
  std::vector<std::pair<std::string, bool>> found;
  for (const TemplateReference& one :
       References(*ParseJson(R"({"a":"{{x.y | default(1)}} {{z | default(2)}}","b":["{{ x.y | upper }}","{{no no}}"]})")))
    found.emplace_back(one.path, one.has_default);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, bool>>{{"x.y", false}, {"z", true}}));
  EXPECT_TRUE(HasTemplate(*ParseJson(R"([["{{x}}"]])")));
  EXPECT_FALSE(HasTemplate(*ParseJson(R"(["{{x y}}",{"{{x}}":1}])")));
}

TEST(Template, FloatsAsPythonPrintsThem) {
  for (auto [value, text] : std::vector<std::pair<double, const char*>>{{0.1, "0.1"},
                                                                        {-0.0, "-0.0"},
                                                                        {1e16, "1e+16"},
                                                                        {123456789012345680.0, "1.2345678901234568e+17"},
                                                                        {9999999999999998.0, "9999999999999998.0"},
                                                                        {0.0001, "0.0001"},
                                                                        {0.00012345, "0.00012345"},
                                                                        {1e-7, "1e-07"},
                                                                        {1e300, "1e+300"},
                                                                        {12.5, "12.5"},
                                                                        {-36.0, "-36.0"}})
    EXPECT_EQ(SpliceText(value), text);
}

// "place of the braces|kind|why": what is nearly a template.
std::vector<std::string> MistakesIn(const std::string& text) {
  std::vector<std::string> out;
  for (const TemplateMistake& one : TemplateMistakes(text)) {
    const char* kinds[] = {"near", "other", "filter"};
    out.push_back(std::string(kinds[int(one.kind)]) + " " + std::string(one.text) + " " + one.why);
  }
  return out;
}

TEST(Template, WhatIsNearlyOneIsSaidWithWhatWasMeant) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{{ l | uper }}", "did you mean 'upper'?"},
      {"{{ l | replace('a','b') }}", "there is no filter 'replace'"},
      {"{{ l[0] }}", "| first"},
      {"{{ l + 1 }}", "nothing is computed"},
      {"{{ l || 'x' }}", "a filter comes behind a |"},
      {"{{ l.size() }}", "nothing is called"},
      {"{{ x ? 1 : 2 }}", "nothing is computed"},
      {"{{é}}", "letters a to z"},
      {"{{ grüße.x }}", "letters a to z"},
      {"{{ my step.x }}", "more than one name"},
      {"{{ l }", "not closed"},
      {"{{ l", "not closed"},
      {"{{\n l }}", "one line"},
      {"{{ l | join(x y) }}", "an argument"},
      {"{{- l -}}", "more than one name"},
      {"{{ l|json|json|json|json|json|json|json|json|json|json|json|json|json|json|json|json|json }}", "more than 16 filters"},
  };
  for (const auto& [text, why] : wrong) {
    const auto found = MistakesIn(std::string("a ") + text + " b {{ l }}");
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_TRUE(found[0].starts_with("near {{")) << found[0];
    EXPECT_NE(found[0].find(why), std::string::npos) << found[0];
  }
  for (const char* text : {"{{ l | upper(1) }}", "{{ l | default }}", "{{ l | join(1) }}", "{{ l | default('a', 'b') }}"})
    EXPECT_TRUE(MistakesIn(text).size() == 1 && MistakesIn(text)[0].starts_with("filter")) << text;
  for (const char* text : {"{{ 'a' | upper }}", "{{#each l}}", "{{> part}}"})
    EXPECT_TRUE(MistakesIn(text).size() == 1 && MistakesIn(text)[0].starts_with("other")) << text;
  for (const char* text : {"{{l}}", "{{}}", "{{{l}}}", "{{1,2},{3,4}}", "{ {l}}", "{{ l | default('{{ x + 1 }}') }}", "{{ {1} }}",
                           "{{.Names}}", "a }} b", "{{0}}"})
    EXPECT_TRUE(MistakesIn(text).empty()) << text << ": " << MistakesIn(text)[0];
}

TEST(Template, ManyBracesThatAreNotClosedAreReadOnceEach) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "{{a ";
  EXPECT_EQ(TemplateMistakes(text).size(), 100'000u);
}

}  // namespace
}  // namespace acl
