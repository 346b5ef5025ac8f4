#include <fmt/format.h>

#include "shared/base/foreign_json.h"
#include "shared/capability/handlers.h"
#include "shared/capability/python_json.h"

namespace acl {

namespace {

// The parameter's JSON text parsed; the error names the parameter.
Result<Json> ParseParameter(const Json& parameters, const char* name) {
  auto value = ParseForeignJson(parameters.at(name).get_ref<const std::string&>());
  if (!value) return Error{Code::kInvalid, fmt::format("{} is not JSON: {}", name, value.message())};
  return value;
}

// With the value itself as `json`, unless it is nested too deep for outputs that hold it.
StepResult DoneWith(Json outputs, const Json& value) {
  outputs["json"] = value;
  if (!CheckStorable(outputs)) outputs.erase("json");
  return Done(std::move(outputs));
}

// The text of a value, or why there is none: it would be larger than outputs may be.
StepResult Written(const char* name, const Json& value, PythonJsonStyle style) {
  style.most = limits::kStepOutputBytes;
  std::string text = PythonJson(value, style);
  if (text.size() > style.most) return TooMuchOutput();
  return Done({{name, std::move(text)}, {"success", true}});
}

StepResult Parse(const Json& parameters, CallContext& context) {
  auto value = ParseParameter(parameters, "json_string");
  if (!value) return Failed(value.error());
  if (auto late = Late(context, "reading")) return *late;
  StepResult written = Written("data", *value, {});
  return written.outcome == StepResult::Outcome::kSucceeded ? DoneWith(std::move(written.outputs), *value) : written;
}

StepResult Stringify(const Json& parameters, CallContext& context) {
  // The table says a JSON string; a template that is one whole reference hands over the value itself, which serves as well.
  const Json& data = parameters.at("data");
  Result<Json> value = data.is_string() ? ParseParameter(parameters, "data") : Result<Json>(data);
  if (!value) return Failed(value.error());
  PythonJsonStyle style;
  style.ascii = false;
  style.indent = FlagOf(parameters, "pretty") ? 2 : 0;
  if (auto late = Late(context, "reading")) return *late;
  return Written("json_string", *value, style);
}

bool ParseIndex(std::string_view text, std::int64_t& index) {
  bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 9) return false;
  index = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    index = index * 10 + (c - '0');
  }
  if (negative) index = -index;
  return true;
}

StepResult Get(const Json& parameters, CallContext&) {
  auto root = ParseParameter(parameters, "json_string");
  if (!root) return Failed(root.error());
  std::string path = StringOf(parameters, "path");
  const Json* at = &*root;
  std::string walked;
  for (std::size_t from = 0; from <= path.size();) {
    auto dot = std::min(path.find('.', from), path.size());
    std::string part = path.substr(from, dot - from);
    from = dot + 1;
    std::string place = walked.empty() ? "the top" : "'" + walked + "'";
    if (at->is_object()) {
      auto it = at->find(part);
      if (it == at->end()) return Failed(fmt::format("Path not found: '{}' has no key '{}' at {}", path, part, place));
      at = &*it;
    } else if (at->is_array()) {
      std::int64_t index = 0;
      auto size = std::int64_t(at->size());
      if (!ParseIndex(part, index))
        return Failed(fmt::format("Path not found: '{}': {} is a list, '{}' is not a number", path, place, part));
      if (index < 0) index += size;
      if (index < 0 || index >= size) return Failed(fmt::format("Path not found: '{}': the list at {} has {} items", path, place, size));
      at = &(*at)[std::size_t(index)];
    } else {
      return Failed(fmt::format("Path not found: '{}': {} is neither map nor list", path, place));
    }
    walked += (walked.empty() ? "" : ".") + part;
  }
  return DoneWith({{"value", PythonText(*at)}, {"success", true}}, *at);
}

FieldDefinition JsonText(std::string name) {
  return {.name = std::move(name), .type = "string", .description = "JSON text", .required = true};
}

}  // namespace

void AddJson(CapabilityRegistry& registry) {
  CapabilityDefinition parse;
  parse.id = "data.json.parse";
  parse.summary = "Check JSON text and write it in one form.";
  parse.docs =
      "`data` is JSON text again: one line, `, ` and `: ` between, non-ASCII escaped, key order kept. `json` is the value itself: "
      "`{{parsed.json.city}}`. Of a key that stands twice the last value counts; an integer beyond 64 bits becomes a string with its "
      "digits.";
  parse.parameters = {JsonText("json_string"), Flag("strict", true, "has no effect")};
  parse.results = {Out("data", "string", "JSON text"), OutIf("json", "any", "the value"), OutSuccess()};
  parse.quick = true;
  registry.Add(std::move(parse), Parse);

  CapabilityDefinition stringify;
  stringify.id = "data.json.stringify";
  stringify.summary = "Write JSON for people or programs.";
  stringify.docs = "Key order is kept, non-ASCII stays as it is. pretty: indented by two spaces.";
  stringify.parameters = {
      {.name = "data", .type = "any", .description = "JSON text, or a value by a template that is one whole reference", .required = true},
      Flag("pretty", false, "indented by 2")};
  stringify.results = {Out("json_string", "string", "JSON text"), OutSuccess()};
  stringify.quick = true;
  registry.Add(std::move(stringify), Stringify);

  CapabilityDefinition get;
  get.id = "data.json.get";
  get.summary = "Take one value out of JSON text.";
  get.docs =
      "Dots walk maps; lists take a number, negative from the end: `items.-1.name`. `value` is always text: JSON for maps and lists, "
      "else True, False, None or the number or string itself. `json` is the value itself, with its type. JSON is read as data.json.parse "
      "does.";
  get.parameters = {JsonText("json_string"),
                    {.name = "path", .type = "string", .description = "keys and list indexes with dots between", .required = true}};
  get.results = {Out("value", "string", "the value as text"), OutIf("json", "any", "the value itself"), OutSuccess()};
  get.quick = true;
  registry.Add(std::move(get), Get);
}

}  // namespace acl
