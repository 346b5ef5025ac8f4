#include <gtest/gtest.h>

#include "shared/workflow/call.h"

namespace acl::workflow {
namespace {

// What sys.exec.run is called with.
Json CalledWith(const Json& inputs, const Json& variables, std::string* error = nullptr) {
  const TemplateScope scope = [&](std::string_view name) { return MemberOf(&variables, name); };
  std::vector<std::string> missing;
  CapabilityCall call = ResolveCall("sys.exec.run", inputs, scope, Unanswered::kFailsEffect, &missing);
  if (error) *error = call.error;
  return call.inputs;
}

TEST(CommandWords, AValueInACommandStaysOneWord) {
  for (const char* value : {"a b", "-la /etc", "x' 'y", "\" \"", "a;b", "$(id)", "a\nb", "\\", "{{other}}", ""}) {
    const Json called = CalledWith({{"command", "ls {{dir}} -- '--out={{dir}} x' end"}}, {{"dir", value}, {"other", "secret"}});
    const std::string text = value;
    EXPECT_EQ(called, Json({{"command", "ls"}, {"args", {text, "--", "--out=" + text + " x", "end"}}})) << value;
  }
}

TEST(CommandWords, WhatStandsInAReferenceIsNotSplit) {
  EXPECT_EQ(CalledWith({{"command", "echo {{ a.b | default('x y') }}z {{n}}"}}, {{"n", 7}}),
            Json({{"command", "echo"}, {"args", {"x yz", 7}}}));
  EXPECT_EQ(CalledWith({{"command", "{{tool}} -v"}}, {{"tool", "ls -la"}}), Json({{"command", "ls -la"}, {"args", {"-v"}}}))
      << "one word, so a program of that name";
  EXPECT_EQ(CalledWith({{"command", "{{tool}}"}, {"timeout", 3}}, {{"tool", "ls -la"}}),
            Json({{"command", "ls -la"}, {"timeout", 3}, {"args", Json::array()}}));
}

TEST(CommandWords, AListOfArgumentsIsTheWayToSeveral) {
  EXPECT_EQ(CalledWith({{"command", "ls"}, {"args", "{{list}}"}}, {{"list", {"a b", "c"}}}),
            Json({{"command", "ls"}, {"args", {"a b", "c"}}}));
}

TEST(CommandWords, ALineWithoutReferencesIsLeftToTheWorker) {
  for (const char* line : {"echo a 'b c'", "echo '{{ a b }}'", "a | b"})
    EXPECT_EQ(CalledWith({{"command", line}}, Json::object()), Json({{"command", line}}));
}

TEST(CommandWords, OnlyTheAuthorsTextCanNeedAShell) {
  std::string error;
  CalledWith({{"command", "ls {{dir}} | wc"}}, {{"dir", "x"}}, &error);
  EXPECT_EQ(error, "inputs: command: '|' would need a shell; no shell runs it: give the program in `command` and a list in `args`");
  CalledWith({{"command", "ls '{{dir}}"}}, {{"dir", "x'"}}, &error);
  EXPECT_EQ(error, "inputs: command: the quote ' is not closed; no shell runs it: give the program in `command` and a list in `args`");
  CalledWith({{"command", "ls {{nothing}}"}}, Json::object(), &error);
  EXPECT_NE(error.find("nothing answers {{nothing}}"), std::string::npos) << error;
}

}  // namespace
}  // namespace acl::workflow
