// What has begun behind a backlog of ten thousand (docs/architecture.md#begun-first): how many new runs start before it, and what a claim
// reads to find it.
#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

class BegunFirstTest : public test::PgStoreTest {
 protected:
  static constexpr int kBacklog = 10'000;

  void CreateBacklog() {
    for (int made = 0; made < kBacklog; made += 500) {
      std::vector<CreateItem> items;
      for (int n = 0; n < 500; ++n) items.push_back(NewItem());
      ASSERT_TRUE(store().Create(items).ok());
    }
  }
  Result<ClaimAnswer> ClaimOf(const WorkerSessionId& session, int max) {
    ClaimRequest request;
    request.session = session;
    request.queues = {queue()};
    request.max = max;
    request.contents_later = true;
    return store().Claim(request);
  }
};

// Forty runs of a worker that died, then claimed by workers with one place each: with their share the new ones start about thirteen times.
TEST_F(BegunFirstTest, TakeoversPassTenThousand) {
  const WorkerSessionId dies = OpenSession();
  std::set<SubjectId> begun;
  for (int n = 0; n < 40; ++n) begun.insert(CreateOne(NewItem(2)));  // a second event: they have begun
  ASSERT_EQ(ClaimOf(dies, 100)->claimed.size(), 40u);
  CreateBacklog();
  ASSERT_TRUE(store().CloseSession(dies).ok());
  auto reaped = store().Reap(1'000);
  ASSERT_TRUE(reaped.ok()) << reaped.message();
  ASSERT_EQ(reaped->leases_freed, 40);
  const WorkerSessionId session = OpenSession();
  int fresh = 0;
  while (!begun.empty()) {
    auto answer = ClaimOf(session, 1);
    ASSERT_TRUE(answer.ok()) << answer.message();
    ASSERT_EQ(answer->claimed.size(), 1u);
    fresh += begun.erase(answer->claimed[0].subject) == 0 ? 1 : 0;
    ASSERT_LE(fresh, 200) << begun.size() << " of those that had begun still wait";
  }
  RecordProperty("new_runs_started_first", fresh);
  EXPECT_GE(fresh, 1) << "the new ones have a share";
  // And with many places at once: one look, or the four that a share allows.
  EXPECT_EQ(ClaimOf(session, 500)->claimed.size(), 500u);
}

}  // namespace
}  // namespace acl
