#include "shared/workflow/run_mold.h"

#include <gtest/gtest.h>

#include "shared/capability/standard.h"
#include "shared/spec/loader.h"
#include "shared/workflow/first_event.h"
#include "shared/workflow/workflow_kind.h"

namespace acl::workflow {
namespace {

constexpr const char* kPlain = R"(
name: plain
initial_state: {greeting: "h\u00e4 \"quoted\"", n: 1.50}
steps:
  - {name: one, capability: test.effect, inputs: {size: 1, text: "{{ greeting }}"}}
  - {name: two, capability: test.effect, depends_on: []}
)";
constexpr const char* kDeclared = R"(
name: declared
version: "2.1"
owner: somebody
workflow_id: its-own
inputs:
  text: {type: string, default: "a"}
  many: {type: array, required: false}
initial_state: {text: other}
steps:
  - {name: one, capability: test.effect}
)";

struct RunMoldTest : testing::Test {
  RunMoldTest() {
    auto all = std::make_shared<CapabilityRegistry>();
    RegisterStandardCapabilities(*all, {});
    registry = all;
    kind = MakeWorkflowKind(registry);
  }

  WorkflowSpec Load(const std::string& text) {
    Loaded loaded = LoadWorkflow(text, *registry, {});
    EXPECT_TRUE(loaded.ok());
    return *loaded.spec;
  }

  CreateRequest Request(Json inputs = Json::object()) {
    ++number;
    CreateRequest request;
    request.subject.uuid.bytes = {std::uint8_t(number), 0xab, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, std::uint8_t(number)};
    request.inputs = std::move(inputs);
    request.submitter = "me";
    request.trace.trace_id = std::string(31, 'a') + std::to_string(number % 10);
    return request;
  }

  // With molds and without: the same, byte for byte.
  void Same(const WorkflowSpec& spec, RunMolds& molds, const CreateRequest& request) {
    auto made = MakeCreateItem(*kind, spec, request, &molds), worded = MakeCreateItem(*kind, spec, request);
    ASSERT_TRUE(made.ok() && worded.ok());
    EXPECT_EQ(made->events.front().payload, worded->events.front().payload);
    EXPECT_EQ(made->events, worded->events);
    EXPECT_EQ(made->state_root, worded->state_root);
    Event sealed = made->events.front();
    sealed.chain = ChainNext(ChainStart(request.subject), sealed);
    EXPECT_TRUE(Verify(sealed, ChainStart(request.subject)).ok());
  }

  std::shared_ptr<const CapabilityRegistry> registry;
  std::shared_ptr<const SubjectKind> kind;
  int number = 0;
};

TEST_F(RunMoldTest, WhatIsPouredIsWhatIsWorded) {
  const WorkflowSpec spec = Load(kPlain);
  RunMolds molds;
  for (int i = 0; i < 4; ++i) Same(spec, molds, Request());
  EXPECT_EQ(molds.size(), 1U);
}

TEST_F(RunMoldTest, SoAreInputsOfAnyKind) {
  const auto inputs = [](const char* text) { return *ParseJson(text); };
  RunMolds molds;
  const WorkflowSpec spec = Load(kPlain);
  for (const char* text : {R"({"greeting":"x","more":{"z":1,"a":[1.0,2e3,-0.0,9007199254740993,1e400]}})", R"({"greeting":"","more":null})",
                           R"({"greeting":"\"\\\u00e4\u20ac\ud83d\ude00\u0007","more":[]})",
                           R"({"greeting":{"b":{"\ue000":1,"\ud83d\ude00":2}},"more":true})"}) {
    auto parsed = ParseJson(text);
    if (parsed) Same(spec, molds, Request(*parsed));
  }
  EXPECT_EQ(molds.size(), 1U);
  for (int i = 0; i < 3; ++i) Same(spec, molds, Request(inputs(R"({"more":1,"greeting":2})")));  // another order
  EXPECT_EQ(molds.size(), 2U);

  RunMolds declared;
  const WorkflowSpec strict = Load(kDeclared);
  for (int i = 0; i < 3; ++i) Same(strict, declared, Request());
  for (int i = 0; i < 3; ++i) Same(strict, declared, Request(inputs(R"({"many":[1,"2"],"text":"id"})")));
  EXPECT_EQ(declared.size(), 2U);
  EXPECT_FALSE(MakeCreateItem(*kind, strict, Request(inputs(R"({"text":7})")), &declared).ok());
}

TEST_F(RunMoldTest, WhoAsksAndTheTraceAreOfItsShape) {
  const WorkflowSpec spec = Load(kPlain);
  RunMolds molds(8);
  for (int i = 0; i < 3; ++i) {
    CreateRequest other = Request(), spanned = Request(), quiet = Request(), untraced = Request(), nobody = Request();
    other.submitter = "some \"one\" else";
    spanned.trace.span_id = std::string(15, 'b') + std::to_string(i);
    quiet.trace = spanned.trace;
    quiet.trace.sampled = false;
    untraced.trace = {};
    nobody.submitter = "";
    for (const CreateRequest& request : {other, spanned, quiet, untraced, nobody}) Same(spec, molds, request);
  }
  EXPECT_EQ(molds.size(), 5U);
}

TEST_F(RunMoldTest, OthersAreWorded) {
  const WorkflowSpec spec = Load(kPlain);
  RunMolds molds;
  for (int i = 0; i < 3; ++i) {
    CreateRequest session = Request(), odd = Request(), files = Request();
    session.session_id = "s";
    odd.trace.trace_id = "\"no digits";
    FileChange file;
    file.path = "a/b";
    file.hash = Hash256{1};
    files.files = {file};
    for (const CreateRequest& request : {session, odd, files}) Same(spec, molds, request);
  }
  EXPECT_EQ(molds.size(), 0U);
}

TEST_F(RunMoldTest, ManyStepsAndMoldsAreBounded) {
  for (const int steps : {100, 2000}) {
    std::string text = "name: many\nsteps:\n";
    for (int i = 0; i < steps; ++i) text += "  - {name: s" + std::to_string(i) + ", capability: test.effect, depends_on: []}\n";
    const WorkflowSpec spec = Load(text);
    RunMolds molds(2);
    for (int shape = 0; shape < 3; ++shape) {
      for (int i = 0; i < 3; ++i) {
        CreateRequest request = Request();
        request.submitter = std::to_string(shape);
        Same(spec, molds, request);
      }
    }
    EXPECT_EQ(molds.size(), steps == 100 ? 2U : 1U);
  }
}

TEST(MoldText, MarksInTheirPlaces) {
  const MoldText text("-ab-cd-ab-", {"ab", "", "cd"});
  EXPECT_EQ(text.Fill({"cd", "unused", ""}), "-cd--cd-");
  EXPECT_FALSE(text.fixed());
  EXPECT_TRUE(MoldText("plain", {"ab", ""}).fixed());
  EXPECT_EQ(MoldText("plain", {}).Fill({}), "plain");
}

}  // namespace
}  // namespace acl::workflow
