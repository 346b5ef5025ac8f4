#include "shared/workflow/first_event_template.h"

#include <gtest/gtest.h>

#include "shared/capability/standard.h"
#include "shared/definition/loader.h"
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

struct FirstEventTemplateTest : testing::Test {
  FirstEventTemplateTest() {
    auto all = std::make_shared<CapabilityRegistry>();
    RegisterStandardCapabilities(*all, {});
    registry = all;
    kind = MakeWorkflowKind(registry);
  }

  WorkflowDefinition Load(const std::string& text) {
    Loaded loaded = LoadWorkflow(text, *registry, {});
    EXPECT_TRUE(loaded.ok());
    return *loaded.definition;
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

  // With templates and without: the same, byte for byte.
  void Same(const WorkflowDefinition& definition, FirstEventTemplates& event_templates, const CreateRequest& request) {
    auto made = MakeCreateItem(*kind, definition, request, &event_templates), worded = MakeCreateItem(*kind, definition, request);
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

TEST_F(FirstEventTemplateTest, WhatIsInstantiatedIsWhatIsEncoded) {
  const WorkflowDefinition definition = Load(kPlain);
  FirstEventTemplates event_templates;
  for (int i = 0; i < 4; ++i) Same(definition, event_templates, Request());
  EXPECT_EQ(event_templates.size(), 1U);
}

TEST_F(FirstEventTemplateTest, SoAreInputsOfAnyKind) {
  const auto inputs = [](const char* text) { return *ParseJson(text); };
  FirstEventTemplates event_templates;
  const WorkflowDefinition definition = Load(kPlain);
  for (const char* text : {R"({"greeting":"x","more":{"z":1,"a":[1.0,2e3,-0.0,9007199254740993,1e400]}})", R"({"greeting":"","more":null})",
                           R"({"greeting":"\"\\\u00e4\u20ac\ud83d\ude00\u0007","more":[]})",
                           R"({"greeting":{"b":{"\ue000":1,"\ud83d\ude00":2}},"more":true})"}) {
    auto parsed = ParseJson(text);
    if (parsed) Same(definition, event_templates, Request(*parsed));
  }
  EXPECT_EQ(event_templates.size(), 1U);
  for (int i = 0; i < 3; ++i) Same(definition, event_templates, Request(inputs(R"({"more":1,"greeting":2})")));  // another order
  EXPECT_EQ(event_templates.size(), 2U);

  FirstEventTemplates declared;
  const WorkflowDefinition strict = Load(kDeclared);
  for (int i = 0; i < 3; ++i) Same(strict, declared, Request());
  for (int i = 0; i < 3; ++i) Same(strict, declared, Request(inputs(R"({"many":[1,"2"],"text":"id"})")));
  EXPECT_EQ(declared.size(), 2U);
  EXPECT_FALSE(MakeCreateItem(*kind, strict, Request(inputs(R"({"text":7})")), &declared).ok());
}

TEST_F(FirstEventTemplateTest, WhoAsksAndTheTraceAreOfItsShape) {
  const WorkflowDefinition definition = Load(kPlain);
  FirstEventTemplates event_templates(8);
  for (int i = 0; i < 3; ++i) {
    CreateRequest other = Request(), spanned = Request(), quiet = Request(), untraced = Request(), nobody = Request();
    other.submitter = "some \"one\" else";
    spanned.trace.span_id = std::string(15, 'b') + std::to_string(i);
    quiet.trace = spanned.trace;
    quiet.trace.sampled = false;
    untraced.trace = {};
    nobody.submitter = "";
    for (const CreateRequest& request : {other, spanned, quiet, untraced, nobody}) Same(definition, event_templates, request);
  }
  EXPECT_EQ(event_templates.size(), 5U);
}

TEST_F(FirstEventTemplateTest, OthersAreWorded) {
  const WorkflowDefinition definition = Load(kPlain);
  FirstEventTemplates event_templates;
  for (int i = 0; i < 3; ++i) {
    CreateRequest session = Request(), odd = Request(), files = Request();
    session.session_id = "s";
    odd.trace.trace_id = "\"no digits";
    FileChange file;
    file.path = "a/b";
    file.hash = Hash256{1};
    files.files = {file};
    for (const CreateRequest& request : {session, odd, files}) Same(definition, event_templates, request);
  }
  EXPECT_EQ(event_templates.size(), 0U);
}

TEST_F(FirstEventTemplateTest, ManyStepsAndTemplatesAreBounded) {
  for (const int steps : {100, 2000}) {
    std::string text = "name: many\nsteps:\n";
    for (int i = 0; i < steps; ++i) text += "  - {name: s" + std::to_string(i) + ", capability: test.effect, depends_on: []}\n";
    const WorkflowDefinition definition = Load(text);
    FirstEventTemplates event_templates(2);
    for (int shape = 0; shape < 3; ++shape) {
      for (int i = 0; i < 3; ++i) {
        CreateRequest request = Request();
        request.submitter = std::to_string(shape);
        Same(definition, event_templates, request);
      }
    }
    EXPECT_EQ(event_templates.size(), steps == 100 ? 2U : 1U);
  }
}

TEST(TextTemplate, MarksInTheirPlaces) {
  const TextTemplate text("-ab-cd-ab-", {"ab", "", "cd"});
  EXPECT_EQ(text.Fill({"cd", "unused", ""}), "-cd--cd-");
  EXPECT_FALSE(text.fixed());
  EXPECT_TRUE(TextTemplate("plain", {"ab", ""}).fixed());
  EXPECT_EQ(TextTemplate("plain", {}).Fill({}), "plain");
}

}  // namespace
}  // namespace acl::workflow
