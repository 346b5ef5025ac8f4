// The `wait` of a WAIT step: `wait: 90s`, `wait: {for: 90s}` or `wait: {until: 2027-01-01T08:00:00+01:00}`; either may hold templates.
#include "shared/base/clock.h"
#include "shared/definition/draft.h"
#include "shared/definition/template.h"

namespace acl {

namespace {

constexpr std::string_view kForms =
    "must be a length of time (wait: 90s), or a map with one of 'for' (a length of time) and 'until' (a time like "
    "2027-01-01T08:00:00+01:00)";

bool IsTime(const SourceNode& node) { return node.is_string() && ParseWallTime(node.scalar.get_ref<const std::string&>()); }

// A scalar that is good as it stands, or will be known when the step's turn comes.
std::optional<Json> ReadTime(Reader* reader, const SourceNode& node, const std::string& what, bool until) {
  if (node.is_string() && HasTemplate(node.scalar)) return node.scalar;
  if (!until) return reader->Duration(node, what) ? std::optional<Json>(node.scalar) : std::nullopt;
  if (IsTime(node)) return node.scalar;
  reader->Error(node.mark, "bad-time", what + " must be a time with its offset, like \"2027-01-01T08:00:00+01:00\" or \"...Z\"");
  return std::nullopt;
}

std::optional<WaitDefinition> ReadForm(Reader* reader, const SourceNode& node, const std::string& what) {
  if (!node.is_map()) {
    auto time = ReadTime(reader, node, what, false);
    return time ? std::optional<WaitDefinition>({false, std::move(*time)}) : std::nullopt;
  }
  Fields fields(reader, node, what, {"for", "until"});
  const SourceNode* length = fields.Get("for");
  const SourceNode* until = fields.Get("until");
  if ((length != nullptr) == (until != nullptr)) {
    reader->Error(node.mark, "bad-wait", what + " " + std::string(kForms));
    return std::nullopt;
  }
  auto time = ReadTime(reader, length ? *length : *until, fields.What(length ? "for" : "until"), until != nullptr);
  return time ? std::optional<WaitDefinition>({until != nullptr, std::move(*time)}) : std::nullopt;
}

}  // namespace

void ReadWait(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step) {
  const SourceNode* node = fields.Get("wait");
  if (!node) {
    reader->Error(fields.map().mark, "missing-wait", owner + " is WAIT and has no 'wait', which " + std::string(kForms));
  } else if (auto wait = ReadForm(reader, *node, fields.What("wait"))) {
    step->wait = std::move(*wait);
  }
  DropCallKeys(reader, fields, "a step that only waits", step);
}

}  // namespace acl
