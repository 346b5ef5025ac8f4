#include "shared/base/terminal_text.h"

#include <gtest/gtest.h>

#include "shared/base/json.h"

namespace acl {
namespace {

std::string Utf8(char32_t point) {
  std::string out;
  if (point < 0x80) {
    out += char(point);
  } else if (point < 0x800) {
    out += char(0xC0 | point >> 6);
    out += char(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    out += char(0xE0 | point >> 12);
    out += char(0x80 | (point >> 6 & 0x3F));
    out += char(0x80 | (point & 0x3F));
  } else {
    out += char(0xF0 | point >> 18);
    out += char(0x80 | (point >> 12 & 0x3F));
    out += char(0x80 | (point >> 6 & 0x3F));
    out += char(0x80 | (point & 0x3F));
  }
  return out;
}

TEST(TerminalText, WhatATerminalObeysIsWrittenOut) {
  EXPECT_EQ(TerminalText("\033[31mred\033[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(TerminalText("\xC2\x9B"
                         "2J"),
            "\\u009b2J");
  EXPECT_EQ(TerminalText("\x9B"
                         "2J"),
            "\\x9b2J");  // the single byte, as a terminal of Latin-1 reads it
  EXPECT_EQ(TerminalText("a\rb\bc\x7F\a"), "a\\x0db\\x08c\\x7f\\x07");
  EXPECT_EQ(TerminalText("user\xE2\x80\xAEgpj.exe"), "user\\u202egpj.exe");
  EXPECT_EQ(TerminalText("\xF3\xA0\x80\x81"), "\\U000e0001");
  EXPECT_EQ(TerminalText(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(TerminalText("one\n\ttwo"), "one\n\ttwo");
  EXPECT_EQ(TerminalText("Größe 東京 👩‍👩‍👧 שלום"), "Größe 東京 👩‍👩‍👧 שלום");
  EXPECT_EQ(TerminalText(""), "");
}

TEST(TerminalText, NoControlAndNoChangeOfDirectionGetsThrough) {
  for (char32_t point = 0; point < 0x3000; ++point) {
    const bool control = (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7F && point < 0xA0);
    const bool direction = point == 0x61C || point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
                           (point >= 0x2066 && point <= 0x2069);
    const std::string text = "x" + Utf8(point) + "y";
    if (!control && !direction) continue;
    EXPECT_NE(TerminalText(text), text) << std::uint32_t(point);
    EXPECT_EQ(TerminalText(text).find(Utf8(point)), std::string::npos) << std::uint32_t(point);
  }
}

TEST(TerminalText, EscapedJsonIsTheSameValue) {
  std::string all;
  for (char32_t point = 1; point < 0x3000; ++point) all += Utf8(point);
  all += Utf8(0xFEFF) + Utf8(0xE0001) + Utf8(0x1D173) + Utf8(0x1F600);
  const Json value = {{all, Json::array({all, 1, nullptr})}};
  const std::string text = TerminalJson(DumpJson(value));
  EXPECT_EQ(*ParseJson(text), value);
  EXPECT_EQ(TerminalText(text), text);  // nothing is left to escape
  EXPECT_EQ(TerminalJson("{\"a\": \"\xC2\x9B\"}"), "{\"a\": \"\\u009b\"}");
}

}  // namespace
}  // namespace acl
