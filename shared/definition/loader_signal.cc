// The `wait_for_signal` of a SIGNAL step: a name, or a map with `name`, `timeout` and `default`.
#include "shared/definition/draft.h"
#include "shared/definition/template.h"

namespace acl {

namespace {

constexpr std::size_t kLongestSignal = 200;
constexpr std::string_view kSignalForms = "must be the signal's name, or a map with 'name' and perhaps 'timeout' and 'default'";

void ReadSignalName(Reader* reader, const SourceNode& node, const std::string& what, SignalDefinition* signal) {
  auto name = reader->String(node, what);
  if (!name) return;
  if (auto wrong = HasTemplate(Json(*name)) ? std::nullopt : BadName(*name, kLongestSignal))
    return reader->Error(node.mark, "bad-name", "the name of a signal " + *wrong);
  signal->name = std::move(*name);
}

void ReadSignalMap(Reader* reader, const SourceNode& node, const std::string& what, SignalDefinition* signal) {
  Fields fields(reader, node, what, {"name", "timeout", "default"});
  if (const SourceNode* name = fields.Get("name"))
    ReadSignalName(reader, *name, fields.What("name"), signal);
  else
    reader->Error(node.mark, "bad-signal", what + " " + std::string(kSignalForms));
  if (const SourceNode* timeout = fields.Get("timeout")) {
    if (timeout->is_string() && HasTemplate(timeout->scalar))
      signal->timeout = timeout->scalar;
    else if (reader->Duration(*timeout, fields.What("timeout")))
      signal->timeout = timeout->scalar;
  }
  if (const SourceNode* otherwise = fields.Get("default")) {
    signal->default_payload = ToJson(*otherwise);
    if (!fields.Get("timeout"))
      reader->Warning(otherwise->mark, "ignored-key", fields.What("default") + " is never used: without 'timeout' it waits for ever");
  }
}

}  // namespace

void DropCallKeys(Reader* reader, const Fields& fields, std::string_view kind, StepDefinition* step) {
  for (std::string_view key : {"capability", "capability_name", "inputs", "compensation", "max_retries", "retry", "timeout_seconds",
                               "step_timeout_seconds", "on_unknown_outcome", "queue", "priority"}) {
    if (const SourceNode* ignored = fields.Get(key))
      reader->Warning(ignored->mark, "ignored-key", fields.What(key) + " has no effect on " + std::string(kind) + "; remove it");
  }
  step->capability.clear();
  step->inputs = Json::object();
  step->compensation.reset();
  step->queue.reset();
  step->priority.reset();
}

void ReadSignal(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step) {
  const SourceNode* node = fields.Get("wait_for_signal");
  step->signal.emplace();
  const std::string what = fields.What("wait_for_signal");
  if (!node)
    reader->Error(fields.map().mark, "missing-signal",
                  owner + " is SIGNAL and has no 'wait_for_signal', which " + std::string(kSignalForms));
  else if (node->is_map())
    ReadSignalMap(reader, *node, what, &*step->signal);
  else
    ReadSignalName(reader, *node, what, &*step->signal);
  DropCallKeys(reader, fields, "a step that waits for a signal", step);
}

}  // namespace acl
