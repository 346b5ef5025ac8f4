// The workflows that clients of a chaos run submit: each loads as the API would load it.
#include "chaos/load/workload.h"

#include <gtest/gtest.h>

#include "shared/capability/standard.h"
#include "shared/definition/loader.h"

namespace acl::chaos {
namespace {

TEST(Workload, EveryKindLoadsWithoutAWord) {
  CapabilityRegistry capabilities;
  RegisterStandardCapabilities(capabilities, {});
  for (const bool effects : {false, true}) {
    auto kinds = WorkflowKinds(effects);
    for (const std::string& kind : StepKinds(effects)) kinds.push_back(kind);
    for (const std::string& kind : kinds) {
      const Loaded loaded = LoadWorkflow(WorkflowOf(kind, "http://127.0.0.1:1/effects"), capabilities, {.for_submit = true});
      EXPECT_TRUE(loaded.ok()) << kind;
      for (const acl::Finding& finding : loaded.findings) ADD_FAILURE() << FormatFinding(kind, finding);
    }
  }
}

}  // namespace
}  // namespace acl::chaos
