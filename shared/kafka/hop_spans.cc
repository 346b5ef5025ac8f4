#include "shared/kafka/hop_spans.h"

#include "shared/base/random.h"

namespace acl::kafka {

Span HopSpans::Begin(const char* operation, const std::string& topic, const std::string& key) const {
  SystemRandom random;
  const std::uint64_t number = random.Next() | 1;  // never zero
  Span span;
  span.span_id = ToHex(&number, sizeof number);
  span.name = std::string(operation) + " " + topic;
  span.start = span.end = clock_->Wall();
  span.attributes = {{"messaging.system", "kafka"},           {"messaging.operation.name", operation},
                     {"messaging.operation.type", operation}, {"messaging.destination.name", topic},
                     {"messaging.kafka.message.key", key},    {"messaging.client.id", client_id_}};
  return span;
}

std::optional<Span> HopSpans::BeginSend(const std::string& topic, const std::string& key, int times, StepMessage& message) const {
  if (!tracer_ || !tracer_->on()) return std::nullopt;
  const auto run = ParseTraceparent(message.traceparent);
  if (!run || !tracer_->Samples(*run)) return std::nullopt;
  Span span = Begin("send", topic, key);
  span.trace_id = run->trace_id;
  span.parent_id = run->span_id;
  span.kind = Span::Kind::kProducer;
  span.attributes["acl.sent_times"] = times;
  message.traceparent = FormatTraceparent({span.trace_id, span.span_id, true});
  return span;
}

void HopSpans::EndSend(Span span, const Status& sent) const {
  span.end = std::max(clock_->Wall(), span.start);
  if (!sent) {
    span.failed = true;
    span.message = sent.message();
    span.attributes["error.type"] = std::string(CodeName(sent.code()));
  }
  tracer_->Export(std::move(span));
}

void HopSpans::Granted(const Received& received, const GrantedMessage& granted) const {
  if (!tracer_ || !tracer_->on()) return;
  const auto hop = ParseTraceparent(granted.message.traceparent);
  const std::string run = RunSpanId(granted.subject);
  if (!hop || hop->span_id == run || !tracer_->Samples(*hop)) return;
  Span span = Begin("process", received.topic, received.key);
  span.trace_id = hop->trace_id;
  span.parent_id = run;
  span.kind = Span::Kind::kConsumer;
  span.start = std::min(granted.began, span.end);
  span.attributes["messaging.consumer.group.name"] = group_;
  span.attributes["messaging.destination.partition.id"] = std::to_string(received.partition);
  span.attributes["messaging.kafka.offset"] = received.offset;
  span.attributes["messaging.message.conversation_id"] = granted.subject.ToString();
  span.attributes["acl.run_id"] = granted.subject.ToString();
  span.attributes["acl.token"] = granted.token.value;
  span.links.push_back({hop->span_id, {{"acl.link", "sent_by"}}});
  tracer_->Export(std::move(span));
}

}  // namespace acl::kafka
