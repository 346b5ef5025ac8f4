#include "coordinator/deliveries/sender.h"

#include <fmt/format.h>

#include "shared/base/json_text.h"
#include "shared/base/limits.h"
#include "shared/capability/http_answer.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMostAnswerBytes = 64u << 10;

HttpConfig RulesOf(bool is_private, const std::string& ca_file) {
  HttpConfig rules;
  rules.schemes = is_private ? std::vector<std::string>{"https", "http"} : std::vector<std::string>{"https"};
  rules.allow_private_networks = is_private;
  rules.max_redirects = 0;
  rules.max_body_bytes = kMostAnswerBytes;
  rules.ca_file = ca_file;
  rules.user_agent = "acl-webhooks/0.1";
  return rules;
}

delivery::Answer Never(std::string why) {
  delivery::Answer answer;
  answer.error = std::move(why);
  answer.for_good = true;
  return answer;
}

// A receiver that says 2xx and then more than we read has taken it.
delivery::Answer AnswerOf(const HttpAnswer& got, WallTime now) {
  using End = HttpAnswer::End;
  delivery::Answer answer;
  answer.error = got.error;
  if (got.end == End::kAnswered || got.end == End::kTooLarge) answer.status = got.status;
  answer.for_good = got.end == End::kRefused;
  answer.ours = got.end == End::kStopped;
  for (const auto& [name, value] : got.headers) {
    if (SameHeader(name, "Retry-After")) answer.retry_after = ReadRetryAfter(value, now);
  }
  return answer;
}

}  // namespace

WebhookSender::WebhookSender(Endpoints endpoints, const Clock& clock, std::chrono::milliseconds timeout, std::string ca_file)
    : endpoints_(std::move(endpoints)),
      clock_(clock),
      timeout_(timeout),
      public_(RulesOf(false, ca_file)),
      private_(RulesOf(true, ca_file)) {}

void WebhookSender::Send(const delivery::Delivery& message, OnAnswered done) {
  const auto found = endpoints_.find(message.endpoint);
  if (found == endpoints_.end()) {
    return done(
        Never(fmt::format("this fleet has no endpoint '{}': add it to webhook_endpoints_file, start the coordinators anew, then "
                          "`airun deliveries retry {}`",
                          message.endpoint, message.message_id)));
  }
  const Endpoint& endpoint = found->second;
  HttpCall call;
  call.method = "POST";
  call.url = endpoint.url;
  call.body = message.body;
  call.headers.emplace_back("Content-Type", "application/json");
  if (endpoint.keys.empty()) {
    call.own_headers.emplace_back(webhook::kIdHeader, message.message_id);
  } else {
    const auto made = webhook::Sign(endpoint.keys, message.message_id, clock_.Wall(), message.body);
    if (!made) return done(Never(made.error().message));
    call.own_headers.emplace_back(webhook::kIdHeader, made->id);
    call.own_headers.emplace_back(webhook::kTimestampHeader, made->timestamp);
    call.own_headers.emplace_back(webhook::kSignatureHeader, made->signature);
  }
  call.repeatable = true;  // whoever receives webhooks takes an id once
  call.deadline = clock_.Steady() + timeout_;
  (endpoint.is_private ? private_ : public_).Start(std::move(call), [done = std::move(done), &clock = clock_](HttpAnswer got) {
    done(AnswerOf(got, clock.Wall()));
  });
}

std::string CloudEventOf(const delivery::Delivery& message) {
  Json event = {{"specversion", "1.0"},
                {"id", message.message_id},
                {"source", "/v1/workflows/" + message.subject.ToString()},
                {"type", message.event},
                {"time", FormatWallTime(message.created_at)},
                {"datacontenttype", "application/json"}};
  if (!message.about.empty()) event["subject"] = message.about;
  auto data = ParseJson(message.body, kStoredJson);
  event["data"] = data ? std::move(*data) : Json(message.body);
  return DumpJson(event);
}

void KafkaSender::Send(const delivery::Delivery& message, OnAnswered done) {
  if (producer_ == nullptr) {
    return done(
        Never(fmt::format("this fleet has no Kafka (queue_driver is postgres): run it with queue_driver kafka, then `airun deliveries "
                          "retry {}`",
                          message.message_id)));
  }
  if (message.endpoint.starts_with(own_prefix_ + "."))
    return done(Never(fmt::format("topic '{}' is the fleet's own: nobody publishes into {}.*", message.endpoint, own_prefix_)));
  kafka::Outgoing out;
  out.topic = message.endpoint;
  out.key = message.subject.ToString();
  out.value = CloudEventOf(message);
  out.headers["content-type"] = "application/cloudevents+json; charset=UTF-8";
  const Status taken = producer_->Send(out, [done](Status status) {
    delivery::Answer answer;
    if (status)
      answer.status = 200;
    else
      answer.error = "Kafka: " + status.message();
    done(std::move(answer));
  });
  if (!taken) {
    delivery::Answer answer;
    answer.error = "Kafka: " + taken.message();
    done(std::move(answer));
  }
}

}  // namespace acl::coordinator
