// Bodies that are taken piece by piece, and servers that fall silent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "shared/base/clock.h"
#include "shared/capability/http_client.h"
#include "tests/support/scripted_model.h"

namespace acl {
namespace {

using test::ModelAsked;
using test::ModelTurn;
using test::ScriptedModel;
using End = HttpAnswer::End;

class HttpStream : public testing::Test {
 protected:
  HttpAnswer Post(const ScriptedModel& server, HttpCall call) {
    HttpConfig config;
    config.allow_private_networks = true;
    config.max_body_bytes = 100;
    HttpClient client(config);
    call.method = "POST";
    call.url = server.BaseUrl();
    call.body = "{}";
    call.deadline = clock_.Steady() + std::chrono::minutes(5);
    std::promise<HttpAnswer> ended;
    client.Start(std::move(call), [&](HttpAnswer answer) { ended.set_value(std::move(answer)); });
    return ended.get_future().get();
  }
  HttpCall Taking() {
    HttpCall call;
    call.on_body = [this](std::string_view bytes) {
      taken_ += bytes;
      return taken_.size() < most_;
    };
    return call;
  }

  SystemClock clock_;
  std::string taken_;
  std::size_t most_ = 1'000;
};

ScriptedModel::Script Saying(ModelTurn turn) {
  return [turn = std::move(turn)](const ModelAsked&) { return turn; };
}

TEST_F(HttpStream, PiecesAreGivenAndNotKept) {
  ScriptedModel server(Saying({.pieces = {"one ", "two ", "three"}}));
  const auto answer = Post(server, Taking());
  EXPECT_EQ(answer.end, End::kAnswered);
  EXPECT_EQ(taken_, "one two three");
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.body_bytes, 13u);
}

TEST_F(HttpStream, ABodyOfAnotherStatusIsCollected) {
  ScriptedModel server(Saying({.status = 429, .pieces = {"not ", "now"}}));
  const auto answer = Post(server, Taking());
  EXPECT_EQ(answer.end, End::kAnswered);
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(taken_, "");
  EXPECT_EQ(answer.body, "not now");
}

TEST_F(HttpStream, WhoWantsNoMoreEndsTheCallAndTheServerSeesIt) {
  ScriptedModel server(Saying({.pieces = {"one"}, .end = ModelTurn::End::kHang}));
  most_ = 3;
  const auto answer = Post(server, Taking());
  EXPECT_EQ(answer.end, End::kStopped);
  EXPECT_TRUE(answer.sent);
  server.AwaitLeft(1);
}

TEST_F(HttpStream, TheLimitCountsWhatWasGivenToo) {
  ScriptedModel server(Saying({.pieces = {std::string(60, 'x'), std::string(60, 'x')}}));
  EXPECT_EQ(Post(server, Taking()).end, End::kTooLarge);
}

TEST_F(HttpStream, ASilentServerIsLeftBeforeTheDeadline) {
  for (const auto& pieces : {std::vector<std::string>{}, {"one"}}) {
    ScriptedModel server(Saying({.pieces = pieces, .end = ModelTurn::End::kHang}));
    HttpCall call = Taking();
    call.most_quiet = std::chrono::milliseconds(150);
    const auto answer = Post(server, std::move(call));
    EXPECT_EQ(answer.end, End::kTimedOut);
    EXPECT_TRUE(answer.sent);
    EXPECT_EQ(answer.error, "nothing came for 150 ms");
    server.AwaitLeft(1);
  }
}

}  // namespace
}  // namespace acl
