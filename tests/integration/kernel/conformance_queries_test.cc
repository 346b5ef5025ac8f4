// Store conformance: what people ask (shared/kernel/queries.h).
#include <gmock/gmock.h>

#include "shared/base/uuid7.h"
#include "shared/journal/event.h"
#include "shared/kernel/subject_part.h"
#include "shared/kernel/suspicion.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class QueriesConformance : public StoreConformance {
 protected:
  SubjectId Listed(const std::string& name, const std::string& status) {
    CreateItem item = NewItem();
    item.listing = ListingRow{name, "1", "", status, "spec", "{}"};
    return Create(item);
  }
  std::vector<SubjectId> List(const ListFilter& filter) {
    auto page = queries().List(filter);
    EXPECT_TRUE(page) << page.error();
    std::vector<SubjectId> ids;
    if (page) {
      for (const SubjectView& view : *page) ids.push_back(view.subject);
    }
    return ids;
  }
};

TEST_P(QueriesConformance, NoSuchSubject) { EXPECT_EQ(queries().GetSubject(SubjectId{NewUuid7()}).code(), Code::kNotFound); }

TEST_P(QueriesConformance, ListsNewestFirstByFilterInPages) {
  std::vector<SubjectId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(Listed(i % 2 == 0 ? "even" : "odd", i < 3 ? "CREATED" : "RUNNING"));
  ListFilter filter;
  EXPECT_THAT(List(filter), testing::ElementsAre(ids[5], ids[4], ids[3], ids[2], ids[1], ids[0]));
  filter.name = "even";
  EXPECT_THAT(List(filter), testing::ElementsAre(ids[4], ids[2], ids[0]));
  filter.status = "CREATED";
  EXPECT_THAT(List(filter), testing::ElementsAre(ids[2], ids[0]));
  filter = ListFilter{};
  filter.limit = 4;
  EXPECT_THAT(List(filter), testing::ElementsAre(ids[5], ids[4], ids[3], ids[2]));
  filter.before = ids[2];
  EXPECT_THAT(List(filter), testing::ElementsAre(ids[1], ids[0]));
  filter = ListFilter{};
  filter.kind = "workflow";
  EXPECT_THAT(List(filter), testing::IsEmpty());
  filter = ListFilter{};
  filter.project = ProjectId{NewUuid7()};
  EXPECT_THAT(List(filter), testing::IsEmpty()) << "projects are apart";
}

TEST_P(QueriesConformance, EventsComeInPages) {
  Holder holder = ClaimNew(Open());
  MustCommit(holder, holder.Item(5));
  auto page = queries().Events(holder.subject(), 2, 3);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->size(), 3u);
  EXPECT_EQ(page->front().seq, 3);
  EXPECT_EQ(page->back().seq, 5);
  EXPECT_TRUE(queries().Events(holder.subject(), 6, 10)->empty());
}

TEST_P(QueriesConformance, ListsByErrorAndByWhoNeedsAPerson) {
  const auto ended = [&](const std::string& error) {
    Holder holder = ClaimOne(Open(), Listed("x", "RUNNING"));
    CommitItem item = holder.Item(1);
    item.listing = ListingChange{.status = "FAILED", .error_message = error};
    MustCommit(holder, item);
    return holder.subject();
  };
  ended("no");
  const SubjectId percent = ended("no%"), cancelled = ended("cancelled: no");
  ListFilter filter;
  filter.error_prefix = "no%";
  EXPECT_THAT(List(filter), testing::ElementsAre(percent)) << "no pattern";
  filter.error_prefix = "cancelled";
  EXPECT_THAT(List(filter), testing::ElementsAre(cancelled));
  filter = ListFilter{};
  filter.needs_person = true;
  EXPECT_THAT(List(filter), testing::IsEmpty());

  const auto waits = [&](const char* reason) {
    Holder holder = ClaimOne(Open(), Listed("x", "RUNNING"));
    CommitItem item = holder.Item(1, Disposition::kRelease);
    item.waiting = Waiting{reason, std::nullopt};
    if (item.waiting->reason == "memory") item.requeue = true, item.not_before = holder.claimed().db_now + milliseconds(60'000);
    MustCommit(holder, item);
    return holder.subject();
  };
  const SubjectId starved = waits("memory");
  const auto view = queries().GetSubject(starved);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->state, OpenState::kWaiting) << "not ready, though it is claimed again in a minute";
  EXPECT_TRUE(view->next_wake.has_value());
  const SubjectId uncertain = waits("uncertain");
  waits("paused");
  waits("retry");
  WorkerSessionId session = Open();
  Holder damaged = ClaimOne(session, Listed("x", "RUNNING"));
  ASSERT_TRUE(store().Quarantine(damaged.subject(), session, damaged.token(), "corrupt", "why"));
  EXPECT_THAT(List(filter), testing::UnorderedElementsAre(starved, uncertain, damaged.subject()));
}

TEST_P(QueriesConformance, FindsByAnyPartOfAnId) {
  SubjectId subject = Create();
  std::string id = subject.ToString();
  for (const std::string& part : {id, id.substr(0, 30), id.substr(24), id.substr(30), id.substr(15, 12), "-" + id.substr(14)}) {
    auto found = queries().FindByPart(part);
    ASSERT_TRUE(found) << found.error();
    EXPECT_THAT(*found, testing::ElementsAre(subject)) << part;
  }
  std::erase(id, '-');
  for (char& c : id) c = char(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_THAT(*queries().FindByPart(id), testing::ElementsAre(subject)) << "without dashes, in upper case";
  EXPECT_TRUE(queries().FindByPart("ffffffffff")->empty());
  for (const char* none : {"", "ff", "fffff", "f-f-f-f-f", "zzzzzz", "%%%%%%", "______"})
    EXPECT_EQ(queries().FindByPart(none).code(), Code::kInvalid) << none;
}

TEST_P(QueriesConformance, ManyThatHaveAPartAreTheNewestTen) {
  std::vector<SubjectId> made;
  for (int n = 0; n < kMostIdCandidates + 2; ++n) made.push_back(Create());
  std::sort(made.begin(), made.end(), [](const SubjectId& a, const SubjectId& b) { return b < a; });
  made.resize(std::size_t(kMostIdCandidates));
  const auto found = queries().FindByPart(made[0].ToString().substr(0, 7));  // the time, of hours
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(*found, made);
}

TEST_P(QueriesConformance, LeasesNameTheirHolders) {
  WorkerSessionId session = Open(milliseconds(60'000), "first");
  Holder holder = ClaimNew(session);
  Create();
  auto leases = queries().Leases(10);
  ASSERT_TRUE(leases);
  ASSERT_EQ(leases->size(), 1u);
  EXPECT_EQ(leases->at(0).subject, holder.subject());
  EXPECT_EQ(leases->at(0).session, session);
  EXPECT_EQ(leases->at(0).worker_name, "first");
  EXPECT_EQ(leases->at(0).token, holder.token());
  EXPECT_GT(leases->at(0).expires_at, leases->at(0).acquired_at);
  auto queues = queries().ReadyQueues();
  ASSERT_TRUE(queues);
  EXPECT_THAT(*queues, ::testing::Contains(queue_));
}

TEST_P(QueriesConformance, WhatWaitsHasAnAge) {
  Holder holder = ClaimNew(Open(milliseconds(60'000), "first"));
  Create();
  CommitItem item = holder.Item(1);
  item.outbox.push_back({"topic-" + queue_, "key", "{}"});
  MustCommit(holder, std::move(item));
  Advance(milliseconds(7'000));
  auto backlog = queries().ReadBacklog();
  ASSERT_TRUE(backlog) << backlog.message();
  EXPECT_EQ(backlog->queues[queue_].rows, 1);
  EXPECT_EQ(backlog->queues[queue_].ready, 1);
  EXPECT_GE(backlog->queues[queue_].oldest, milliseconds(7'000));
  EXPECT_GE(backlog->outbox_oldest, milliseconds(7'000));
}

TEST_P(QueriesConformance, AWakeUpOfARunThatIsHeldIsNoWorkThatWaits) {
  const WorkerSessionId session = Open(milliseconds(60'000), "first");
  const SubjectId subject = Create();
  Advance(milliseconds(1'000));
  MustPost(NewPost(subject));  // a second row
  Advance(milliseconds(7'000));
  auto backlog = queries().ReadBacklog();
  ASSERT_TRUE(backlog) << backlog.message();
  const std::int64_t rows = backlog->queues[queue_].rows;
  EXPECT_GE(rows, 2);
  EXPECT_EQ(backlog->queues[queue_].ready, 1) << "one run";
  ClaimOne(session, subject);  // by one of them
  backlog = queries().ReadBacklog();
  ASSERT_TRUE(backlog) << backlog.message();
  EXPECT_LT(backlog->queues[queue_].rows, rows);
  EXPECT_EQ(backlog->queues[queue_].ready, 0);
  EXPECT_EQ(backlog->queues[queue_].oldest, milliseconds(0));
}

TEST_P(QueriesConformance, GrantsAreKeptInOrder) {
  WorkerSessionId one = Open(milliseconds(60'000), "one"), two = Open(milliseconds(60'000), "two");
  Holder holder = ClaimNew(one);
  MustCommit(holder, holder.Item(3));
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), one, holder.token()));
  Holder next = ClaimOne(two, holder.subject());
  auto grants = queries().Grants(holder.subject());
  ASSERT_TRUE(grants);
  ASSERT_EQ(grants->size(), 2u);
  EXPECT_EQ(grants->at(0).token, holder.token());
  EXPECT_EQ(grants->at(0).head_seq, 1);
  EXPECT_EQ(grants->at(0).worker_name, "one");
  EXPECT_EQ(grants->at(1).token, next.token());
  EXPECT_EQ(grants->at(1).head_seq, 4);
  EXPECT_EQ(grants->at(1).worker_name, "two");
  // Of many the last are shown.
  for (int n = 0; n < kMaxGrants; ++n) {
    ASSERT_TRUE(store().ReleaseLease(next.subject(), n % 2 == 0 ? two : one, next.token()));
    next = ClaimOne(n % 2 == 0 ? one : two, next.subject());
  }
  grants = queries().Grants(next.subject());
  ASSERT_EQ(grants->size(), std::size_t(kMaxGrants));
  EXPECT_EQ(grants->back().token, next.token());
  EXPECT_LT(grants->front().token, grants->back().token);
}

// Of queues that nobody serves: what this program may decide, first whoever waits longest; what it may not takes no place.
TEST_P(QueriesConformance, UndecidedIsWhatMayBeClaimed) {
  const std::vector<std::string> queues = {queue_};
  const auto undecided = [&](int max) {
    std::vector<SubjectId> ids;
    auto found = queries().FindUndecided(queues, NewItem().kind, max);
    EXPECT_TRUE(found) << found.message();
    if (found)
      for (const Undecided& one : *found) ids.push_back(one.subject);
    return ids;
  };
  CreateItem newer = NewItem();
  newer.required_version = EventSchemaVersion() + 1;
  MustPost(NewPost(Create(newer), "cancel"));
  const SubjectId first = Create(), told = Create();
  MustPost(NewPost(first, "cancel"));
  MustPost(NewPost(told, "signal"));
  EXPECT_THAT(undecided(10), testing::ElementsAre(first)) << "one needs a newer program, one has not begun";
  EXPECT_THAT(undecided(1), testing::ElementsAre(first));
  // A suspect is for workers that have proven themselves.
  for (int death = 0; death < kSuspectFrom; ++death) {
    ASSERT_EQ(ClaimUpTo(Open(milliseconds(1'000), "dies" + std::to_string(death)), 10).size(), 2u);
    ExpireAndReap();
    Advance(TakeoverDelay(death + 1));
  }
  EXPECT_THAT(undecided(10), testing::IsEmpty());
}

TEST_P(QueriesConformance, ATimerIsTheNextWake) {
  Holder holder = ClaimNew(Open());
  WallTime first = WallTimeFromMicros(4'000'000'000'000'000);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.timers_set = {{"b", first + milliseconds(5)}, {"a", first}};
  item.waiting = Waiting{"timer", first};
  MustCommit(holder, item);
  SubjectView view = View(holder.subject());
  EXPECT_EQ(view.state, OpenState::kWaiting);
  EXPECT_EQ(view.waiting_reason, "timer");
  EXPECT_EQ(view.next_wake, first);
  EXPECT_TRUE(view.since);
}

INSTANTIATE_TEST_SUITE_P(Stores, QueriesConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
