// What a trace shows of the hop through Kafka: read from the topic itself, and from what the programs send to a collector.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/trace_context.h"
#include "shared/base/uuid7.h"
#include "shared/kafka/naming.h"
#include "shared/kafka/topic_reader.h"
#include "shared/queue/step_message.h"
#include "tests/support/gated_run.h"
#include "tests/support/kafka_server.h"
#include "tests/support/small_server.h"

namespace acl::test {
namespace {

using testing::Contains;

struct CollectedSpan {
  std::string id, parent, name, trace;
  int kind = 0;
  std::vector<std::string> links;
  std::map<std::string, std::string> attributes;
};

// Takes OTLP/HTTP in JSON, as a collector would.
class Collector {
 public:
  std::string Url() { return server_.Url(""); }
  std::vector<CollectedSpan> Trace(const std::string& trace_id) {
    std::vector<CollectedSpan> found;
    for (const std::string& request : server_.requests()) {
      const Json body = Json::parse(request.substr(request.find("\r\n\r\n") + 4), nullptr, false);
      for (const Json& resource : body.value("resourceSpans", Json::array())) {
        for (const Json& scope : resource.at("scopeSpans")) {
          for (const Json& span : scope.at("spans")) {
            if (span.at("traceId") == trace_id) found.push_back(Read(span));
          }
        }
      }
    }
    return found;
  }

 private:
  static CollectedSpan Read(const Json& span) {
    CollectedSpan out{span.at("spanId"), span.value("parentSpanId", ""), span.at("name"), span.at("traceId"), span.at("kind"), {}, {}};
    for (const Json& link : span.value("links", Json::array())) out.links.push_back(link.at("spanId"));
    for (const Json& attribute : span.at("attributes")) {
      const Json& value = *attribute.at("value").begin();
      out.attributes[attribute.at("key")] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return out;
  }
  SmallServer server_{[](const std::string&) { return SmallServer::Answer("200 OK", "{}"); }};
};

struct KafkaHop : ::testing::Test {
  // Before anything that sends spans starts.
  void Make(std::map<std::string, std::string> more = {}) {
    FleetOptions options;
    prefix = NewPrefix();
    options.environment = kafka.FleetEnvironment(prefix, {"default", "gpu"});
    options.environment["ACL_QUEUE_LATE_MS"] = "3600000";
    options.environment.merge(more);
    fleet = std::make_unique<Fleet>(options);
    fleet->StartCoordinator();
    fleet->StartWorker(1);
    fleet->StartWorker(2, {{"ACL_QUEUES", "gpu"}});
    ASSERT_TRUE(fleet->AwaitReady());
  }
  // Of a caller of its own; the run has ended when this returns.
  std::string RunTraced(const TraceContext& caller, const std::string& yaml) {
    const auto reply =
        fleet->Api("POST", "/v1/workflows", {{"workflow", yaml}, {"file", "hop.yaml"}}, {{"traceparent", FormatTraceparent(caller)}});
    EXPECT_EQ(reply.status, 201) << reply.body;
    const std::string id = reply.json().value("id", "");
    EXPECT_TRUE(fleet->AwaitStatus(id, "COMPLETED"));
    return id;
  }
  static TraceContext Caller(bool sampled = true) { return {ToHex(NewUuid7().bytes.data(), 16), "00f067aa0ba902b7", sampled}; }
  std::vector<kafka::Received> Read(const std::string& queue) {
    kafka::ClientSettings client;
    client.bootstrap = kafka.url();
    auto read = kafka::ReadTopic(client, kafka::StepTopic(prefix, queue, 1), std::chrono::seconds(30));
    EXPECT_TRUE(read) << read.message();
    return read ? *read : std::vector<kafka::Received>();
  }

  TestKafka kafka = TestKafka::OfThisRun();
  std::string prefix;
  std::unique_ptr<Fleet> fleet;
};

constexpr const char* kTwoQueues =
    "name: hop\nsteps:\n"
    "  - {name: here, capability: sys.info.get_time}\n"
    "  - {name: there, queue: gpu, capability: sys.info.get_time}\n";

// Also those that are sent because a worker told of the row.
TEST_F(KafkaHop, EachMessageCarriesTheTraceContextOfItsRun) {
  Make({{"ACL_LOCAL_CONTINUATION", "false"}});
  const TraceContext caller = Caller();
  const std::string id = RunTraced(caller, kTwoQueues);
  for (const char* queue : {"default", "gpu"}) {
    const auto messages = Read(queue);
    EXPECT_FALSE(messages.empty());
    for (const kafka::Received& message : messages) {
      ASSERT_TRUE(message.headers.contains("traceparent")) << queue;
      const auto header = ParseTraceparent(message.headers.at("traceparent"));
      ASSERT_TRUE(header) << message.headers.at("traceparent");
      EXPECT_EQ(header->trace_id, caller.trace_id);
      EXPECT_EQ(header->trace_id, fleet->Run(id).value("trace_id", ""));
      EXPECT_TRUE(header->sampled);
      const auto decoded = DecodeStepMessage(message.value);
      ASSERT_TRUE(decoded) << decoded.message();
      EXPECT_EQ(decoded->traceparent, message.headers.at("traceparent")) << "the same in the message itself";
    }
  }
}

TEST_F(KafkaHop, IsTwoLinkedSpansOfTheRunsTrace) {
  Collector collector;
  Make({{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.Url()}, {"OTEL_BSP_SCHEDULE_DELAY", "50"}});
  const TraceContext caller = Caller();
  const std::string id = RunTraced(caller, kTwoQueues);
  const auto named = [&](const std::string& start) {
    std::vector<CollectedSpan> found;
    for (CollectedSpan& span : collector.Trace(caller.trace_id)) {
      if (span.name.starts_with(start)) found.push_back(std::move(span));
    }
    return found;
  };
  const std::string home = kafka::StepTopic(prefix, "default", 1), other = kafka::StepTopic(prefix, "gpu", 1);
  // The run's first grant, the dispatch's, and the run's again when the dispatch's result came.
  ASSERT_TRUE(WaitUntil([&] {
    return named("process " + home).size() >= 2 && named("process " + other).size() == 1 && named("send ").size() >= 3 &&
           named("workflow ").size() == 1;
  })) << named("process ").size()
      << " of " << named("send ").size();
  const auto runs = named("workflow ");
  std::map<std::string, CollectedSpan> sent;
  for (const CollectedSpan& span : named("send ")) {
    EXPECT_EQ(span.parent, runs[0].id);
    EXPECT_EQ(span.kind, 4) << "PRODUCER";
    EXPECT_EQ(span.attributes.at("messaging.system"), "kafka");
    EXPECT_EQ(span.attributes.at("messaging.operation.type"), "send");
    EXPECT_EQ(span.name, "send " + span.attributes.at("messaging.destination.name"));
    EXPECT_TRUE(sent.emplace(span.id, span).second) << "one span a message";
  }
  for (const CollectedSpan& span : named("process ")) {
    EXPECT_EQ(span.parent, runs[0].id);
    EXPECT_EQ(span.kind, 5) << "CONSUMER";
    ASSERT_EQ(span.links.size(), 1u);
    ASSERT_TRUE(sent.contains(span.links[0])) << "to the message it came by";
    const CollectedSpan& from = sent.at(span.links[0]);
    EXPECT_EQ(span.attributes.at("messaging.destination.name"), from.attributes.at("messaging.destination.name"));
    EXPECT_EQ(span.attributes.at("messaging.kafka.message.key"), from.attributes.at("messaging.kafka.message.key"));
    EXPECT_EQ(span.attributes.at("messaging.operation.type"), "process");
    EXPECT_EQ(span.attributes.at("messaging.consumer.group.name"), prefix + ".workers");
    EXPECT_EQ(span.attributes.at("messaging.client.id"), span.name == "process " + other ? "worker-2" : "worker-1");
    EXPECT_EQ(span.attributes.at("messaging.message.conversation_id"), id);
    EXPECT_TRUE(span.attributes.contains("messaging.destination.partition.id"));
    EXPECT_TRUE(span.attributes.contains("messaging.kafka.offset"));
    EXPECT_GT(std::stoll(span.attributes.at("acl.token")), 0);
  }
  // The message that each was is there to read, with the span's context in its header.
  std::vector<std::string> headers;
  for (const char* queue : {"default", "gpu"}) {
    for (const kafka::Received& message : Read(queue)) headers.push_back(message.headers.at("traceparent"));
  }
  for (const auto& [span_id, span] : sent) EXPECT_THAT(headers, Contains("00-" + caller.trace_id + "-" + span_id + "-01"));
}

TEST_F(KafkaHop, OfATraceThatIsNotRecordedNoSpanIsSent) {
  Collector collector;
  Make({{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.Url()}, {"OTEL_BSP_SCHEDULE_DELAY", "50"}});
  const TraceContext silent = Caller(false), told = Caller();
  RunTraced(silent, kTwoQueues);
  RunTraced(told, kTwoQueues);
  ASSERT_TRUE(WaitUntil([&] {
    for (const CollectedSpan& span : collector.Trace(told.trace_id)) {
      if (span.name.starts_with("workflow ")) return true;
    }
    return false;
  }));
  EXPECT_TRUE(collector.Trace(silent.trace_id).empty());
  for (const kafka::Received& message : Read("gpu")) {
    const auto header = ParseTraceparent(message.headers.at("traceparent"));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->sampled, header->trace_id == told.trace_id) << "the context is passed on all the same";
  }
}

}  // namespace
}  // namespace acl::test
