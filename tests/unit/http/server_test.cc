#include "shared/http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "shared/http/problem.h"
#include "shared/http/sse.h"
#include "shared/telemetry/log.h"
#include "tests/unit/http/raw_client.h"

namespace acl {
namespace {

using std::chrono::milliseconds;

std::string ThreadName() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

int StatusOf(const std::string& answer) { return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0; }

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogLevel(LogLevel::kOff);
    options_.head_timeout = options_.idle_timeout = options_.body_timeout = milliseconds(15'000);
    options_.max_head = 2048;
  }
  void TearDown() override {
    server_.reset();
    pool_.Stop();
    SetLogLevel(LogLevel::kInfo);
  }

  void Run() {
    Router router;
    router.Add("GET", "/inline", {.on_server_thread = true}, [](const HttpRequest&) { return HttpResponse::OfText(200, "inline"); });
    router.Add("GET", "/open", {.on_server_thread = true, .open = true},
               [](const HttpRequest&) { return HttpResponse::OfText(200, "open"); });
    router.Add("GET", "/items/{id}", {},
               [](const HttpRequest& r) { return HttpResponse::OfText(200, r.Param("id") + "|" + (r.Query("q") ? *r.Query("q") : "-")); });
    RouteOptions quick;
    quick.quick = [](const HttpRequest& r) -> std::optional<HttpResponse> {
      const std::string& what = r.Param("what");
      if (what == "throws") throw std::runtime_error("a bug");
      if (what == "left") return std::nullopt;
      HttpResponse later;
      later.later = [](const HttpResponse::Answer& answer) { answer(HttpResponse::OfText(200, "later")); };
      return what == "later" ? later : HttpResponse::OfText(200, ThreadName());
    };
    router.Add("GET", "/quick/{what}", quick, [](const HttpRequest&) { return HttpResponse::OfText(200, ThreadName()); });
    router.Add("POST", "/echo", {.max_body = 1000}, [](const HttpRequest& r) { return HttpResponse::OfText(200, r.body); });
    router.Add("POST", "/json", {.max_body = 1000, .content_types = {"application/json"}, .body_required = true},
               [](const HttpRequest& r) { return HttpResponse::OfText(200, r.body); });
    router.Add("POST", "/big", {.max_body = 4u << 20},
               [](const HttpRequest& r) { return HttpResponse::OfText(200, std::to_string(r.body.size())); });
    router.Add("GET", "/large", {}, [](const HttpRequest&) { return HttpResponse::OfText(200, std::string(20'000'000, 'x')); });
    router.Add("GET", "/throws", {}, [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("a bug"); });
    router.Add("GET", "/split", {}, [](const HttpRequest&) { return HttpResponse::OfText(200, "x").With("X-A", "b\r\nX-Evil: c"); });
    router.Add("GET", "/wait", {}, [this](const HttpRequest&) {
      entered_.set_value();
      release_.get_future().wait();
      return HttpResponse::OfText(200, "waited");
    });
    router.Add("GET", "/stream", {}, [this](const HttpRequest&) {
      return SseResponse([this](std::shared_ptr<HttpStream> stream) { stream_.set_value(std::move(stream)); });
    });
    server_ = std::make_unique<HttpServer>(options_, std::move(router), &pool_, &metrics_);
    const auto status = server_->Start();
    ASSERT_TRUE(status.ok()) << status.error();
  }
  std::uint16_t port() const { return server_->address().port; }
  std::string Ask(const std::string& request) {
    Client client(port());
    client.Send(request);
    return client.ReadOne();
  }
  static std::string Get(const std::string& path, const std::string& extra = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + extra + "\r\n";
  }
  static std::string Post(const std::string& path, const std::string& body, const std::string& extra = "") {
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + extra + "\r\n" +
           body;
  }

  HttpServerOptions options_;
  BlockingPool pool_{{.name = "test", .threads = 2, .max_queued = 8}};
  Metrics metrics_;
  std::promise<void> entered_, release_;
  std::promise<std::shared_ptr<HttpStream>> stream_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersOnOneConnectionAgainAndAgain) {
  Run();
  Client client(port());
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(client.Send(Get("/inline")).ReadOne().find("\r\n\r\ninline"), std::string::npos);
    EXPECT_NE(client.Send(Get("/items/a%20b?q=1%2B1")).ReadOne().find("\r\n\r\na b|1+1"), std::string::npos);
    EXPECT_NE(client.Send(Post("/echo", "hello")).ReadOne().find("\r\n\r\nhello"), std::string::npos);
  }
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  Run();
  Client client(port());
  client.Send(Get("/items/1") + Post("/echo", "2") + Get("/inline") + Get("/items/4", "Connection: close\r\n"));
  EXPECT_NE(client.ReadOne().find("\r\n\r\n1|-"), std::string::npos);
  EXPECT_NE(client.ReadOne().find("\r\n\r\n2"), std::string::npos);
  EXPECT_NE(client.ReadOne().find("\r\n\r\ninline"), std::string::npos);
  EXPECT_NE(client.ReadToEnd().find("\r\n\r\n4|-"), std::string::npos);
}

TEST_F(HttpServerTest, ReadsChunkedBodies) {
  Run();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_NE(Ask(head + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").find("\r\n\r\nabcde"), std::string::npos);
  EXPECT_EQ(StatusOf(Ask(head + "zz\r\nabc\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Ask(head + "3e9\r\n" + std::string(1001, 'x') + "\r\n0\r\n\r\n")), 413);
}

// What the gate refuses is answered once with 400, the connection is closed, and the smuggled rest is never a request of its own.
TEST_F(HttpServerTest, ClosesAfterRefusedFramingAndReadsNothingMore) {
  Run();
  const std::string smuggled = Get("/items/smuggled");
  for (const std::string& bad : {std::string("Transfer-Encoding: xchunked\r\n"), std::string("Transfer-Encoding: identity\r\n"),
                                 std::string("Transfer-Encoding: chunked, identity\r\n"), std::string("Content-Length: 5, 5\r\n"),
                                 std::string("Content-Length: 5\r\nContent-Length: 5\r\n"), std::string("X-A: 1\r\n folded\r\n"),
                                 std::string("Host: other\r\n"), std::string("X_A: 1\r\n")}) {
    Client client(port());
    client.Send("POST /echo HTTP/1.1\r\nHost: localhost\r\n" + bad + "\r\n" + smuggled);
    const auto all = client.ReadToEnd();
    EXPECT_EQ(StatusOf(all), 400) << bad;
    EXPECT_NE(all.find("Connection: close"), std::string::npos) << bad;
    EXPECT_EQ(all.find("smuggled"), std::string::npos) << bad;
    EXPECT_EQ(all.find("HTTP/1.1", 5), std::string::npos) << bad;  // one answer
  }
}

TEST_F(HttpServerTest, RefusesBodiesWhereNoneBelongs) {
  Run();
  Client client(port());
  client.Send("GET /inline HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + Get("/inline"));
  const auto all = client.ReadToEnd();
  EXPECT_EQ(StatusOf(all), 400);
  EXPECT_EQ(all.find("HTTP/1.1", 5), std::string::npos);
  EXPECT_EQ(StatusOf(Ask("GET /inline HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")), 200);
}

TEST_F(HttpServerTest, BoundsHeadAndBody) {
  Run();
  EXPECT_EQ(StatusOf(Ask(Get("/inline", "X-A: " + std::string(3000, 'x') + "\r\n"))), 431);
  EXPECT_EQ(StatusOf(Ask("GET /" + std::string(100'000, 'x'))), 431);  // never an end
  EXPECT_EQ(StatusOf(Ask(Post("/echo", std::string(1001, 'x')))), 413);
  EXPECT_EQ(StatusOf(Ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n")), 413);  // before the body is sent
  EXPECT_NE(Ask(Post("/big", std::string(4u << 20, 'x'))).find("\r\n\r\n4194304"), std::string::npos);
}

TEST_F(HttpServerTest, BoundsAllBodiesTogether) {
  options_.max_bodies = 1000;
  Run();
  EXPECT_EQ(StatusOf(Ask("POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n")), 503) << "before it is sent";
  for (const std::string framing : {"Content-Length: 901\r\n", "Transfer-Encoding: chunked\r\n"}) {
    SCOPED_TRACE(framing);
    const bool chunked = framing[0] == 'T';
    Client first(port());
    first.Send("POST /big HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n" + (chunked ? "384\r\n" : "") + std::string(900, 'y'));
    // As soon as they have come they are counted: what the others send has less room.
    while (StatusOf(Ask(Post("/echo", std::string(200, 'x')))) != 503) {
    }
    first.Send(chunked ? "\r\n0\r\n\r\n" : "y");
    EXPECT_NE(first.ReadUntil("\r\n\r\n90").find("200 OK"), std::string::npos);
    while (StatusOf(Ask(Post("/echo", std::string(200, 'x')))) != 200) {
    }
  }
}

// Who says that much will come and sends a byte keeps nobody out.
TEST_F(HttpServerTest, ABodyTakesOfTheBudgetWhatCameOfIt) {
  options_.max_bodies = 4u << 20;
  Run();
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(std::make_unique<Client>(port()));
    const std::string framing = i % 2 == 0 ? "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n" : "Content-Length: 4194000\r\n\r\nx";
    slow.back()->Send("POST /big HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n" + framing);
    ASSERT_EQ(slow.back()->ReadUntil("100 Continue").find("HTTP/1.1 100"), 0u);
  }
  EXPECT_NE(Ask(Post("/big", std::string(3u << 20, 'x'))).find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, WhatCanBecomeNoRequestIsAnsweredAtOnce) {
  Run();
  for (const std::string wrong : {"GET / HTTP/1.1\nHost: a\n\n", "\x16\x03\x01\x02\x00\x01", "\n"}) {
    Client client(port());
    EXPECT_EQ(StatusOf(client.Send(wrong).ReadToEnd()), 400) << wrong;
  }
}

TEST_F(HttpServerTest, SaysWhatAPathTakes) {
  Run();
  const auto no_method = Ask("DELETE /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(StatusOf(no_method), 405);
  EXPECT_NE(no_method.find("Allow: POST, OPTIONS"), std::string::npos);
  EXPECT_EQ(StatusOf(Ask("OPTIONS /echo HTTP/1.1\r\nHost: a\r\n\r\n")), 204);
  const auto nothing = Ask(Get("/nothing"));
  EXPECT_EQ(StatusOf(nothing), 404);
  EXPECT_NE(nothing.find("application/problem+json"), std::string::npos);
  EXPECT_NE(nothing.find("\"code\":\"no-such-route\""), std::string::npos);
  EXPECT_EQ(StatusOf(Ask(Get("/items/%zz"))), 400);
  EXPECT_EQ(StatusOf(Ask(Get("/items/1?q=%zz"))), 400);
}

TEST_F(HttpServerTest, ChecksContentTypes) {
  Run();
  EXPECT_EQ(StatusOf(Ask(Post("/json", "{}", "Content-Type: Application/JSON; charset=utf-8\r\n"))), 200);
  EXPECT_EQ(StatusOf(Ask(Post("/json", "{}", "Content-Type: text/yaml\r\n"))), 415);
  EXPECT_EQ(StatusOf(Ask(Post("/json", "{}"))), 415);
  EXPECT_EQ(StatusOf(Ask(Post("/json", ""))), 400);
}

TEST_F(HttpServerTest, HeadHasTheLengthButNoBody) {
  Run();
  Client client(port());
  client.Send("HEAD /inline HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const auto all = client.ReadToEnd();
  EXPECT_NE(all.find("Content-Length: 6"), std::string::npos);
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
}

TEST_F(HttpServerTest, AThrowingHandlerIs500AndASplitHeaderIsOneHeader) {
  Run();
  const auto thrown = Ask(Get("/throws"));
  EXPECT_EQ(StatusOf(thrown), 500);
  EXPECT_EQ(thrown.find("a bug"), std::string::npos);  // the log has it
  EXPECT_EQ(Ask(Get("/split")).find("\r\nX-Evil"), std::string::npos);
}

TEST_F(HttpServerTest, WhatIsQuickIsAnsweredAtOnceAndTheRestOnThePool) {
  options_.name = "the-server";
  Run();
  Client client(port());
  EXPECT_NE(client.Send(Get("/quick/now")).ReadOne().find("\r\n\r\nthe-server"), std::string::npos);
  EXPECT_NE(client.Send(Get("/quick/left")).ReadOne().find("\r\n\r\ntest-"), std::string::npos);
  EXPECT_NE(client.Send(Get("/quick/later")).ReadOne().find("\r\n\r\nlater"), std::string::npos);
  EXPECT_EQ(StatusOf(client.Send(Get("/quick/throws")).ReadOne()), 500);
}

TEST_F(HttpServerTest, KeepsUsableRequestIdsOnly) {
  Run();
  EXPECT_NE(Ask(Get("/inline", "X-Request-Id: abc-1\r\n")).find("X-Request-Id: abc-1\r\n"), std::string::npos);
  EXPECT_EQ(Ask(Get("/inline", "X-Request-Id: a b\r\n")).find("a b"), std::string::npos);
}

TEST_F(HttpServerTest, TheAuthorizerIsAskedBeforeTheBody) {
  options_.authorize = [](HttpRequest& request, const Route&) -> std::optional<HttpResponse> {
    const auto* header = request.Header("authorization");
    if (header != nullptr && *header == "Bearer right") return std::nullopt;
    return Problem(401, "unauthorized", "no").With("WWW-Authenticate", "Bearer");
  };
  Run();
  EXPECT_EQ(StatusOf(Ask("POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n")), 401);
  EXPECT_EQ(StatusOf(Ask(Get("/inline", "Authorization: Bearer right\r\n"))), 200);
}

TEST_F(HttpServerTest, ATooSlowHeadIsCutOff) {
  options_.head_timeout = milliseconds(30);
  Run();
  Client client(port());
  client.Send("GET /inl");
  EXPECT_EQ(client.ReadToEnd(), "");
  Client silent(port());
  EXPECT_EQ(silent.ReadToEnd(), "");
}

TEST_F(HttpServerTest, IdleConnectionsKeepNobodyOut) {
  options_.max_connections = 3;
  Run();
  Client first(port()), second(port()), third(port());
  for (Client* client : {&first, &second, &third}) EXPECT_EQ(StatusOf(client->Send(Get("/inline")).ReadOne()), 200);
  EXPECT_EQ(StatusOf(second.Send(Get("/inline")).ReadOne()), 200);
  Client silent(port());
  EXPECT_EQ(first.ReadToEnd(), "") << "it had waited longest";
  EXPECT_EQ(StatusOf(Ask(Get("/inline"))), 200);
  EXPECT_EQ(third.ReadToEnd(), "");
}

TEST_F(HttpServerTest, WhereAllAreBusyProbesAreAnsweredAllTheSame) {
  options_.max_connections = 1;
  options_.spare_connections = 1;
  Run();
  Client busy(port());
  busy.Send(Get("/wait"));
  entered_.get_future().wait();
  EXPECT_EQ(StatusOf(Ask(Get("/inline"))), 503);
  Client probe(port());
  const std::string answer = probe.Send(Get("/open")).ReadToEnd();
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  release_.set_value();
  EXPECT_EQ(StatusOf(busy.ReadOne()), 200);
}

// A place for probes is none of the others: whoever has one keeps nobody out there, and its end makes no room.
TEST_F(HttpServerTest, ConnectionsForProbesTakeNoOtherPlaces) {
  options_.max_connections = 1;
  options_.spare_connections = 2;
  Run();
  Client busy(port());
  busy.Send(Get("/wait"));
  entered_.get_future().wait();
  Client silent(port()), probe(port());
  EXPECT_EQ(StatusOf(probe.Send(Get("/open")).ReadToEnd()), 200) << "the silent one was let in before it";
  release_.set_value();
  EXPECT_EQ(StatusOf(busy.ReadOne()), 200);
  EXPECT_EQ(StatusOf(Ask(Get("/inline"))), 200) << "for the one that is idle now; the silent one waits longer, in a place of its own";
  EXPECT_EQ(busy.ReadToEnd(), "");
  EXPECT_EQ(StatusOf(silent.Send(Get("/open")).ReadToEnd()), 200);
}

TEST_F(HttpServerTest, StreamsUntilTheHandleEnds) {
  Run();
  Client client(port());
  client.Send(Get("/stream"));
  auto stream = stream_.get_future().get();
  EXPECT_EQ(stream->Write(FormatSseEvent("1", "x", "one")), HttpStream::Wrote::kOk);
  EXPECT_NE(client.ReadUntil("data: one").find("text/event-stream"), std::string::npos);
  EXPECT_EQ(stream->Write(FormatSseEvent("2", "x", "two")), HttpStream::Wrote::kOk);
  client.ReadUntil("data: two");
  stream->End();
  EXPECT_TRUE(client.ReadToEnd().ends_with("0\r\n\r\n"));
  EXPECT_EQ(stream->Write("late"), HttpStream::Wrote::kClosed);
}

TEST_F(HttpServerTest, AStreamEndsWhenItsReaderMayNoLongerHaveIt) {
  std::atomic<bool> allowed{true};
  std::atomic<int> asked{0};
  options_.recheck = milliseconds(1);
  options_.still_allowed = [&](const HttpRequest& request) {
    ++asked;
    return allowed || request.path != "/stream";
  };
  Run();
  Client client(port());
  client.Send(Get("/stream"));
  auto stream = stream_.get_future().get();
  while (asked < 2) std::this_thread::yield();
  EXPECT_FALSE(stream->closed());
  EXPECT_EQ(stream->Write("data: 1\n\n"), HttpStream::Wrote::kOk);
  EXPECT_NE(client.ReadUntil("data: 1\n\n").find("data: 1"), std::string::npos);
  allowed = false;
  client.ReadToEnd();
  EXPECT_TRUE(stream->closed());
}

// Whoever asks for large answers and does not read them keeps so much of this process's memory and no more.
TEST_F(HttpServerTest, AnswersThatWaitForTheirReadersAreBounded) {
  options_.max_answers = 30'000'000;
  Run();
  {
    Client slow(port());
    slow.Send(Get("/large"));
    slow.ReadUntil("\r\n\r\n");
    EXPECT_NE(Ask(Get("/large")).find("too-many-answers"), std::string::npos);
    EXPECT_TRUE(Ask(Get("/quick/now")).starts_with("HTTP/1.1 200"));
  }
  while (!Ask(Get("/large")).starts_with("HTTP/1.1 200")) std::this_thread::yield();  // it is gone
}

TEST_F(HttpServerTest, AStreamToASlowReaderIsBounded) {
  Run();
  Client client(port());
  client.Send(Get("/stream"));
  auto stream = stream_.get_future().get();
  const std::string part(100'000, 'x');
  HttpStream::Wrote wrote = HttpStream::Wrote::kOk;
  int parts = 0;
  while (wrote == HttpStream::Wrote::kOk && parts < 1000) {
    wrote = stream->Write(part);
    ++parts;
  }
  EXPECT_EQ(wrote, HttpStream::Wrote::kFull);
}

TEST_F(HttpServerTest, AStreamLearnsThatItsReaderIsGone) {
  Run();
  {
    Client client(port());
    client.Send(Get("/stream"));
    client.ReadUntil("\r\n\r\n");
  }
  auto stream = stream_.get_future().get();
  while (!stream->closed()) std::this_thread::yield();
  EXPECT_EQ(stream->Write("x"), HttpStream::Wrote::kClosed);
}

TEST_F(HttpServerTest, StopAnswersWhatRunsAndEndsTheRest) {
  Run();
  Client busy(port()), idle(port()), streaming(port());
  EXPECT_EQ(StatusOf(idle.Send(Get("/inline")).ReadOne()), 200);
  streaming.Send(Get("/stream"));
  auto stream = stream_.get_future().get();
  busy.Send(Get("/wait"));
  entered_.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { server_->Stop(); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_TRUE(streaming.ReadToEnd().ends_with("0\r\n\r\n"));
  release_.set_value();
  const auto answer = busy.ReadToEnd();
  EXPECT_NE(answer.find("\r\n\r\nwaited"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  stopped.get();
  EXPECT_EQ(stream->Write("x"), HttpStream::Wrote::kClosed);  // the handle outlives the server
  server_->Stop();
}

TEST_F(HttpServerTest, AFullPoolIs503) {
  Run();
  std::promise<void> hold;
  auto held = hold.get_future().share();
  std::array<std::promise<void>, 2> started;  // one for each thread
  for (auto& thread : started) {
    ASSERT_TRUE(pool_.Post([held, &thread] {
      thread.set_value();
      held.wait();
    }));
  }
  for (auto& thread : started) thread.get_future().wait();
  while (pool_.Post([] {})) {
  }
  EXPECT_EQ(StatusOf(Ask(Get("/items/1"))), 503);
  EXPECT_EQ(StatusOf(Ask(Get("/inline"))), 200);
  hold.set_value();
}

TEST_F(HttpServerTest, APortInUseIsSaidWithAWayOut) {
  Run();
  HttpServer second({.listen = server_->address()}, Router(), nullptr, nullptr);
  const auto status = second.Start();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("Address already in use"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("choose another port"), std::string::npos) << status.message();
}

TEST_F(HttpServerTest, CountsRequestsByRouteNotByPath) {
  Run();
  Ask(Get("/items/1"));
  Ask(Get("/items/2"));
  Ask(Get("/nothing/a"));
  Ask(Get("/nothing/b"));
  server_->Stop();
  const auto page = metrics_.Page();
  EXPECT_NE(page.find("acl_http_requests_total{method=\"GET\",route=\"/items/{id}\",status=\"200\"} 2"), std::string::npos) << page;
  EXPECT_NE(page.find("acl_http_requests_total{method=\"none\",route=\"none\",status=\"404\"} 2"), std::string::npos) << page;
}

}  // namespace
}  // namespace acl
