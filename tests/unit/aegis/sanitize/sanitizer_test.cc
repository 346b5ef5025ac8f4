#include "shared/aegis/sanitize/sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/base64.h"
#include "shared/base/utf8.h"
#include "tests/unit/aegis/sanitize/corpus.h"

namespace acl::aegis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSanitizerKey = "a key of this test";
const std::string kLive = "tr0ub4dor & \"three\" / ünder";

Result<Sanitizer> WithLive() { return Sanitizer::Make(RuleSet::Standard(), {{"db", kLive}, {"mail", "0123abcd0123"}}, kSanitizerKey); }

TEST(Sanitizer, KeepsTheTextReadable) {
  const auto done = test::PlainSanitizer().Sanitize("Connect with postgres://acl:Zw4kq9Lm@db/acl, then password=Qx7zzPw2 again.");
  EXPECT_THAT(done->text, HasSubstr("Connect with postgres://acl:[secret:url-password:"));
  EXPECT_THAT(done->text, HasSubstr("]@db/acl, then password=[secret:password:"));
  EXPECT_TRUE(done->text.ends_with("] again.")) << done->text;
  EXPECT_EQ(done->cut, (std::vector<Cut>{{"password", 1}, {"url-password", 1}}));
}

TEST(Sanitizer, EqualSecretsHaveEqualPlaceholders) {
  const auto& sanitizer = test::PlainSanitizer();
  const auto one = sanitizer.Sanitize("password=Qx7zzPw2")->text, two = sanitizer.Sanitize("DB_PASSWORD: \"Qx7zzPw2\"")->text;
  const auto placeholder = one.substr(one.find('['));
  EXPECT_TRUE(IsPlaceholder(placeholder)) << placeholder;
  EXPECT_THAT(two, HasSubstr(placeholder));
  EXPECT_THAT(sanitizer.Sanitize("password=Qx7zzPw3")->text, Not(HasSubstr(placeholder)));
  const auto other_key = Sanitizer::Make(RuleSet::Standard(), {}, "another key of the test");
  EXPECT_THAT(other_key->Sanitize("password=Qx7zzPw2")->text, Not(HasSubstr(placeholder)));
}

TEST(Sanitizer, TwiceIsOnce) {
  for (const auto& planted : test::ReadPlanted()) {
    const auto once = test::PlainSanitizer().Sanitize(planted.text)->text;
    EXPECT_EQ(test::PlainSanitizer().Sanitize(once)->text, once) << planted.kind;
  }
}

TEST(Sanitizer, CutsALiveSecretInEveryForm) {
  const auto made = WithLive();
  const std::string live_placeholder = made->key().Placeholder("live", kLive);
  const auto forms = FormsOf(kLive);
  EXPECT_GE(forms.size(), 14u);
  for (const auto& form : forms) {
    EXPECT_EQ(made->Sanitize("x " + form + " y")->text, "x " + live_placeholder + " y") << form;
  }
  // As a part of something that was encoded as a whole.
  for (const std::string before : {"u:", "us:", "use:"}) {
    const std::string whole = EncodeBase64(before + kLive + " and more");
    EXPECT_THAT(made->Sanitize(whole)->text, HasSubstr(live_placeholder)) << before;
  }
}

TEST(Sanitizer, JsonStaysJson) {
  const auto made = WithLive();
  const Json value{{"password", "hunter2hunter2"},
                   {"pin", {{"secret", 123456}}},
                   {"note", "the line\nhas \"" + kLive + "\" in it"},
                   {"env", {{{"name", "DB_PASSWORD"}, {"value", "plainword"}}, {{"name", "HOST"}, {"value", "plainword"}}}},
                   {"args", {"--password", "plainword", "--user", "plainword"}},
                   {"0123abcd0123", true},
                   {"token", 4294967297},
                   {"kept", {1, 2.5, nullptr, "text"}}};
  const auto done = made->SanitizeJson(value);
  ASSERT_TRUE(done);
  const std::string text = DumpJson(done->value);
  const auto parsed = ParseJson(text);
  ASSERT_TRUE(parsed) << text;
  EXPECT_EQ(*parsed, done->value);
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(text, Not(HasSubstr("123456")));
  EXPECT_THAT(text, Not(HasSubstr("tr0ub4dor")));
  EXPECT_THAT(text, Not(HasSubstr("0123abcd0123")));
  EXPECT_EQ(done->value["env"][1]["value"], "plainword");
  EXPECT_NE(done->value["env"][0]["value"], "plainword");
  EXPECT_NE(done->value["args"][1], "plainword");
  EXPECT_EQ(done->value["args"][3], "plainword");
  EXPECT_EQ(done->value["token"], 4294967297);
  EXPECT_EQ(done->value["kept"], value["kept"]);
  const auto again = made->SanitizeJson(done->value);
  EXPECT_EQ(again->value, done->value);
  EXPECT_TRUE(again->cut.empty());
}

TEST(Sanitizer, EveryPlantedSecretIsCutInJsonToo) {
  int values = 0, survive = 0;
  for (const auto& planted : test::ReadPlanted()) {
    const auto done = test::PlainSanitizer().SanitizeJson(Json{{"text", planted.text}});
    for (const auto& value : planted.values) {
      ++values;
      survive += test::Survives(planted.kind, value, done->value["text"].get<std::string>()) ? 1 : 0;
    }
  }
  EXPECT_LE(survive * 100, values);
}

TEST(Sanitizer, WhatIsNoTextIsCut) {
  const std::string bytes = std::string("before \xff\xfe\x00\x01 after", 18);
  const auto done = test::PlainSanitizer().Sanitize(bytes);
  EXPECT_TRUE(IsUtf8(done->text));
  EXPECT_THAT(done->text, HasSubstr("before [secret:binary:"));
  EXPECT_EQ(done->text.find('\0'), std::string::npos);
  EXPECT_EQ(test::PlainSanitizer().Sanitize("naïve \x1b[31mred\x1b[0m\ttext")->text, "naïve \x1b[31mred\x1b[0m\ttext");
}

TEST(Sanitizer, ErrorsHoldNoPartOfATextOrSecret) {
  const auto too_short = Sanitizer::Make(RuleSet::Standard(), {{"pin", "7391"}}, kSanitizerKey);
  ASSERT_FALSE(too_short);
  EXPECT_THAT(too_short.message(), HasSubstr("pin"));
  EXPECT_THAT(too_short.message(), Not(HasSubstr("7391")));
  const auto weak = Sanitizer::Make(RuleSet::Standard(), {}, "weakkey");
  ASSERT_FALSE(weak);
  EXPECT_THAT(weak.message(), Not(HasSubstr("weakkey")));
  const auto too_long = test::PlainSanitizer().Sanitize(std::string(kLongestText + 1, 'q'));
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.message(), Not(HasSubstr("qqq")));
  Json deep = "Qx7zzPw2";
  for (int i = 0; i < 80; ++i) deep = Json::array({deep});
  const auto too_deep = test::PlainSanitizer().SanitizeJson(deep);
  ASSERT_FALSE(too_deep);
  EXPECT_THAT(too_deep.message(), Not(HasSubstr("Qx7zzPw2")));
}

// A text made to cost much costs no more than its length: each of these would take minutes if its work grew with the square of it.
TEST(Sanitizer, HostileTextsEnd) {
  const std::size_t size = 1u << 20;
  for (const std::string piece : {"password=", "\"password\": \"", "-----BEGIN PRIVATE KEY-----", "eyJ", "://a:", "A", "\xff",
                                  "[secret:", "KEY=1\n", "2026-11-02T10:15:00Z x\n"}) {
    std::string text;
    while (text.size() < size) text += piece;
    EXPECT_TRUE(test::PlainSanitizer().Sanitize(text)) << piece;
  }
}

// D-r7: a record names the rules, and other rules have another name.
TEST(RuleSet, HasADigestOverWhatItFinds) {
  const RuleSet& standard = RuleSet::Standard();
  EXPECT_EQ(RuleSet(StandardRules()).Name(), standard.Name());
  auto rules = StandardRules();
  rules.pop_back();
  EXPECT_NE(RuleSet(rules).digest(), standard.digest());
  EXPECT_EQ(standard.Name(), "1:4fe44a2c48d2b63c290d5b20c63981fa6ce3047c183f8e54eb2ec6432cb12f71")
      << "the rules have changed: raise RuleSet::kVersion if a version was released with them, and write the new name here";
}

// What Preview relies on: no pattern of the table looks further than kLongestHead.
TEST(RuleSet, PatternsAreBounded) {
  for (const Rule& rule : StandardRules()) {
    if (rule.use != Use::kCut) continue;
    bool in_class = false;
    for (std::size_t i = 0; i < rule.pattern.size(); ++i) {
      const char c = rule.pattern[i];
      if (c == '\\') {
        ++i;
        continue;
      }
      if (in_class) {
        in_class = c != ']';
        continue;
      }
      in_class = c == '[';
      EXPECT_FALSE(c == '*' || c == '+') << rule.kind << ": " << rule.pattern;
      if (c == '{') {
        EXPECT_EQ(rule.pattern.substr(i, rule.pattern.find('}', i) - i).find(",}"), std::string::npos) << rule.pattern;
      }
    }
  }
}

}  // namespace
}  // namespace acl::aegis
