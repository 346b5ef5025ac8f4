#include "cli/verify_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/capability/manifest.h"
#include "shared/capability/standard.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/workflow_kind.h"

namespace acl::cli {
namespace {

Document StateOfARun() {
  auto capabilities = std::make_shared<CapabilityRegistry>();
  RegisterStandardCapabilities(*capabilities, {});
  WorkflowDefinition definition;
  definition.name = "w";
  definition.owner = "o";
  definition.steps.resize(1);
  definition.steps[0].name = "s";
  definition.steps[0].capability = "test.echo";
  workflow::CreateRequest request;
  request.subject = *SubjectId::Parse("01890000-0000-7000-8000-000000000001");
  auto item = workflow::MakeCreateItem(*workflow::MakeWorkflowKind(capabilities), definition, std::move(request));
  Document state;
  EXPECT_TRUE(item && state.Apply((*ParseJson(*item->events[0].payload))["state_delta"]));
  return state;
}

TEST(VerifyKinds, AManifestThatNoFileSystemCouldHoldIsDamage) {
  const verify::KindTable kinds = VerifyKinds();
  Document state = StateOfARun();
  state.Set(FileKey("d/y"), FileEntryToJson(FileEntry{Hash256{1}, 1, 0644, false}));
  EXPECT_TRUE(kinds.at("workflow").facts(state));
  state.Set(FileKey("d"), FileEntryToJson(FileEntry{Hash256{2}, 1, 0644, false}));
  const auto facts = kinds.at("workflow").facts(state);
  EXPECT_EQ(facts.code(), Code::kCorrupt);
  EXPECT_THAT(facts.message(), testing::HasSubstr("'d' is a file, yet 'd/y' lies below it"));
}

}  // namespace
}  // namespace acl::cli
