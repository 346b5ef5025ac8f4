// Text that is hostile, ambiguous or not quite YAML. Nothing of it may crash, hang or be read as something else.
#include "shared/definition/source_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace acl {
namespace {

struct Read {
  std::optional<SourceNode> tree;
  std::vector<Finding> findings;
  std::string First() const {
    return findings.empty()
               ? ""
               : findings[0].code + "@" + std::to_string(findings[0].mark.line) + ":" + std::to_string(findings[0].mark.column);
  }
};

Read ReadText(const std::string& text, LoadOptions options = {}) {
  Read out;
  out.tree = ReadSource(text, options, &out.findings);
  return out;
}

Json Value(const std::string& text) {
  Read read = ReadText(text);
  EXPECT_TRUE(read.tree && read.findings.empty()) << text << ": " << read.First();
  return read.tree ? ToJson(*read.tree) : Json("unreadable");
}

TEST(Source, CoreSchemaNotYaml11) {
  EXPECT_EQ(Value("a: no\nb: yes\nc: on\nd: Off\n"), *ParseJson(R"({"a":"no","b":"yes","c":"on","d":"Off"})"));
  EXPECT_EQ(Value("[010, 0o10, 0x1F, 1_000, 1:30, 0b1, +3, -4]"), *ParseJson(R"([10,8,31,"1_000","1:30","0b1",3,-4])"));
  EXPECT_EQ(Value("[1.5, 1., .5, 1e3, -2.5E-3, ., 1.2.3, e3]"), *ParseJson(R"([1.5,1.0,0.5,1000.0,-0.0025,".","1.2.3","e3"])"));
  EXPECT_EQ(Value("[~, null, Null, NULL, nULL, '', \"null\"]"), *ParseJson(R"([null,null,null,null,"nULL","","null"])"));
  EXPECT_EQ(Value("[true, True, TRUE, tRUE, false, 'true']"), *ParseJson(R"([true,true,true,"tRUE",false,"true"])"));
  EXPECT_EQ(Value("- 2024-01-01\n- 12:30:45\n- \"1\"\n- |\n  x\n  y\n"), *ParseJson(R"(["2024-01-01","12:30:45","1","x\ny\n"])"));
  EXPECT_EQ(Value("[9223372036854775807, -9223372036854775808, 18446744073709551615]"),
            *ParseJson("[9223372036854775807,-9223372036854775808,18446744073709551615]"));
}

TEST(Source, NumbersThatDoNotFit) {
  EXPECT_EQ(ReadText("a: 18446744073709551616\n").First(), "bad-number@1:4");
  EXPECT_EQ(ReadText("a: -9223372036854775809\n").First(), "bad-number@1:4");
  EXPECT_EQ(ReadText("a: 1e999\n").First(), "bad-number@1:4");
  EXPECT_EQ(ReadText("a: .inf\n").First(), "bad-number@1:4");
  EXPECT_EQ(ReadText("a: .NaN\n").First(), "bad-number@1:4");
  EXPECT_EQ(Value("a: 1e-999\n"), *ParseJson(R"({"a":0.0})"));
}

TEST(Source, RefusedWithPlace) {
  EXPECT_EQ(ReadText("a: 1\nb:\n  c: 1\n  c: 2\n").First(), "duplicate-key@4:3");
  EXPECT_EQ(ReadText("a: 1\n\"a\": 2\n").First(), "duplicate-key@2:1");
  EXPECT_EQ(ReadText("a: &x {k: 1}\nb:\n  <<: *x\n").First(), "merge-key@3:3");
  EXPECT_EQ(ReadText("a: !!str 5\n").First(), "explicit-tag@1:4");
  EXPECT_EQ(ReadText("a: !!binary aGk=\n").First(), "explicit-tag@1:4");
  EXPECT_EQ(ReadText("a: !custom [1]\n").First(), "explicit-tag@1:4");
  EXPECT_EQ(ReadText("a: 1\n---\nb: 2\n").First().substr(0, 18), "multiple-documents");
  EXPECT_EQ(ReadText("1: x\n").First(), "key-not-string@1:1");
  EXPECT_EQ(ReadText("? [a, b]\n: x\n").First(), "key-not-string@1:3");
  EXPECT_EQ(ReadText("true: x\n").First(), "key-not-string@1:1");
  EXPECT_EQ(ReadText("&x [*x]").First(), "cyclic-alias@1:5");
  EXPECT_EQ(ReadText("a: &x {b: *x}\n").First(), "cyclic-alias@1:11");
  EXPECT_EQ(ReadText("a: *nope\n").First().substr(0, 6), "syntax");
  EXPECT_EQ(ReadText(std::string("a: \0b", 5)).First(), "nul-character@1:4");
  EXPECT_EQ(ReadText("a: \"x\\0y\"\n").First(), "nul-character@1:4");
  EXPECT_EQ(ReadText("ok: 1\na: \xff\n").First(), "invalid-utf8@2:4");
  EXPECT_EQ(ReadText("a: \xed\xa0\x80\n").First(), "invalid-utf8@1:4");
  EXPECT_EQ(ReadText("a: \xc0\x80\n").First(), "invalid-utf8@1:4");
  EXPECT_EQ(ReadText("a: \"\\ud800\"\n").First().substr(0, 14), "lone-surrogate");
  EXPECT_EQ(ReadText("").First(), "empty-file@1:1");
  EXPECT_EQ(ReadText("# only a comment\n").First(), "empty-file@1:1");
  EXPECT_EQ(ReadText("a: [1, 2\nb: 3\n").First().substr(0, 6), "syntax");
  for (const char* open : {"a: 'x\n", "a: 'x", "a: \"x\nb: 2\n", "a: \"x\nb: 2"})
    EXPECT_EQ(ReadText(open).First().substr(0, 6), "syntax") << open;
  EXPECT_TRUE(ReadText("a: 1\n...\n").findings.empty());
  EXPECT_TRUE(ReadText("---\na: |+\n  x\n\n").findings.empty());
}

// One 500 KB text, five thousand times: an alias is written out only as far as the whole may go.
TEST(Source, AliasesAreBoundedByBytesBeforeTheyAreWrittenOut) {
  std::string text = "big: &b \"" + std::string(500'000, 'x') + "\"\nlist:\n";
  for (int i = 0; i < 5'000; ++i) text += "- *b\n";
  const Read read = ReadText(text);
  EXPECT_FALSE(read.tree);
  EXPECT_EQ(read.First(), "too-large@9:3");
  EXPECT_LT(read.findings[0].message.size(), 200u);
  // The keys of maps and what stands inside of nested anchors count too.
  const std::string key(1'000, 'k');
  std::string nested = "a0: &a0 {" + key + ": 1}\n";
  for (int i = 1; i < 20; ++i)
    nested +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + ", *a" + std::to_string(i - 1) + "]\n";
  EXPECT_EQ(ReadText(nested).First().substr(0, 10), "too-large@");
  EXPECT_TRUE(ReadText("a: &a " + std::string(500'000, 'x') + "\nb: [*a, *a, *a]\n").findings.empty());
}

TEST(Source, AllDuplicatesAreReportedAndTheRestIsStillThere) {
  Read read = ReadText("a: 1\na: 2\nb: {c: 1, c: 2}\nd: 4\n");
  ASSERT_TRUE(read.tree);
  EXPECT_EQ(read.findings.size(), 2u);
  EXPECT_EQ(ToJson(*read.tree), *ParseJson(R"({"a":1,"b":{"c":1},"d":4})"));
}

TEST(Source, AliasesAreWrittenOutUpToALimit) {
  EXPECT_EQ(Value("a: &x {k: [1]}\nb: *x\n"), *ParseJson(R"({"a":{"k":[1]},"b":{"k":[1]}})"));
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'i'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) bomb += std::string(i ? ",*" : "*") + char(c - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(ReadText(bomb).First().substr(0, 15), "too-many-values");
  std::string nested;  // anchors inside anchors: the copies themselves are bounded
  for (int i = 0; i < 60; ++i) nested += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 5000; ++i) nested += "1,";
  nested += std::string(60, ']');
  EXPECT_EQ(ReadText(nested).First().substr(0, 15), "too-many-values");
}

TEST(Source, DepthAndSizeAreBounded) {
  LoadOptions options;
  options.max_depth = 5;
  EXPECT_TRUE(ReadText("[[[[[1]]]]]", options).findings.empty());
  EXPECT_EQ(ReadText("[[[[[[1]]]]]]", options).First(), "too-deep@1:6");
  EXPECT_EQ(ReadText("a: [[[[[x]]]]]", options).First(), "too-deep@1:8");
  EXPECT_EQ(ReadText("a: &x [[[1]]]\nb: [[*x]]\n", options).First(), "too-deep@2:6");
  EXPECT_EQ(ReadText(std::string(200'000, '[')).First().substr(0, 8), "too-deep");
  EXPECT_EQ(ReadText(std::string(100'000, '{')).findings.empty(), false);
  options.max_bytes = 10;
  EXPECT_EQ(ReadText("a: 12345678", options).First(), "too-large@1:1");
  std::string block;
  for (int i = 0; i < 400; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(ReadText(block).First().substr(0, 8), "too-deep");
}

TEST(Source, Json) {
  EXPECT_EQ(Value("{\"a\": \"\\ud83d\\ude00\\/\\n\\u00e9\", \"b\": [1, -2.5e1, true, null, {}], \"c\": []}"),
            *ParseJson("{\"a\":\"\xF0\x9F\x98\x80/\\n\xC3\xA9\",\"b\":[1,-25.0,true,null,{}],\"c\":[]}"));
  EXPECT_EQ(Value("\xEF\xBB\xBF{\t\"a\": 1}"), *ParseJson(R"({"a":1})"));
  EXPECT_EQ(ReadText("{\"a\": 1,\n \"a\": 2}").First(), "duplicate-key@2:2");
  EXPECT_EQ(ReadText("{\"a\": 1,\n \"b\": \"\\ud800\"}").First().substr(0, 17), "lone-surrogate@2:");
  EXPECT_EQ(ReadText("{\"a\": \"\\u0000\"}").First(), "nul-character@1:7");
  EXPECT_EQ(ReadText("{\"a\": 123456789012345678901234567890}").First(), "bad-number@1:7");
  EXPECT_EQ(ReadText("{\"a\": 1,\n  \"b\": @}").First().substr(0, 9), "syntax@2:");
  SourceNode tree = *ReadText("{\n  \"a\": {\"b\": 7}}").tree;
  EXPECT_EQ(tree.Find("a")->value.Find("b")->value.mark.line, 2);
  EXPECT_EQ(tree.Find("a")->value.Find("b")->key_mark.column, 9);
}

TEST(Source, FlowYamlThatIsNotJson) {
  EXPECT_EQ(Value("{name: x, steps: [a, 'b']} # comment"), *ParseJson(R"({"name":"x","steps":["a","b"]})"));
  EXPECT_EQ(Value("{\"a\": 1,}"), *ParseJson(R"({"a":1})"));
}

// Any bytes at all: an answer, in bounded time, and a tree that is storable.
RC_GTEST_PROP(Source, AnyTextIsAnswered, ()) {
  static const std::vector<std::string> kPieces = {"a",        ":",    " ",      "\n",   "- ",   "? ",   "&x ", "*x",  "[",     "]",
                                                   "{",        "}",    ",",      "\"",   "'",    "#",    "|",   ">",   "%",     "@",
                                                   "`",        "!",    "!!str ", "<<: ", "\\",   "\t",   "0",   "1e9", "---\n", "...\n",
                                                   "\xC3\xA9", "\xff", "~",      "\\u",  "d800", "null", "  "};
  std::string text;
  for (std::size_t piece : *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, kPieces.size())))
    text += kPieces[piece];
  Read read = ReadText(text);
  RC_ASSERT(read.tree.has_value() || !read.findings.empty());
  if (read.tree && read.findings.empty()) RC_ASSERT(CheckStorable(ToJson(*read.tree)).ok());
}

// What ParseJson reads, the loader reads as the same value.
RC_GTEST_PROP(Source, JsonReadsAsJson, ()) {
  static const std::vector<std::string> kPieces = {
      "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-0", "0.5", "1e3", "true", "null", " ", "\"\\u00e9\"", "\"\\ud83d\\ude00\""};
  std::string text = "{\"k\":[";
  for (std::size_t piece : *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, kPieces.size())))
    text += kPieces[piece];
  text += "]}";
  if (auto parsed = ParseJson(text)) {
    Read read = ReadText(text);
    RC_ASSERT(read.tree && read.findings.empty());
    RC_ASSERT(ToJson(*read.tree).dump() == parsed->dump());
  }
}

}  // namespace
}  // namespace acl
