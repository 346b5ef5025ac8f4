#include "shared/journal/leaf_root.h"

#include <gtest/gtest.h>

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "shared/journal/document.h"

namespace acl {
namespace {

TEST(LeafRoot, IsTheDocuments) {
  EXPECT_EQ(RootOfLeaves({}), Document().Root());
  Document document;
  for (int i = 0; i < 300; ++i) {
    document.Set("entry" + std::to_string(i), Json{{"n", i}, {"a", 1.5}});
    if (i > 10 && i % 37 != 0) continue;
    std::vector<LeafHash> leaves;
    document.ForEach([&](const std::string& key, const Json& value) {
      const Hash256 path = Sha256(key);
      leaves.push_back({path, HashOfLeaf(path, CanonicalHash(value))});
      return true;
    });
    EXPECT_EQ(RootOfLeaves(leaves), document.Root()) << i;
  }
}

}  // namespace
}  // namespace acl
