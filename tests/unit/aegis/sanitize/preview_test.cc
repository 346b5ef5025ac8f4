// A growing text is shown by the same rules as a whole one, however it is split (D-r2).
#include "shared/aegis/sanitize/preview.h"

#include <gtest/gtest.h>

#include "tests/unit/aegis/sanitize/corpus.h"

namespace acl::aegis {
namespace {

// Something before and behind, so that the window passes over the secret.
std::string Wrapped(const std::string& text) {
  std::string rest;
  for (int i = 0; i < 14; ++i) rest += "and here the answer goes on in plain words of some length; ";
  return "It begins so.\n" + text + "\n" + rest + "\nThe end.";
}

std::string ShownInChunks(const std::string& text, const std::vector<std::size_t>& ends) {
  Preview preview(test::PlainSanitizer());
  std::string shown;
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    shown += *preview.Append(std::string_view(text).substr(at, end - at));
    at = end;
  }
  shown += *preview.Append(std::string_view(text).substr(at));
  return shown + *preview.Finish();
}

TEST(Preview, SplitAtEveryByteIsTheWhole) {
  for (const auto& planted : test::ReadPlanted()) {
    if (planted.text.size() > 1500) continue;  // the same rules as shorter lines; LongBlocks has those
    const std::string text = Wrapped(planted.text), whole = test::PlainSanitizer().Sanitize(text)->text;
    const std::size_t from = text.find(planted.text), step = planted.text.size() > 200 ? 7 : 1;
    for (std::size_t split = from; split <= from + planted.text.size(); split += step) {
      ASSERT_EQ(ShownInChunks(text, {split}), whole) << planted.kind << " split at " << split;
    }
  }
}

// Nothing that is shown early is ever taken back, and nothing of the secret is in it.
TEST(Preview, WhatIsSafeStaysAsItIs) {
  const auto& sanitizer = test::PlainSanitizer();
  for (const auto& planted : test::ReadPlanted()) {
    if (planted.text.size() > 400) continue;
    const std::string text = Wrapped(planted.text), whole = sanitizer.Sanitize(text)->text;
    for (std::size_t size = planted.text.size() / 2; size <= text.size(); size += 11) {
      const auto growing = std::string_view(text).substr(0, size);
      const auto scan = sanitizer.ScanText(growing);
      std::vector<Cut> cut;
      const std::string shown = sanitizer.Render(growing, scan, 0, scan.safe, cut);
      ASSERT_TRUE(whole.starts_with(shown)) << planted.kind << " at " << size;
    }
  }
}

TEST(Preview, EveryChunkingIsTheWhole) {
  std::string text;
  int taken = 0;
  for (const auto& planted : test::ReadPlanted()) {
    if (planted.text.size() < 3000 && ++taken % 4 == 0) text += planted.text + "\n";
  }
  const std::string whole = test::PlainSanitizer().Sanitize(text)->text;
  for (const std::size_t chunk : {11u, 64u, 333u, 5000u}) {
    std::vector<std::size_t> ends;
    for (std::size_t at = chunk; at < text.size(); at += chunk) ends.push_back(at);
    EXPECT_EQ(ShownInChunks(text, ends), whole) << "chunks of " << chunk;
  }
}

TEST(Preview, LongBlocks) {
  for (const auto& planted : test::ReadPlanted()) {
    if (planted.text.size() <= 1500) continue;
    const std::string text = Wrapped(planted.text);
    std::vector<std::size_t> ends;
    for (std::size_t at = 97; at < text.size(); at += 97) ends.push_back(at);
    EXPECT_EQ(ShownInChunks(text, ends), test::PlainSanitizer().Sanitize(text)->text) << planted.kind;
  }
}

// A live secret may be of any length, over several lines.
TEST(Preview, ALiveSecretIsHeldBack) {
  const std::string secret = "first line of it\nsecond line, with = and \"quotes\" and quite some length to be held back";
  const auto made = Sanitizer::Make(RuleSet::Standard(), {{"pair", secret}}, "sixteen bytes ok!");
  const std::string text = Wrapped("begin " + secret + " end");
  const std::string whole = made->Sanitize(text)->text;
  EXPECT_EQ(whole.find("second line"), std::string::npos);
  for (std::size_t split = 1; split < text.size(); ++split) {
    Preview preview(*made);
    std::string shown = *preview.Append(text.substr(0, split));
    EXPECT_EQ(shown.find("first line"), std::string::npos);
    shown += *preview.Append(text.substr(split));
    ASSERT_EQ(shown + *preview.Finish(), whole) << split;
  }
}

// What decides about a text may stand further behind it than the window reaches.
TEST(Preview, WhatBeganIsHeldBackHoweverLongItIs) {
  std::string live, env, piece;
  for (int i = 0; i < 700; ++i) piece += char('a' + i % 26);  // no capital and no digit: not random yet
  for (int i = 0; i < 400; ++i) live += "line " + std::to_string(i * 7919) + "\n";
  for (int i = 0; i < 30; ++i) env += "SETTING_" + std::to_string(i) + "=a value that means nothing by itself\n";
  for (int i = 0; i < 200; ++i) piece += std::to_string(i * 7919) + "QzXwVy";
  const auto made = Sanitizer::Make(RuleSet::Standard(), {{"file", live}}, "sixteen bytes ok!");
  for (const std::string& text : {live, env + "DB_PASSWORD=Zw4kq9LmXx\n", piece}) {
    const std::string whole = made->Sanitize(Wrapped(text))->text;
    EXPECT_NE(whole, Wrapped(text));
    for (const std::size_t chunk : {1u, 50u, 999u}) {
      Preview preview(*made);
      std::string shown;
      const std::string wrapped = Wrapped(text);
      for (std::size_t at = 0; at < wrapped.size(); at += chunk) {
        shown += *preview.Append(std::string_view(wrapped).substr(at, chunk));
        ASSERT_TRUE(whole.starts_with(shown)) << "at " << at << " in chunks of " << chunk;
      }
      EXPECT_EQ(shown + *preview.Finish(), whole);
    }
  }
}

// A long answer in many pieces: the lines that are done are not looked at again.
TEST(Preview, PlainTextIsShownAsItComes) {
  Preview preview(test::PlainSanitizer());
  std::string shown, text;
  for (int i = 0; i < 3000; ++i) {
    const std::string chunk = i % 10 == 9 ? "\n" : "some words ";
    text += chunk;
    shown += *preview.Append(chunk);
  }
  EXPECT_GE(shown.size() + kLongestHead + 64, text.size());
  EXPECT_EQ(shown + *preview.Finish(), text);
}

}  // namespace
}  // namespace acl::aegis
