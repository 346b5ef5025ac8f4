// The `publish` of a PUBLISH step: {event, to | kafka, subject?, data?}.
#include "shared/definition/draft.h"
#include "shared/definition/template.h"

namespace acl {

namespace {

constexpr std::string_view kPublishForm = "must be a map: {event: TYPE, to: ENDPOINT, data: {...}}, or with 'kafka: TOPIC' instead of 'to'";

// A text that is not empty; what it may hold is known when its templates are expanded.
std::string ReadPublishText(Reader* reader, const Fields& fields, std::string_view key, bool (*is_good)(std::string_view),
                            std::string_view forms) {
  const SourceNode* node = fields.Get(key);
  if (!node) return "";
  auto text = reader->String(*node, fields.What(key));
  if (!text) return "";
  if (!HasTemplate(Json(*text)) && !is_good(*text)) reader->Error(node->mark, "bad-publish", fields.What(key) + " " + std::string(forms));
  return std::move(*text);
}

bool IsMadeOf(std::string_view text, std::size_t longest, std::string_view more) {
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

}  // namespace

bool IsEventType(std::string_view text) { return IsMadeOf(text, 200, "._-/:"); }
bool IsEndpointOrTopic(std::string_view text) { return IsMadeOf(text, 100, "._-") && text != "." && text != ".."; }

void ReadPublish(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step) {
  const SourceNode* node = fields.Get("publish");
  PublishDefinition& said = step->publish.emplace();
  const std::string what = fields.What("publish");
  if (!node)
    reader->Error(fields.map().mark, "missing-publish", owner + " is PUBLISH and has no 'publish', which " + std::string(kPublishForm));
  if (node && !node->is_map()) reader->Error(node->mark, "bad-publish", what + " " + std::string(kPublishForm));
  if (node && node->is_map()) {
    Fields own(reader, *node, what, {"event", "to", "kafka", "subject", "data"});
    said.event = ReadPublishText(reader, own, "event", IsEventType, kEventTypeForms);
    said.endpoint = ReadPublishText(reader, own, "to", IsEndpointOrTopic, kEndpointForms);
    said.topic = ReadPublishText(reader, own, "kafka", IsEndpointOrTopic, kEndpointForms);
    if (const SourceNode* subject = own.Get("subject"))
      if (auto text = reader->String(*subject, own.What("subject"))) said.subject = std::move(*text);
    if (const SourceNode* data = own.Get("data")) said.data = ToJson(*data);
    if (!own.Get("event")) reader->Error(node->mark, "bad-publish", what + " has no 'event': it " + std::string(kPublishForm));
    if (!own.Get("to") == !own.Get("kafka"))
      reader->Error(node->mark, "bad-publish", what + " needs 'to' or 'kafka', and not both: it " + std::string(kPublishForm));
    if (const SourceNode* subject = own.Get("subject"); subject && own.Get("to"))
      reader->Warning(subject->mark, "ignored-key", own.What("subject") + " has no effect on a webhook; remove it");
  }
  DropCallKeys(reader, fields, "a step that publishes", step);
}

}  // namespace acl
