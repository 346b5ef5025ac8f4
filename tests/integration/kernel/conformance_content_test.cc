// The content store's conformance suite where no server is needed: in memory, in PostgreSQL, and in PostgreSQL with objects in memory.
#include "shared/objectstore/memory_objects.h"
#include "tests/support/content_conformance.h"

namespace acl::test {
namespace {

StoreFactory WithMemoryObjects() {
  return PostgresFactory("PostgresAndObjects", [](PgStoreOptions& options) {
    static const SystemClock clock;
    options.objects = std::make_shared<MemoryObjects>(clock);
    options.object_bytes = kSmallObject;
  });
}

INSTANTIATE_TEST_SUITE_P(Stores, ContentConformance, ::testing::Values(MemoryFactory(), PostgresFactory(), WithMemoryObjects()),
                         FactoryName);

}  // namespace
}  // namespace acl::test
