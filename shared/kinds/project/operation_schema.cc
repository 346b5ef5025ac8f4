// Arguments against the table of operations: the check, and the same as JSON Schema.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "shared/base/nearest.h"
#include "shared/kinds/project/operations.h"

namespace acl::project {

namespace {

constexpr std::size_t kMostWrong = 20;

bool Fits(const Parameter& parameter, const Json& value) {
  switch (parameter.form) {
    case Form::kText: return value.is_string();
    case Form::kTexts: return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_string(); });
    case Form::kNumber: return value.is_number_integer();
    case Form::kFlag: return value.is_boolean();
    case Form::kObjects:
      return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_object(); });
  }
  return false;
}

std::string Wanted(const Parameter& parameter) {
  switch (parameter.form) {
    case Form::kText: return parameter.words.empty() ? "a text" : fmt::format("one of {}", fmt::join(parameter.words, ", "));
    case Form::kTexts: return parameter.words.empty() ? "a list of texts" : fmt::format("a list of {}", fmt::join(parameter.words, ", "));
    case Form::kNumber: return fmt::format("a whole number from {} to {}", parameter.least, parameter.greatest);
    case Form::kFlag: return "true or false";
    case Form::kObjects: return "a list of objects";
  }
  return "";
}

bool InRange(const Parameter& parameter, const Json& number) {
  if (number.is_number_unsigned() && number.get<std::uint64_t>() > std::uint64_t(INT64_MAX)) return false;
  const auto value = number.get<std::int64_t>();
  return value >= parameter.least && value <= parameter.greatest;
}

class Checker {
 public:
  explicit Checker(const std::string& operation) : operation_(operation) {}

  void Check(const Parameter& parameter, const Json& value) {
    const std::string at = "/" + parameter.name;
    if (!Fits(parameter, value) || (parameter.form == Form::kNumber && !InRange(parameter, value))) {
      return Add("wrong-type", fmt::format("'{}' is {}", parameter.name, Wanted(parameter)), at);
    }
    if (parameter.form == Form::kText) return CheckText(parameter, value, at);
    if (!value.is_array()) return;
    if (value.size() > parameter.most_items) {
      return Add("too-many", fmt::format("'{}' has {} entries, {} at most", parameter.name, value.size(), parameter.most_items), at);
    }
    if (parameter.form != Form::kTexts) return;
    for (std::size_t i = 0; i < value.size(); ++i) CheckText(parameter, value[i], fmt::format("{}/{}", at, i));
  }

  void Add(std::string code, std::string message, std::string pointer) {
    if (wrong.size() < kMostWrong) wrong.push_back({std::move(code), std::move(message), std::move(pointer)});
  }

  std::vector<WrongArgument> wrong;

 private:
  void CheckText(const Parameter& parameter, const Json& value, const std::string& at) {
    const auto& text = value.get_ref<const std::string&>();
    if (!parameter.words.empty() && std::find(parameter.words.begin(), parameter.words.end(), text) == parameter.words.end()) {
      return Add("wrong-word", fmt::format("'{}' is {}", parameter.name, Wanted(parameter)), at);
    }
    if (text.size() > parameter.most) {
      Add("too-long",
          fmt::format("'{}' is {} bytes long, {} at most: shorten it, or refer to a file", parameter.name, text.size(), parameter.most),
          at);
    }
  }

  const std::string& operation_;
};

}  // namespace

std::vector<WrongArgument> CheckArguments(const Operation& operation, const Json& arguments, const std::vector<Parameter>& more) {
  Checker checker(operation.name);
  if (!arguments.is_object()) return {{"wrong-type", "the arguments of " + operation.name + " are an object", ""}};
  std::vector<const Parameter*> known;
  for (const Parameter& one : operation.parameters) known.push_back(&one);
  for (const Parameter& one : more) known.push_back(&one);
  std::vector<std::string> names;
  for (const Parameter* one : known) names.push_back(one->name);
  for (const auto& [name, unused] : arguments.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    constexpr std::size_t kShown = 200;
    const std::string said = name.substr(0, kShown), near = Nearest(said, names);
    checker.Add("unknown-member",
                fmt::format("{} takes no '{}'{}", operation.name, said,
                            !near.empty()   ? "; did you mean '" + near + "'?"
                            : names.empty() ? ""
                                            : fmt::format("; it takes {}", fmt::join(names, ", "))),
                "/" + said);
  }
  for (const Parameter* one : known) {
    const auto value = arguments.find(one->name);
    if (value != arguments.end()) {
      checker.Check(*one, *value);
    } else if (one->required) {
      checker.Add("missing-member", fmt::format("'{}' is missing: {}", one->name, one->help), "/" + one->name);
    }
  }
  return std::move(checker.wrong);
}

Result<Json> ValueOfText(const Parameter& parameter, const std::string& text) {
  if (parameter.form == Form::kText) return Json(text);
  if (parameter.form == Form::kFlag && (text == "true" || text == "false")) return Json(text == "true");
  if (parameter.form == Form::kNumber) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return Json(value);
  }
  return Error{Code::kInvalid, fmt::format("{} is {}", parameter.name, Wanted(parameter))};
}

Json SchemaOf(const Parameter& parameter) {
  Json text = {{"type", "string"}};
  if (parameter.words.empty() && parameter.most > 0) text["maxLength"] = parameter.most;
  if (!parameter.words.empty()) text["enum"] = parameter.words;
  Json schema;
  switch (parameter.form) {
    case Form::kText: schema = std::move(text); break;
    case Form::kTexts: schema = {{"type", "array"}, {"maxItems", parameter.most_items}, {"items", std::move(text)}}; break;
    case Form::kNumber: schema = {{"type", "integer"}, {"minimum", parameter.least}, {"maximum", parameter.greatest}}; break;
    case Form::kFlag: schema = {{"type", "boolean"}}; break;
    case Form::kObjects:
      schema = {{"type", "array"},
                {"maxItems", parameter.most_items},
                {"items", {{"type", "object"}, {"required", {"kind"}}, {"properties", {{"kind", {{"type", "string"}}}}}}}};
      break;
  }
  schema["description"] = parameter.help;
  return schema;
}

Json SchemaOf(const Operation& operation, const std::vector<Parameter>& more) {
  Json properties = Json::object(), required = Json::array();
  for (const auto* list : {&operation.parameters, &more}) {
    for (const Parameter& one : *list) {
      properties[one.name] = SchemaOf(one);
      if (one.required) required.push_back(one.name);
    }
  }
  Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace acl::project
