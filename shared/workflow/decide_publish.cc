// PUBLISH steps: complete in the commit that writes their outbox row, so that a message is said once whoever dies; the job `deliveries`
// sends it (docs/guides/webhooks.md). The body of a webhook has the form that Standard Webhooks recommends.

#include <fmt/format.h>

#include "shared/base/json_object.h"
#include "shared/kernel/publish.h"
#include "shared/workflow/decider.h"

namespace acl::workflow {

namespace {

// Why these make no message; empty: they do.
std::string WrongIn(const Json& given, const PublishDefinition& said) {
  const auto text = [&](const char* key) { return given[key].is_string() ? given[key].get_ref<const std::string&>() : std::string(); };
  if (!IsEventType(text("event"))) return fmt::format("'event' is {}; it {}", DumpJson(given["event"]).substr(0, 200), kEventTypeForms);
  const char* key = said.topic.empty() ? "to" : "kafka";
  if (!IsEndpointOrTopic(text(key))) return fmt::format("'{}' is {}; it {}", key, DumpJson(given[key]).substr(0, 200), kEndpointForms);
  const std::string& subject = text("subject");
  if (!given["subject"].is_string() || subject.size() > 500 || subject.find('\0') != std::string::npos)
    return "'subject' must be a text of at most 500 bytes";
  if (const auto bytes = DumpedBytes(given["data"]); bytes > kMostPublishedBytes)
    return fmt::format("'data' is {} bytes, more than {}: send where it lies instead", bytes, kMostPublishedBytes);
  return "";
}

}  // namespace

void Decider::Publish(const Instance& instance) {
  const PublishDefinition& said = *definition_.step(instance.step).publish;
  const Json asked = {{"event", said.event}, {"to", said.endpoint}, {"kafka", said.topic}, {"subject", said.subject}, {"data", said.data}};
  Unanswered unanswered = UnansweredIn(definition_.definition(), nullptr);
  if (unanswered == Unanswered::kStays && definition_.definition().effects_need_values) unanswered = Unanswered::kFailsEffect;
  std::vector<std::string> missing;
  const CapabilityCall resolved = ResolveCall("", asked, ScopeOf(State(), definition_, instance), unanswered, &missing);
  Json facts = StepFacts(instance, 0);
  if (!missing.empty()) facts["missing"] = missing;
  if (!resolved.error.empty()) return FailedByItself(instance, std::move(facts), resolved.error);
  const Json& given = resolved.inputs;
  if (const std::string wrong = WrongIn(given, said); !wrong.empty())
    return FailedByItself(instance, std::move(facts), "publish: " + wrong);
  const std::string run_id(Run().run_id), event = given["event"], id = MessageIdOf(run_id, instance.step_id);
  if (said.topic.empty()) {
    const Json body = {{"type", event}, {"timestamp", FormatWallTime(now_)}, {"data", given["data"]}};
    decision_.outbox.push_back(WebhookMessage(run_id, id, event, given["to"], body));
  } else {
    decision_.outbox.push_back(CloudEventMessage(run_id, id, event, given["kafka"], given["data"], given["subject"]));
  }
  facts["attempt"] = 1;
  facts[std::string(kPublishOutput)] = id;
  CompletedByItself(instance, std::move(facts), {{kPublishOutput, id}}, now_);
}

}  // namespace acl::workflow
