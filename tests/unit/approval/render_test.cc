// What a person sees.
#include "shared/approval/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl::approval {
namespace {

using testing::HasSubstr;
using testing::Not;

Request Shows(Json arguments) {
  Request request;
  request.run_id = "r";
  request.step_id = "gate";
  request.workflow = "deploy";
  request.message = "go?";
  request.arguments = std::move(arguments);
  request.digest = "d";
  return request;
}

TEST(Render, InvisibleCharactersAreSeen) {
  EXPECT_EQ(EscapeInvisible("plain, h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80"), "plain, h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(EscapeInvisible("a\nb\tc\rd\x1b[31m"), "a\\nb\\tc\\u{000D}d\\u{001B}[31m");
  EXPECT_EQ(EscapeInvisible("pay \xe2\x80\xae"
                            "000,1"),
            "pay \\u{202E}000,1");                                                         // bidirectional
  EXPECT_EQ(EscapeInvisible("al\xe2\x80\x8bice\xef\xbb\xbf"), "al\\u{200B}ice\\u{FEFF}");  // zero width
  EXPECT_EQ(EscapeInvisible("\xf3\xa0\x81\x81"), "\\u{E0041}");                            // tags
  EXPECT_EQ(EscapeInvisible("\\u{202E}"), "\\\\u{202E}");                                  // no escape can be forged
}

TEST(Render, ArgumentsByTheirPathsAndTheMessageLast) {
  const Shown shown = Render(Shows({{"message", "go?"}, {"to", {{{"name", "x"}}, "y"}}, {"empty", Json::object()}, {"n", 1.5}}));
  const std::string text = ToText(shown);
  EXPECT_THAT(text, HasSubstr("inputs.to[0].name: x\ninputs.to[1]: y\n"));
  EXPECT_THAT(text, HasSubstr("inputs.empty: {}\n"));
  EXPECT_THAT(text, HasSubstr("inputs.n: 1.5\n"));
  EXPECT_EQ(shown.lines.back().name, "the file's message");
  EXPECT_FALSE(shown.truncated);
  EXPECT_EQ(shown.digest.size(), 64u);
}

TEST(Render, WhatIsCutSaysSo) {
  Json arguments = {{"long", std::string(5'000, 'x')}};
  const Shown cut = Render(Shows(arguments));
  EXPECT_TRUE(cut.truncated);
  EXPECT_THAT(ToText(cut), HasSubstr("(cut: the whole has 5000 bytes)"));
  for (int i = 0; i < 400; ++i) arguments["k" + std::to_string(i)] = i;
  const Shown many = Render(Shows(std::move(arguments)));
  EXPECT_TRUE(many.truncated);
  EXPECT_THAT(many.lines.back().text, HasSubstr("more values are not shown"));
  EXPECT_NE(many.digest, cut.digest);
}

TEST(Render, ALineCannotPretendToBeAnother) {
  const Shown shown = Render(Shows({{"to", "x\namount: 1"}, {"a\nrisk", "LOW"}}));
  EXPECT_THAT(ToText(shown), Not(HasSubstr("\namount")));
  EXPECT_THAT(ToText(shown), HasSubstr("a\\nrisk: LOW"));
  const Shown posing = Render(Shows({{"risk", "LOW"}, {"digest", "other"}}));
  for (const char* ours : {"risk", "digest"})
    EXPECT_EQ(std::count_if(posing.lines.begin(), posing.lines.end(), [&](const ShownLine& line) { return line.name == ours; }), 1) << ours;
}

}  // namespace
}  // namespace acl::approval
