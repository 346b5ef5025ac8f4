// The exporter against a collector that is slow, refuses, asks for patience or is not there.
#include "shared/telemetry/span_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

#include "shared/telemetry/names.h"
#include "tests/support/small_server.h"

namespace acl {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";

Span SpanNumber(int n) {
  Span span;
  span.trace_id = kTrace;
  span.span_id = "b7ad6b716920" + std::to_string(1000 + n % 9000);
  span.name = "span " + std::to_string(n);
  span.start = WallTimeFromMicros(1'700'000'000'000'001);
  span.end = WallTimeFromMicros(1'700'000'000'500'001);
  return span;
}

Json SentIn(const std::string& request) { return Json::parse(request.substr(request.find("\r\n\r\n") + 4)); }
std::size_t SpansIn(const std::string& request) { return SentIn(request)["resourceSpans"][0]["scopeSpans"][0]["spans"].size(); }

// Closed until opened; a collector's script waits at it.
class Gate {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitWaiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false, waiting_ = false;
};

class SpanExporterTest : public ::testing::Test {
 protected:
  OtelConfig ConfigFor(const std::string& url) {
    OtelConfig config = ReadOtelConfig({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url}, {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=k1"}}, "svc");
    config.delay = milliseconds(0);
    return config;
  }
  double Count(const char* result) { return metrics_.counter(names::kTraceSpans, {{"result", result}}).Value(); }

  SystemClock clock_;
  Metrics metrics_;
};

TEST_F(SpanExporterTest, SendsOtlpJson) {
  SmallServer collector([](const std::string&) { return SmallServer::Answer("200 OK", "{\"partialSuccess\":{}}"); });
  SpanExporter exporter(ConfigFor(collector.Url("/v1/traces")), clock_, &metrics_);
  Span span = SpanNumber(1);
  span.parent_id = "00f067aa0ba902b7";
  span.kind = Span::Kind::kClient;
  span.attributes = {{"text", "t"}, {"whole", 5}, {"part", 0.5}, {"flag", true}, {"list", Json::array({"a", "b"})}};
  span.events.push_back({"acl.takeover", span.start, {{"n", 1}}});
  span.links.push_back({"b7ad6b7169203331", {{"acl.link", "takeover"}}});
  span.failed = true;
  span.message = "postgresql://u:hidden@h/db is away";
  exporter.Add(span);
  exporter.Stop(milliseconds(10'000));
  ASSERT_EQ(collector.requests().size(), 1u);
  const std::string request = collector.requests()[0];
  EXPECT_THAT(request, HasSubstr("POST /v1/traces HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(request, HasSubstr("api-key: k1\r\n"));
  const auto expected =
      nlohmann::json::parse(R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},
    "scopeSpans":[{"scope":{"name":"acl"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169201001",
      "parentSpanId":"00f067aa0ba902b7","name":"span 1","kind":3,"startTimeUnixNano":"1700000000000001000","endTimeUnixNano":"1700000000500001000",
      "attributes":[{"key":"flag","value":{"boolValue":true}},
        {"key":"list","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},
        {"key":"part","value":{"doubleValue":0.5}},{"key":"text","value":{"stringValue":"t"}},{"key":"whole","value":{"intValue":"5"}}],
      "events":[{"name":"acl.takeover","timeUnixNano":"1700000000000001000","attributes":[{"key":"n","value":{"intValue":"1"}}]}],
      "links":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","attributes":[{"key":"acl.link","value":{"stringValue":"takeover"}}]}],
      "status":{"code":2,"message":"postgresql://u:***@h/db is away"}}]}]}]})");
  auto sent = nlohmann::json::parse(DumpJson(SentIn(request)));  // without an order of members
  auto& attributes = sent["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"];
  std::sort(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) { return a["key"] < b["key"]; });
  EXPECT_EQ(sent, expected) << sent.dump(1);
  EXPECT_EQ(Count("exported"), 1);
}

TEST_F(SpanExporterTest, GathersBatchesNoLargerThanAllowed) {
  Gate gate;
  SmallServer collector([&](const std::string&) {
    gate.Wait();
    return SmallServer::Answer("200 OK", "{}");
  });
  OtelConfig config = ConfigFor(collector.Url());
  config.max_batch = 10;
  SpanExporter exporter(config, clock_, &metrics_);
  exporter.Add(SpanNumber(0));
  gate.AwaitWaiting();  // the first is on its way, the others gather behind it
  for (int n = 1; n <= 25; ++n) EXPECT_TRUE(exporter.Add(SpanNumber(n)));
  gate.Open();
  exporter.Stop(milliseconds(10'000));
  std::vector<std::size_t> sizes;
  for (const std::string& request : collector.requests()) sizes.push_back(SpansIn(request));
  EXPECT_THAT(sizes, ::testing::ElementsAre(1, 10, 10, 5));
  EXPECT_EQ(Count("exported"), 26);
}

TEST_F(SpanExporterTest, TriesAgainWhenAskedTo) {
  std::atomic<int> asked{0};
  SmallServer collector([&](const std::string&) -> std::optional<std::string> {
    switch (++asked) {
      case 1: return SmallServer::Answer("429 Too Many Requests", "", "Retry-After: 0\r\n");
      case 2: return SmallServer::Answer("503 Service Unavailable", "");
      case 3: return std::nullopt;  // closes at once
      default: return SmallServer::Answer("200 OK", "{}");
    }
  });
  SpanExporter exporter(ConfigFor(collector.Url()), clock_, &metrics_);
  exporter.Add(SpanNumber(1));
  exporter.Stop(milliseconds(30'000));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(Count("exported"), 1);
  EXPECT_EQ(Count("failed") + Count("refused") + Count("dropped"), 0);
}

TEST_F(SpanExporterTest, TakesARefusalAsFinal) {
  std::atomic<int> asked{0};
  SmallServer collector([&](const std::string&) {
    if (++asked == 1) return SmallServer::Answer("400 Bad Request", "no");
    return SmallServer::Answer("200 OK", "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"x\"}}");
  });
  {
    SpanExporter exporter(ConfigFor(collector.Url()), clock_, &metrics_);
    exporter.Add(SpanNumber(1));
    exporter.Stop(milliseconds(10'000));
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(Count("refused"), 1);
  SpanExporter exporter(ConfigFor(collector.Url()), clock_, &metrics_);
  exporter.Add(SpanNumber(2));
  exporter.Add(SpanNumber(3));
  exporter.Stop(milliseconds(10'000));
  EXPECT_EQ(Count("refused") + Count("exported"), 3) << "a part is refused, the rest is there";
  EXPECT_GE(Count("refused"), 2);
}

TEST_F(SpanExporterTest, NeverWaitsForACollectorAndCountsWhatItDrops) {
  Gate gate;
  SmallServer collector([&](const std::string&) {
    gate.Wait();
    return SmallServer::Answer("200 OK", "{}");
  });
  OtelConfig config = ConfigFor(collector.Url());
  config.max_queue = 5;
  config.max_batch = 5;
  SpanExporter exporter(config, clock_, &metrics_);
  exporter.Add(SpanNumber(0));
  gate.AwaitWaiting();  // and does not answer before all of these came back
  int taken = 0;
  for (int n = 1; n <= 1'000; ++n) taken += exporter.Add(SpanNumber(n)) ? 1 : 0;
  EXPECT_EQ(taken, 5);
  EXPECT_EQ(Count("dropped"), 995);
  gate.Open();
  exporter.Stop(milliseconds(10'000));
  EXPECT_EQ(Count("exported"), 6);
  EXPECT_FALSE(exporter.Add(SpanNumber(1))) << "it has ended";
}

TEST_F(SpanExporterTest, EndsInTimeWithoutACollector) {
  OtelConfig config = ConfigFor("http://127.0.0.1:1/");  // nobody listens there
  config.max_batch = 1;
  SpanExporter exporter(config, clock_, &metrics_);
  for (int n = 0; n < 3; ++n) exporter.Add(SpanNumber(n));
  exporter.Stop(milliseconds(50));
  EXPECT_EQ(Count("failed"), 3);
}

TEST_F(SpanExporterTest, EndsInTimeBesideACollectorThatHangs) {
  Gate gate;
  SmallServer collector([&](const std::string&) {
    gate.Wait();
    return SmallServer::Answer("200 OK", "{}");
  });
  SpanExporter exporter(ConfigFor(collector.Url()), clock_, &metrics_);
  exporter.Add(SpanNumber(1));
  gate.AwaitWaiting();
  exporter.Stop(milliseconds(50));
  EXPECT_EQ(Count("failed"), 1);
  gate.Open();
}

}  // namespace
}  // namespace acl
