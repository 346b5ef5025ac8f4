#pragma once
// What every content store must do, wherever the bytes lie: in memory, in PostgreSQL, in an object store beside it. Included by the suites
// that instantiate it: tests/integration/kernel (without a server) and tests/s3 (with one).

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "tests/support/store_conformance.h"

namespace acl::test {

// Above it a store with objects keeps a content there.
inline constexpr std::int64_t kSmallObject = 1'000;

class ContentConformance : public StoreConformance {
 protected:
  static constexpr milliseconds kHour{3'600'000};
  static constexpr milliseconds kMinute{60'000};
  using Content = std::pair<Hash256, std::string>;

  static Content Of(const std::string& bytes) { return {Sha256(bytes), bytes}; }
  static std::string Long(const std::string& begin, std::size_t size = 5'000) { return begin + std::string(size, '.'); }
  Hash256 MustPut(const std::string& bytes) {
    const Content content = Of(bytes);
    const Status put = store().PutContents({&content, 1});
    EXPECT_TRUE(put) << put.message();
    return content.first;
  }
  bool IsThere(const Hash256& hash) {
    auto got = store().GetContent(hash);
    EXPECT_TRUE(got || got.code() == Code::kNotFound) << got.message();
    return got.ok();
  }
  // One whole pass; how many contents and objects went.
  CollectAnswer Collect(milliseconds grace = kHour, int max = 100) {
    CollectAnswer sum;
    for (int turns = 0; turns < 100; ++turns) {
      auto answer = store().CollectContents(grace, sum.next, max);
      if (!answer) {
        ADD_FAILURE() << answer.message();
        return sum;
      }
      sum.contents += answer->contents;
      sum.objects += answer->objects;
      sum.next = answer->next;
      if (!answer->more) return sum;
    }
    ADD_FAILURE() << "the pass does not end";
    return sum;
  }
};

TEST_P(ContentConformance, OfEverySizeComesBack) {
  std::vector<Content> contents;
  for (std::size_t size : {0u, 1u, 999u, 1'000u, 1'001u, 262'144u, 262'145u, 3'000'017u}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = char(i * 31 + i / 251);
    contents.push_back(Of(bytes));
  }
  ASSERT_TRUE(store().PutContents(contents));
  ASSERT_TRUE(store().PutContents(contents)) << "again is no error";
  for (const auto& [hash, bytes] : contents) {
    auto read = store().GetContent(hash);
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(*read == bytes) << "size " << bytes.size();
  }
}

TEST_P(ContentConformance, WhatNobodyRefersToGoesAfterTheGrace) {
  const Hash256 small = MustPut("small"), large = MustPut(Long("large"));
  EXPECT_EQ(Collect().contents, 0) << "just put";
  Advance(kHour - kMinute);
  EXPECT_EQ(Collect().contents, 0) << "the grace is not over";
  EXPECT_TRUE(IsThere(small) && IsThere(large));
  Advance(2 * kMinute);
  EXPECT_EQ(Collect().contents, 2);
  EXPECT_FALSE(IsThere(small) || IsThere(large));
  EXPECT_TRUE(IsThere(MustPut(Long("large")))) << "and may be put again";
}

TEST_P(ContentConformance, WhatACommitNamesStays) {
  Holder holder = ClaimNew(Open(100 * kHour));
  CommitItem item = holder.Item();
  item.contents = {MustPut("small"), MustPut(Long("large")), MustPut("small")};
  MustCommit(holder, item);
  CommitItem again = holder.Item();
  again.contents = item.contents;  // naming it once more is no error
  MustCommit(holder, again);
  MustPut("orphan");
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 1);
  for (const Hash256& hash : item.contents) EXPECT_TRUE(IsThere(hash));
}

TEST_P(ContentConformance, WhatACreateNamesStays) {
  CreateItem item = NewItem();
  item.contents = {MustPut("input"), MustPut(Long("large input"))};
  Create(item);
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 0);
  EXPECT_TRUE(IsThere(item.contents[0]) && IsThere(item.contents[1]));
}

TEST_P(ContentConformance, ASnapshotsChunksStay) {
  Holder holder = ClaimNew(Open(100 * kHour));
  CommitItem item = holder.Item();
  Snapshot snapshot;
  snapshot.id = NewUuid7();
  snapshot.last_event_seq = item.base_seq + 1;
  snapshot.chain = item.chain;
  snapshot.chunks = {MustPut("chunk"), MustPut(Long("large chunk"))};
  item.snapshot = snapshot;
  MustCommit(holder, item);
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 0);
  for (const Hash256& hash : snapshot.chunks) EXPECT_TRUE(IsThere(hash));
}

TEST_P(ContentConformance, ChunksOfSnapshotsThatAreKeptNoMoreAreReleased) {
  const Hash256 a = MustPut("a"), b = MustPut(Long("b")), c = MustPut("c"), d = MustPut(Long("d")), file = MustPut("file");
  Holder holder = ClaimNew(Open(100 * kHour)), other = ClaimNew(Open(100 * kHour));
  const auto snapshot = [&](Holder& of, std::vector<Hash256> chunks, std::vector<Hash256> named = {}) {
    CommitItem item = of.Item();
    Snapshot made;
    made.id = NewUuid7();
    made.last_event_seq = item.base_seq + 1;
    made.chain = item.chain;
    made.chunks = std::move(chunks);
    item.snapshot = made;
    item.contents = std::move(named);
    MustCommit(of, item);
  };
  snapshot(holder, {a, b, file}, {file});  // a file may have a chunk's bytes
  snapshot(other, {b});
  snapshot(holder, {b, c});
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 1) << "d is not referred to yet";
  EXPECT_EQ(MustPut(Long("d")), d);
  snapshot(holder, {c, d});
  EXPECT_EQ(Collect().contents, 0) << "just released: somebody may read it";
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 1);
  EXPECT_FALSE(IsThere(a));
  EXPECT_TRUE(IsThere(b) && IsThere(c) && IsThere(d) && IsThere(file));
  snapshot(holder, {d});
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 0) << "the one before is kept too, and b is the other subject's";
  snapshot(holder, {d});
  snapshot(other, {d}), snapshot(other, {d});
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 2);
  EXPECT_FALSE(IsThere(b) || IsThere(c));
  EXPECT_TRUE(IsThere(d) && IsThere(file)) << "what events name stays as long as the subject";
}

TEST_P(ContentConformance, APutOfWhatIsThereStartsTheGraceAnew) {
  const Hash256 small = MustPut("small"), large = MustPut(Long("large"));
  Advance(50 * kMinute);
  MustPut("small"), MustPut(Long("large"));
  Advance(50 * kMinute);
  EXPECT_EQ(Collect().contents, 0);
  EXPECT_TRUE(IsThere(small) && IsThere(large));
  Advance(20 * kMinute);
  EXPECT_EQ(Collect().contents, 2);
}

TEST_P(ContentConformance, NamingWhatWasCollectedIsRefused) {
  Holder holder = ClaimNew(Open(100 * kHour));
  CommitItem item = holder.Item();
  item.contents = {MustPut("gone")};
  CreateItem create = NewItem();
  create.contents = item.contents;
  Advance(2 * kHour);
  EXPECT_EQ(Collect().contents, 1);
  EXPECT_EQ(CommitKind(item), Outcome::kRejected);
  auto created = store().Create({&create, 1});
  ASSERT_FALSE(created);
  EXPECT_EQ(created.code(), Code::kNotFound) << created.message();
  EXPECT_EQ(View(holder.subject()).head.seq, 1) << "nothing of the item was kept";
}

TEST_P(ContentConformance, APayloadApartComesBackAndStays) {
  const WorkerSessionId session = Open(100 * kHour);
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(3);
  Event& event = item.events[1];
  event.payload = "{\"long\":\"" + std::string(5'000, 'x') + "\"}";
  item.chain = item.events[0].chain;
  for (std::size_t i = 1; i < 3; ++i) {
    Seal(item.events[i], item.chain);
    item.chain = item.events[i].chain;
  }
  event.offloaded = true;
  EXPECT_EQ(CommitKind(item), Outcome::kRejected) << "it is not stored yet";
  EXPECT_EQ(MustPut(*event.payload), event.content_hash) << "the chain names the content";
  MustCommit(holder, item);
  Advance(3 * kHour);
  EXPECT_EQ(Collect().contents, 0);
  auto journal = queries().Events(holder.subject(), 0, 10);
  ASSERT_TRUE(journal) << journal.message();
  ASSERT_EQ(journal->size(), 4u);
  EXPECT_EQ((*journal)[2].payload, event.payload);
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  Holder next = ClaimOne(session, holder.subject());
  ASSERT_EQ(next.claimed().events.size(), 4u);
  Event read = next.claimed().events[2];
  EXPECT_TRUE(read.offloaded);
  if (!read.payload) read.payload = *store().GetContent(read.content_hash);
  EXPECT_TRUE(Verify(read, next.claimed().events[1].chain));
}

TEST_P(ContentConformance, APassGoesByPages) {
  for (int i = 0; i < 7; ++i) MustPut("content " + std::to_string(i));
  Holder holder = ClaimNew(Open(100 * kHour));
  CommitItem item = holder.Item();
  item.contents = {Sha256("content 3")};
  MustCommit(holder, item);
  Advance(2 * kHour);
  auto first = store().CollectContents(kHour, {}, 2);
  ASSERT_TRUE(first);
  EXPECT_LE(first->contents, 2);
  EXPECT_TRUE(first->more);
  EXPECT_EQ(first->contents + Collect(kHour, 2).contents, 6);
  EXPECT_TRUE(IsThere(item.contents[0]));
}

}  // namespace acl::test
