// json-patch-tests (npm json-patch-test-suite), against ApplyPatch.
#include "shared/journal/json_patch.h"
#include "shared/journal/patch_ops.h"
#include "tests/outside/corpus.h"

namespace acl::outside {
namespace {

const std::vector<Deviation> kPatchDeviations = {
    {"its text has a key twice, of which Node kept one before we saw it; ParseJson refuses such a text", {"tests/76"}},
};

TEST(PatchCorpus, ApplyPatch) {
  Held held("json-patch-tests", kPatchDeviations);
  for (const Json& one : Load("patch")) {
    const auto result = ApplyPatch(one["doc"], one["patch"]);
    // A case with neither a result nor an error: it must apply.
    const bool right =
        one.contains("error") ? !result.ok() : result.ok() && (!one.contains("expected") || patch::Equal(*result, one["expected"]));
    const std::string about = one.value("comment", "") + ": ";
    held.Check(one["name"], right, about + one["patch"].dump() + " gives " + (result.ok() ? DumpJson(*result) : result.message()));
  }
  EXPECT_EQ(held.ran(), 95);
}

}  // namespace
}  // namespace acl::outside
