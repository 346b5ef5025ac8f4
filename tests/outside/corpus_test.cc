// The list of deviations holds in both directions.
#include "tests/outside/corpus.h"

#include <gtest/gtest-spi.h>

namespace acl::outside {
namespace {

TEST(Held, ACaseThatDiffersAndIsNotListedIsRed) {
  EXPECT_NONFATAL_FAILURE(
      {
        Held held("a corpus", {});
        held.Check("fine", true, "");
        held.Check("odd", false, "what it did");
      },
      "a corpus: odd: what it did");
}

TEST(Held, ACaseThatIsListedAndDoesNotDifferIsRed) {
  EXPECT_NONFATAL_FAILURE(
      {
        Held held("a corpus", {{"a reason", {"mended"}}});
        held.Check("mended", true, "");
      },
      "a corpus: mended is listed (a reason) but is as the corpus says");
}

}  // namespace
}  // namespace acl::outside
