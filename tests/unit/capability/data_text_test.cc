#include <sys/wait.h>

#include <thread>

#include "shared/capability/python_json.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class DataText : public CapabilityTest {
 protected:
  Json Outputs(const std::string& capability, Json inputs) { return Apply(capability, std::move(inputs)).outputs; }
};

TEST(PythonJson, NumbersAndTextsAsPythonWritesThem) {
  const std::pair<const char*, const char*> table[] = {
      {"1", "1"},
      {"-0", "0"},
      {"1.0", "1.0"},
      {"-0.0", "-0.0"},
      {"220.0", "220.0"},
      {"0.1", "0.1"},
      {"1e15", "1000000000000000.0"},
      {"1e16", "1e+16"},
      {"1.5e300", "1.5e+300"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"123456789.125", "123456789.125"},
      {"1e-7", "1e-07"},
      {"18446744073709551615", "18446744073709551615"},
      {"1e22", "1e+22"},
  };
  for (const auto& [text, want] : table) EXPECT_EQ(PythonNumber(Json::parse(text)), want) << text;
  EXPECT_EQ(PythonText(Json(true)), "True");
  EXPECT_EQ(PythonText(Json(nullptr)), "None");
  EXPECT_EQ(PythonJson(Json::parse(R"({"b":[1,2.0,{}],"a":"é\u007f😀\n\"\\\u0001"})")),
            "{\"b\": [1, 2.0, {}], \"a\": \"\\u00e9\\u007f\\ud83d\\ude00\\n\\\"\\\\\\u0001\"}");
}

TEST_F(DataText, JsonKeepsOrderAndGivesText) {
  EXPECT_EQ(Outputs("data.json.parse", {{"json_string", R"({"z":1,"a":[true,null],"é":220.0})"}})["data"],
            R"({"z": 1, "a": [true, null], "\u00e9": 220.0})");
  EXPECT_EQ(Outputs("data.json.stringify", {{"data", R"({"z":1,"é":[]})"}})["json_string"], R"({"z": 1, "é": []})");
  EXPECT_EQ(Outputs("data.json.stringify", {{"data", R"({"z":{"y":[1,2]},"e":{}})"}, {"pretty", true}, {"indent", 8}})["json_string"],
            "{\n  \"z\": {\n    \"y\": [\n      1,\n      2\n    ]\n  },\n  \"e\": {}\n}");
  EXPECT_EQ(Outputs("data.json.stringify", {{"data", {{"k", 1}}}})["json_string"], "{\"k\": 1}") << "a value by a template";
  EXPECT_THAT(FailureOf("data.json.parse", {{"json_string", "{\"a\":1,}"}}), HasSubstr("json_string is not JSON"));
}

TEST_F(DataText, JsonIsReachableAsAValueAndForeignJsonIsRead) {
  const std::string json = R"({"city":"Köln","a":1,"a":{"ids":[12345678901234567890123]}})";
  const Json outputs = Outputs("data.json.parse", {{"json_string", json}});
  EXPECT_EQ(outputs["json"], *ParseJson(R"({"city":"Köln","a":{"ids":["12345678901234567890123"]}})"));
  EXPECT_EQ(outputs["data"], R"({"city": "K\u00f6ln", "a": {"ids": ["12345678901234567890123"]}})");
  const Json got = Outputs("data.json.get", {{"json_string", json}, {"path", "a.ids"}});
  EXPECT_EQ(got["json"], Json::array({"12345678901234567890123"}));
  EXPECT_EQ(Outputs("data.json.get", {{"json_string", "{\"n\":1.0}"}, {"path", "n"}})["json"], 1.0);
  EXPECT_EQ(Outputs("data.json.stringify", {{"data", "{\"a\":1,\"a\":2}"}})["json_string"], "{\"a\": 2}");
  std::string deep = "1";
  for (int i = 0; i < 64; ++i) deep = "[" + deep + "]";
  EXPECT_FALSE(Outputs("data.json.parse", {{"json_string", deep}}).contains("json")) << "too deep beside others";
}

TEST_F(DataText, JsonGetWalks) {
  std::string json = R"({"a":{"b":[10,{"c":"text"},true,null,1.0]},"":5})";
  const std::pair<const char*, const char*> table[] = {{"a.b.0", "10"},   {"a.b.1.c", "text"}, {"a.b.-1", "1.0"},
                                                       {"a.b.2", "True"}, {"a.b.3", "None"},   {"a.b.1", R"({"c": "text"})"},
                                                       {"", "5"}};
  for (const auto& [path, want] : table)
    EXPECT_EQ(Outputs("data.json.get", {{"json_string", json}, {"path", path}})["value"], want) << path;
  for (const char* path : {"x", "a.x", "a.b.5", "a.b.-6", "a.b.x", "a.b.0.x", "a..b", "a.b.99999999999999999999"}) {
    EXPECT_THAT(FailureOf("data.json.get", {{"json_string", json}, {"path", path}}), HasSubstr("Path not found")) << path;
  }
}

TEST_F(DataText, RegexFindsAsPythonDoes) {
  auto match = [&](const std::string& text, const std::string& pattern, Json flags) {
    return Outputs("text.regex.match", {{"text", text}, {"pattern", pattern}, {"flags", flags}})["matches"].dump();
  };
  EXPECT_EQ(match("äb1 c22", "([a-z])(\\d+)", Json::array()), R"([{"match":"b1","groups":["b","1"],"start":1,"end":3}])")
      << "positions count characters";
  EXPECT_EQ(match("äb1 c22", "([a-z])(\\d+)", {"global"}),
            R"([{"match":"b1","groups":["b","1"],"start":1,"end":3},{"match":"c22","groups":["c","22"],"start":4,"end":7}])");
  EXPECT_EQ(match("x", "(a)?x", {"global"}), R"([{"match":"x","groups":[null],"start":0,"end":1}])");
  EXPECT_EQ(
      match("aé", "", {"global"}),
      R"([{"match":"","groups":[],"start":0,"end":0},{"match":"","groups":[],"start":1,"end":1},{"match":"","groups":[],"start":2,"end":2}])");
  EXPECT_EQ(match("nothing", "z", {"global"}), "[]");
  EXPECT_EQ(match("A\nb", "^B$", {"ignorecase", "multiline"}), R"([{"match":"b","groups":[],"start":2,"end":3}])");
  EXPECT_EQ(match("a\nb", "a.b", {"dotall"}), R"([{"match":"a\nb","groups":[],"start":0,"end":3}])");
  EXPECT_EQ(match("ab", "b\\Z", Json::array()), R"([{"match":"b","groups":[],"start":1,"end":2}])");
  EXPECT_THAT(FailureOf("text.regex.match", {{"text", "x"}, {"pattern", "(?=x)"}}), HasSubstr("look-around"));
  EXPECT_THAT(FailureOf("text.regex.match", {{"text", "x"}, {"pattern", "("}}), HasSubstr("pattern does not work"));
  EXPECT_THAT(FailureOf("text.regex.match", {{"text", "x"}, {"pattern", "x"}, {"flags", {"verbose"}}}),
              HasSubstr("unknown flag 'verbose'"));
  // What takes a backtracking engine for ever is linear here.
  EXPECT_EQ(match(std::string(5000, 'a'), "(a+)+$b", Json::array()), "[]");
}

TEST_F(DataText, TemplatesAreRenderedOnce) {
  auto render = [&](const std::string& text, Json variables, const std::string& syntax) {
    return Outputs("text.template.render", {{"template", text}, {"variables", variables}, {"syntax", syntax}})["rendered"]
        .get<std::string>();
  };
  EXPECT_EQ(render("{{a}} {{ a }} $a {{b}} {{unknown}}", R"({"a":"x","b":1.0})", "mustache"), "x {{ a }} $a 1.0 {{unknown}}");
  EXPECT_EQ(render("{{a}} {{ a }} $a", R"({"a":"x"})", "jinja2"), "{{a}} x $a");
  EXPECT_EQ(render("$ab $a $", R"({"a":"x","ab":"y"})", "other"), "y x $");
  EXPECT_EQ(render("{{a}}{{b}}", R"({"a":"{{b}}","b":"{{a}}"})", "mustache"), "{{b}}{{a}}") << "a value is not looked into again";
  EXPECT_EQ(render("{{l}} {{t}}", {{"l", {1, "é"}}, {"t", true}}, "mustache"), "[1, \"\\u00e9\"] true");
  EXPECT_THAT(FailureOf("text.template.render", {{"template", "x"}, {"variables", "[1]"}}), HasSubstr("JSON object"));
  EXPECT_THAT(FailureOf("text.template.render", {{"template", "x"}, {"variables", "nope"}}), HasSubstr("not JSON"));
}

TEST_F(DataText, InfoCapabilities) {
  EXPECT_EQ(Outputs("sys.info.get_os", Json::object())["os_name"], "linux");
  EXPECT_TRUE(Outputs("sys.info.get_os", {{"verbose", true}}).contains("platform"));
  ::setenv("EDITOR", "ed", 1);
  ::setenv("ACL_SECRET", "s", 1);
  EXPECT_EQ(Outputs("sys.info.get_env_var", {{"var_name", "EDITOR"}}).dump(), R"({"value":"ed","found":true})");
  Json hidden = Outputs("sys.info.get_env_var", {{"var_name", "ACL_SECRET"}, {"default_value", "d"}});
  EXPECT_EQ(hidden["value"], "d");
  EXPECT_EQ(hidden["found"], false);
  auto time = [&](const char* format, const char* zone) {
    return Outputs("sys.info.get_time", {{"format", format}, {"timezone", zone}})["timestamp"].get<std::string>();
  };
  EXPECT_THAT(time("iso8601", "UTC"), MatchesRegex("....-..-..T..:..:..\\.......Z"));
  EXPECT_THAT(time("rfc3339", "utc"), MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_THAT(time("unix", "utc"), MatchesRegex("[0-9]+"));
  EXPECT_THAT(time("iso8601", "local"), MatchesRegex("....-..-..T..:..:..\\......."));
  EXPECT_THAT(FailureOf("sys.info.get_time", {{"timezone", "Mars/Olympus"}}), HasSubstr("IANA"));
  EXPECT_THAT(FailureOf("sys.info.get_time", {{"timezone", "../../etc/passwd"}}), HasSubstr("unknown timezone"));
  EXPECT_THAT(FailureOf("sys.info.get_time", {{"format", "rfc822"}}), HasSubstr("one of iso8601, unix, rfc3339"));
}

// 90 groups around a text of 8 MB take hours: the step ends at its time, and nothing computes on behind it.
TEST_F(DataText, AMatchThatTakesForEverEndsAtItsDeadline) {
  std::string pattern = "(?:x?)*";
  for (int i = 0; i < 90; ++i) pattern = "(x*" + pattern + ")";
  StepCall call = MakeCall("text.regex.match", {{"text", std::string(8'000'000, 'x')}, {"pattern", pattern}});
  call.step.timeout = std::chrono::milliseconds(50);
  const StepResult late = runner_->Call(call, {});
  EXPECT_EQ(late.outcome, Outcome::kTimedOut) << late.error;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  call.step.timeout = std::chrono::milliseconds(0);
  StopToken stop;
  std::thread stopper([&] { stop.Stop(); });
  EXPECT_THAT(runner_->Call(call, stop).outcome, testing::AnyOf(Outcome::kCancelled, Outcome::kNotStarted));
  stopper.join();
}

TEST_F(DataText, RegexesAreBoundedInGroupsAndInWhatTheyGive) {
  std::string nested = "x";
  for (int i = 0; i < 200; ++i) nested = "(" + nested + ")";
  EXPECT_THAT(FailureOf("text.regex.match", {{"text", std::string(1'000'000, 'x')}, {"pattern", nested}}), HasSubstr("200 groups, 100"));
  std::string groups = "x*";
  for (int i = 0; i < 20; ++i) groups = "(" + groups + ")";
  EXPECT_THAT(FailureOf("text.regex.match", {{"text", std::string(450'000, 'x')}, {"pattern", groups}}), HasSubstr("larger than"));
  const Json flags = {"global"};
  EXPECT_THAT(FailureOf("text.regex.match", {{"text", std::string(10'001, 'x')}, {"pattern", "x"}, {"flags", flags}}),
              HasSubstr("more than 10000 matches"));
}

// What is done by a child is what would be done here.
TEST_F(DataText, LongTextsAreMatchedAsShortOnes) {
  std::string text;
  for (int i = 0; i < 9'000; ++i) text += "é" + std::string(1'000, '-') + "k" + std::to_string(i) + "=v;";
  const Json outputs = Outputs("text.regex.match", {{"text", text}, {"pattern", "(k\\d+)=(v)?(w)?"}, {"flags", {"global"}}});
  ASSERT_EQ(outputs["matches"].size(), 9'000u);
  EXPECT_EQ(outputs["matches"][0].dump(), R"({"match":"k0=v","groups":["k0","v",null],"start":1001,"end":1005})");
  EXPECT_EQ(outputs["matches"][8'999]["groups"][0], "k8999");
}

TEST_F(DataText, RenderingAndWritingStopAtTheLargestOutput) {
  const Json variables = {{"v", std::string(1'000'000, 'x')}};
  std::string text;
  for (int i = 0; i < 9; ++i) text += "{{v}}";
  EXPECT_THAT(FailureOf("text.template.render", {{"template", text}, {"variables", variables}}), HasSubstr("larger than"));
  EXPECT_THAT(FailureOf("data.json.parse", {{"json_string", "\"" + std::string(2'000'000, '\x7f') + "\""}}), HasSubstr("larger than"));
  std::string many = "[[]";
  for (int i = 0; i < 1'000'000; ++i) many += ",[]";
  EXPECT_THAT(FailureOf("data.json.get", {{"json_string", many + "]"}, {"path", "0"}}), HasSubstr("more than 1000000 values"));
}

TEST_F(DataText, WhatComputesForLongLooksAtItsDeadline) {
  StepCall call =
      MakeCall("text.template.render", {{"template", std::string(4'000'000, '$')}, {"variables", {{"v", 1}}}, {"syntax", "other"}});
  call.step.timeout = std::chrono::milliseconds(1);
  EXPECT_EQ(runner_->Call(call, {}).outcome, Outcome::kTimedOut);
  // Names of very many lengths: each place in the text is looked at for each of them.
  Json names = Json::object();
  for (std::size_t length = 1; length < 4'000; ++length) names.get_ref<Json::object_t&>().emplace_back(std::string(length, '$') + "x", 1);
  const std::string few_places = std::string(1'000, '$') + std::string(5'000, 'y');
  StepCall slow = MakeCall("text.template.render", {{"template", few_places}, {"variables", names}, {"syntax", "other"}});
  slow.step.timeout = std::chrono::milliseconds(100);
  EXPECT_EQ(runner_->Call(slow, {}).outcome, Outcome::kTimedOut);
}

}  // namespace
}  // namespace acl
