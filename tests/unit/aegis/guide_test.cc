// docs/guides/aegis.md says what the code does: types, reasons, phrases, keys.
#include "shared/aegis/history.h"
#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis {
namespace {

TEST(Guide, NamesWhatThereIs) {
  const std::string guide = bundles::TextOfFile(ACL_SOURCE_DIR "/docs/guides/aegis.md");
  std::vector<std::string> names = {"not_sourced",
                                    "not_ratified",
                                    "not_open",
                                    "sensitive_content",
                                    "evidence_blob_disallowed",
                                    "authority_incompatible",
                                    "tool_not_declared",
                                    "actuation_tool_disallowed",
                                    "not_installed",
                                    "blocked_by_tier",
                                    "tool_error",
                                    "sight_without_values",
                                    "sanitise_for_model",
                                    "exclusions_unnamed"};
  for (std::string_view type : ArtifactTypeNames()) names.emplace_back(type);
  for (std::string_view phrase : HistoryPhrases()) names.emplace_back(phrase);
  for (std::string_view reason : {kOverCap, kConflictCrowded, kHistoryNotAsked, kNotRelevant, kOtherSession}) names.emplace_back(reason);
  for (const std::string& name : names) EXPECT_NE(guide.find("`" + name + "`"), std::string::npos) << name << " is not in the guide";
}

// Every key of the bundle of a rich input is of document 004 or named in the guide.
TEST(Guide, NamesEveryKeyOfABundle) {
  const std::string guide = bundles::TextOfFile(ACL_SOURCE_DIR "/docs/guides/aegis.md");
  const Json document = ParseJson(bundles::TextOfFile(ACL_SOURCE_DIR "/tests/data/aegis/context_bundle.json")).value();
  SeededRandom random(9);
  std::vector<Artifact> artifacts;
  for (int i = 0; i < 200; ++i) artifacts.push_back(bundles::RandomArtifact(random, i));
  const Json bundle = bundles::BundleOf(bundles::InputFor(artifacts, "deep history of the billing queue", bundles::KernelText(), true));
  EXPECT_TRUE(bundle.contains("disclosure") && bundle.contains("exclusions_unnamed"));
  const auto named = [&](const Json& theirs, const Json& ours) {
    for (const auto& [key, value] : ours.items())
      EXPECT_TRUE(theirs.contains(key) || guide.find("`" + key + "`") != std::string::npos) << key;
  };
  named(document, bundle);
  for (const Json& fact : bundle["facts"]) named(document["facts"][0], fact);
}

}  // namespace
}  // namespace acl::aegis
