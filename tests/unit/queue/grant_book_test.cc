#include "shared/queue/grant_book.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

WorkerSessionId Session(std::uint8_t last) {
  WorkerSessionId id;
  id.uuid.bytes[15] = last;
  return id;
}

CreateItem Item(const std::string& queue = "default") {
  CreateItem item;
  item.kind = "workflow";
  item.queue = queue;
  Event event;
  event.type = "workflow.created";
  event.payload = "{}";
  item.events = {event};
  return item;
}

class Grants : public ::testing::Test {
 protected:
  void Worker(std::int64_t peer, std::uint64_t limit, std::vector<std::string> queues = {"default"}) {
    book.Hello(peer, Session(std::uint8_t(peer)), std::move(queues));
    book.Room(peer, Session(std::uint8_t(peer)), limit, 1, {"workflow"});
  }
  GrantBook book;
};

TEST_F(Grants, NobodyIsGivenMoreThanItsRoom) {
  EXPECT_FALSE(book.Take(Item()));
  Worker(1, 2);
  EXPECT_EQ(book.Take(Item()), Session(1));
  EXPECT_EQ(book.Take(Item()), Session(1));
  EXPECT_FALSE(book.Take(Item()));
  book.Room(1, Session(1), 3, 1, {"workflow"});
  EXPECT_EQ(book.Take(Item()), Session(1)) << "a limit counts from the hello on";
  EXPECT_FALSE(book.Take(Item()));
  book.PutBack(Session(1));
  EXPECT_EQ(book.Take(Item()), Session(1));
}

TEST_F(Grants, RoomIsBoundedWhateverIsSaid) {
  Worker(1, ~std::uint64_t{0});
  std::uint64_t taken = 0;
  while (book.Take(Item())) ++taken;
  EXPECT_EQ(taken, GrantBook::kMostFree);
}

TEST_F(Grants, WhoHasMostRoomIsFirst) {
  Worker(1, 2);
  Worker(2, 3);
  EXPECT_EQ(book.Take(Item()), Session(2));
  EXPECT_EQ(book.Take(Item()), Session(1));
  EXPECT_EQ(book.Take(Item()), Session(2));
}

TEST_F(Grants, OnlyWhatAWorkerCanRun) {
  Worker(1, 5, {"gpu"});
  EXPECT_FALSE(book.Take(Item()));
  EXPECT_TRUE(book.Take(Item("gpu")));
  CreateItem newer = Item("gpu");
  newer.required_version = 2;
  EXPECT_FALSE(book.Take(newer));
  CreateItem other = Item("gpu");
  other.kind = "counter";
  EXPECT_FALSE(book.Take(other));
}

TEST_F(Grants, OnlyWhatIsReadWithItsFirstEvents) {
  Worker(1, 5);
  CreateItem waits = Item(), timed = Item(), large = Item();
  waits.make_ready = false;
  timed.timers = {{"t", WallTime{}}};
  large.events[0].payload = std::string(100'000, 'x');
  for (const CreateItem& item : {waits, timed, large}) EXPECT_FALSE(book.Take(item));
}

TEST_F(Grants, ANewSessionAnEndAndADeathAreAnEmptyRoom) {
  Worker(1, 5);
  book.Room(1, Session(9), 50, 1, {"workflow"});
  book.Hello(1, Session(2), {"default"});
  EXPECT_FALSE(book.Take(Item())) << "of the session before";
  book.Room(1, Session(1), 5, 1, {"workflow"});
  EXPECT_FALSE(book.Take(Item())) << "said too late";
  book.Room(1, Session(2), 5, 1, {"workflow"});
  EXPECT_EQ(book.Take(Item()), Session(2));
  book.Dead(Session(2));
  EXPECT_FALSE(book.Take(Item()));
  Worker(3, 5);
  book.Gone(3);
  EXPECT_FALSE(book.Take(Item()));
}

}  // namespace
}  // namespace acl
