// What was demanded as JSON, or as a call of a tool.
#include <fmt/format.h>

#include <algorithm>

#include "shared/aegis/validate/checks.h"

namespace acl::aegis {
namespace {

bool IsOfType(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer")
    return value.is_number_integer() || (value.is_number_float() && value.get<double>() == double(std::int64_t(value.get<double>())));
  return type == "number" && value.is_number();
}

class SchemaCheck {
 public:
  explicit SchemaCheck(std::vector<Finding>& findings) : findings_(findings) {}

  void Check(const Json& schema, const Json& value, const std::string& place) {
    if (!schema.is_object()) return;
    if (const auto type = schema.find("type"); type != schema.end() && !AnyType(*type, value)) return Wrong("json_type", place);
    if (const auto known = schema.find("enum"); known != schema.end() && std::find(known->begin(), known->end(), value) == known->end())
      Wrong("json_enum", place);
    if (const auto only = schema.find("const"); only != schema.end() && *only != value) Wrong("json_enum", place);
    CheckBounds(schema, value, place);
    if (value.is_object()) CheckMembers(schema, value, place);
    const auto items = schema.find("items");
    if (value.is_array() && items != schema.end()) {
      for (std::size_t i = 0; i < value.size(); ++i) Check(*items, value[i], fmt::format("{}/{}", place, i));
    }
  }

 private:
  static bool AnyType(const Json& type, const Json& value) {
    if (type.is_string()) return IsOfType(value, type.get<std::string>());
    return !type.is_array() || std::any_of(type.begin(), type.end(),
                                           [&](const Json& one) { return one.is_string() && IsOfType(value, one.get<std::string>()); });
  }

  void CheckBounds(const Json& schema, const Json& value, const std::string& place) {
    const auto bound = [&](const char* name) {
      return schema.contains(name) && schema[name].is_number() ? std::optional(schema[name].get<double>()) : std::nullopt;
    };
    const auto between = [&](double number, const char* least, const char* most) {
      const auto low = bound(least), high = bound(most);
      if ((low && number < *low) || (high && number > *high)) Wrong("json_bound", place);
    };
    if (value.is_number()) between(value.get<double>(), "minimum", "maximum");
    if (value.is_string()) between(double(value.get_ref<const std::string&>().size()), "minLength", "maxLength");
    if (value.is_array()) between(double(value.size()), "minItems", "maxItems");
  }

  void CheckMembers(const Json& schema, const Json& value, const std::string& place) {
    if (const auto required = schema.find("required"); required != schema.end()) {
      for (const auto& name : *required) {
        if (name.is_string() && !value.contains(name.get<std::string>())) Wrong("json_missing", place + "/" + name.get<std::string>());
      }
    }
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, member] : value.items()) {
      if (properties.contains(name)) {
        Check(properties[name], member, place + "/" + name);
      } else if (schema.contains("additionalProperties") && schema["additionalProperties"] == false) {
        Wrong("json_unknown", place);
      }
    }
  }

  void Wrong(std::string_view rule, const std::string& place) { AddFinding(findings_, DriftClass::kSchema, rule, place, ""); }

  std::vector<Finding>& findings_;
};

}  // namespace

bool FitsSchema(const Json& schema, const Json& value) {
  std::vector<Finding> findings;
  SchemaCheck(findings).Check(schema, value, "json");
  return findings.empty();
}

void CheckSchema(const Answer& answer, std::vector<Finding>& findings) {
  const ValidationInput& input = answer.input;
  if (input.tool_call_demanded && input.tool_calls.empty()) AddFinding(findings, DriftClass::kSchema, "no_tool_call", "response@0", "");
  for (std::size_t i = 0; i < input.tool_calls.size(); ++i) {
    if (!input.tool_calls[i].arguments.is_object()) AddFinding(findings, DriftClass::kSchema, "arguments", fmt::format("call#{}", i), "");
  }
  if (!input.json_demanded && !input.schema) return;
  const auto parsed = ParseJson(input.response);
  if (!parsed) return AddFinding(findings, DriftClass::kSchema, "no_json", "response@0", "");
  if (input.schema) SchemaCheck(findings).Check(*input.schema, *parsed, "json");
}

}  // namespace acl::aegis
