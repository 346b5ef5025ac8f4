#include "coordinator/api/event_feed.h"

#include "shared/http/sse.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

// A reader whose end of the stream the test holds.
class FakeStream final : public HttpStream {
 public:
  Wrote Write(std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    if (gone_ || ended_) return Wrote::kClosed;
    if (full_) return Wrote::kFull;
    text_ += bytes;
    changed_.notify_all();
    return Wrote::kOk;
  }
  void End() override {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  bool closed() const override {
    std::lock_guard lock(mutex_);
    return gone_;
  }
  std::size_t waiting() const override {
    std::lock_guard lock(mutex_);
    return keeps_ ? text_.size() : 0;
  }
  // From now on its reader takes nothing.
  void Keep() {
    std::lock_guard lock(mutex_);
    keeps_ = true;
  }
  void Go() {
    std::lock_guard lock(mutex_);
    gone_ = true;
  }
  void SetFull(bool full) {
    std::lock_guard lock(mutex_);
    full_ = full;
  }
  std::string AwaitText(const std::string& what) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return text_.find(what) != std::string::npos; });
    return text_;
  }
  bool AwaitEnd() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return ended_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool full_ = false, gone_ = false, ended_ = false, keeps_ = false;
};

class EventFeedTest : public ApiFixture {
 protected:
  EventFeedTest() { EXPECT_TRUE(real_feed_.Start().ok()); }
  std::shared_ptr<FakeStream> Follow(const std::string& id, std::int64_t after = 0) {
    auto stream = std::make_shared<FakeStream>();
    EXPECT_TRUE(real_feed_.Reserve());
    real_feed_.Follow(*SubjectId::Parse(id), after, stream);
    return stream;
  }
  SystemClock system_;
  EventFeed real_feed_{queries_, system_, {.max_streams = 2, .busy = std::chrono::milliseconds(1), .idle = std::chrono::milliseconds(5)}};
};

TEST_F(EventFeedTest, SendsWhatIsThereThenEndsWithTheRun) {
  const std::string id = Submit();
  auto stream = Follow(id);
  const auto text = stream->AwaitText("workflow.created");
  EXPECT_TRUE(text.starts_with("id: 1\nevent: workflow.created\ndata: {\"event_seq\":1,")) << text;
  Close(id);
  EXPECT_TRUE(stream->AwaitEnd());
  EXPECT_NE(stream->AwaitText("event: end").find("\"status\":\"COMPLETED\""), std::string::npos);
}

TEST_F(EventFeedTest, GoesOnAfterTheLastEventSeen) {
  const std::string id = Submit();
  Close(id);
  auto stream = Follow(id, 1);
  EXPECT_TRUE(stream->AwaitEnd());
  EXPECT_EQ(stream->AwaitText("event: end").find("workflow.created"), std::string::npos);
}

TEST_F(EventFeedTest, WhatWasDroppedIsSaidFirst) {
  const std::string id = Submit();
  RollAndDrop(id);
  auto stream = Follow(id);
  const auto text = stream->AwaitText("journal.rolled");
  EXPECT_TRUE(text.starts_with("id: 1\nevent: dropped\ndata: {\"dropped\":{\"first\":1,\"last\":1,")) << text;
  EXPECT_NE(text.find("id: 2\nevent: journal.rolled"), std::string::npos) << text;
  EXPECT_EQ(Follow(id, 1)->AwaitText("journal.rolled").find("event: dropped"), std::string::npos) << "it has seen what is gone";
}

TEST_F(EventFeedTest, ASlowReaderGetsEverythingLater) {
  const std::string id = Submit();
  auto stream = std::make_shared<FakeStream>();
  stream->SetFull(true);
  ASSERT_TRUE(real_feed_.Reserve());
  real_feed_.Follow(*SubjectId::Parse(id), 0, stream);
  Close(id);
  stream->SetFull(false);
  EXPECT_TRUE(stream->AwaitEnd());
  const auto text = stream->AwaitText("event: end");
  EXPECT_EQ(text.find("event: workflow.created"), text.rfind("event: workflow.created"));
  EXPECT_NE(text.find("event: workflow.created"), std::string::npos);
}

// Of events beyond a page only so many bytes wait for their readers.
TEST_F(EventFeedTest, LargeEventsWaitForOneAnother) {
  const std::string id = Submit({{"inputs", {{"a", std::string(3'000'000, 'x')}}}});
  EventFeed feed(queries_, system_, {.large_bytes = 7'000'000, .busy = std::chrono::milliseconds(1), .idle = std::chrono::milliseconds(5)});
  ASSERT_TRUE(feed.Start().ok());
  std::vector<std::shared_ptr<FakeStream>> streams;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(std::make_shared<FakeStream>());
    streams.back()->Keep();
    ASSERT_TRUE(feed.Reserve());
    feed.Follow(*SubjectId::Parse(id), 0, streams.back());
  }
  const auto have = [&] { return std::count_if(streams.begin(), streams.end(), [](const auto& stream) { return stream->waiting() > 0; }); };
  while (have() < 1) std::this_thread::yield();
  // All of them had their turn before one that came later.
  ASSERT_TRUE(feed.Reserve());
  auto later = std::make_shared<FakeStream>();
  feed.Follow(*SubjectId::Parse(Submit()), 0, later);
  later->AwaitText("workflow.created");
  const auto first = std::find_if(streams.begin(), streams.end(), [](const auto& stream) { return stream->waiting() > 0; });
  EXPECT_EQ(have(), 1);
  (*first)->Go();
  while (have() < 2) std::this_thread::yield();
  feed.Stop();
}

TEST_F(EventFeedTest, PlacesAreBoundedAndGivenBack) {
  const std::string id = Submit();
  auto first = Follow(id), second = Follow(id);
  EXPECT_FALSE(real_feed_.Reserve());
  first->Go();
  while (!real_feed_.Reserve()) std::this_thread::yield();
  real_feed_.Release();
}

TEST_F(EventFeedTest, StopEndsEveryStream) {
  const std::string id = Submit();
  auto stream = Follow(id);
  real_feed_.Stop();
  EXPECT_TRUE(stream->AwaitEnd());
  EXPECT_FALSE(real_feed_.Reserve());
}

TEST_F(EventFeedTest, TheRouteStreamsOnlyWhenAsked) {
  const std::string id = Submit();
  const auto answer = Ask("GET", "/v1/workflows/" + id + "/events", "", {{"accept", "text/event-stream"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(bool(answer.response.on_stream));
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id + "/events", "", {{"accept", "text/event-stream"}, {"last-event-id", "x"}}).status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows/00000000-0000-7000-8000-000000000009/events", "", {{"accept", "text/event-stream"}}).status, 404);
}

}  // namespace
}  // namespace acl::coordinator
