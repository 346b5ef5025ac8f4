#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "shared/base/json_object.h"
#include "shared/capability/capability.h"
#include "shared/capability/spelling.h"

namespace acl {

namespace {

// A value that the template engine will still change: a string with "{{" at any depth.
bool HoldsTemplate(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().find("{{") != std::string::npos;
  if (!value.is_structured()) return false;
  for (const auto& item : value) {
    if (HoldsTemplate(item)) return true;
  }
  return false;
}

bool IsWhole(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  double number = value.get<double>();
  return std::trunc(number) == number && std::abs(number) <= 9007199254740992.0;
}

bool HasType(const Json& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return IsWhole(value);
  if (type == "float") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return true;  // any
}

std::string Described(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return value.get<bool>() ? "the boolean true" : "the boolean false";
  if (value.is_number_integer()) return fmt::format("the integer {}", value.dump());
  if (value.is_number_float()) return fmt::format("the number {}", value.dump());
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.size() <= 40 ? fmt::format("the string \"{}\"", text) : fmt::format("a string of {} bytes", text.size());
  }
  return value.is_array() ? "a list" : "a map";
}

std::string Wanted(std::string_view type) {
  if (type == "array") return "a list";
  if (type == "object") return "a map";
  if (type == "integer") return "a whole number";
  if (type == "float") return "a number";
  return fmt::format("a {}", type);
}

struct Given {
  const Json* value = nullptr;
  std::string name;      // as written
  std::string conflict;  // a second name with another value
};

Given FindGiven(const FieldDefinition& field, const Json& parameters) {
  Given given;
  auto look = [&](const std::string& name) {
    auto it = parameters.find(name);
    if (it == parameters.end() || it->is_null()) return;
    if (!given.value) {
      given.value = &*it;
      given.name = name;
    } else if (*given.value != *it) {
      given.conflict = name;
    }
  };
  look(field.name);
  for (const auto& alias : field.aliases) look(alias);
  return given;
}

constexpr std::size_t kShortName = 6;  // two slips make another word of it

}  // namespace

bool HasParameter(const CapabilityDefinition& definition, std::string_view name) {
  return std::any_of(definition.parameters.begin(), definition.parameters.end(), [&](const FieldDefinition& field) {
    return field.name == name || std::find(field.aliases.begin(), field.aliases.end(), name) != field.aliases.end();
  });
}

std::vector<std::string> CheckParameters(const CapabilityDefinition& definition, const Json& parameters, bool literal_only) {
  std::vector<std::string> wrong;
  if (!parameters.is_object()) return {fmt::format("{}: inputs must be a map, not {}", definition.id, Described(parameters))};
  for (const auto& field : definition.parameters) {
    Given given = FindGiven(field, parameters);
    if (!given.value) {
      if (field.required) {
        wrong.push_back(fmt::format("{}: missing parameter '{}' ({}): {}", definition.id, field.name, field.type, field.description));
      }
      continue;
    }
    if (!given.conflict.empty()) {
      wrong.push_back(fmt::format("{}: '{}' and '{}' are names of one parameter and have different values; keep one", definition.id,
                                  given.name, given.conflict));
      continue;
    }
    if (literal_only && HoldsTemplate(*given.value)) continue;
    if (!HasType(*given.value, field.type)) {
      wrong.push_back(
          fmt::format("{}: parameter '{}' must be {}, not {}", definition.id, given.name, Wanted(field.type), Described(*given.value)));
      continue;
    }
    std::string bad = field.check ? field.check(*given.value) : "";
    if (bad.empty() && literal_only && field.check_literal) bad = field.check_literal(*given.value);
    if (!bad.empty()) wrong.push_back(fmt::format("{}: parameter '{}' {}", definition.id, given.name, bad));
    if (!field.allowed.empty() && given.value->is_string()) {
      const auto& text = given.value->get_ref<const std::string&>();
      if (std::find(field.allowed.begin(), field.allowed.end(), text) == field.allowed.end()) {
        wrong.push_back(fmt::format("{}: parameter '{}' must be one of {}, not \"{}\"", definition.id, given.name,
                                    fmt::join(field.allowed, ", "), text.substr(0, 100)));
      }
    }
  }
  return wrong;
}

std::vector<UnknownParameter> UnknownParameters(const CapabilityDefinition& definition, const Json& parameters) {
  std::vector<UnknownParameter> unknown;
  if (!parameters.is_object()) return unknown;
  std::vector<std::string_view> known;
  for (const auto& field : definition.parameters) {
    known.push_back(field.name);
    for (const auto& alias : field.aliases) known.push_back(alias);
  }
  for (const auto& [name, value] : parameters.items()) {
    if (HasParameter(definition, name)) continue;
    const std::string said = InSnakeCase(name);
    const std::string near = NearestSpelling(said, known);
    const bool slip = !near.empty() && EditDistance(said, near) <= (said.size() < kShortName ? 1 : 2);
    if (slip) {
      unknown.push_back({fmt::format("{}: unknown parameter '{}'; did you mean '{}'?", definition.id, name, near), true});
    } else {
      unknown.push_back({fmt::format("{}: unknown parameter '{}' is ignored{}", definition.id, name,
                                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near))});
    }
  }
  return unknown;
}

std::vector<std::string> CheckResults(const CapabilityDefinition& definition, const Json& outputs) {
  std::vector<std::string> wrong;
  for (const auto& field : definition.results) {
    auto it = outputs.find(field.name);
    if (it == outputs.end()) {
      if (field.required) wrong.push_back(fmt::format("output '{}' ({}) is missing", field.name, field.type));
    } else if (!HasType(*it, field.type)) {
      wrong.push_back(fmt::format("output '{}' is {}, not {}", field.name, Described(*it), Wanted(field.type)));
    }
  }
  return wrong;
}

Json WithDefaults(const CapabilityDefinition& definition, const Json& parameters) {
  if (!parameters.is_object()) return Json::object();
  Json out = ObjectFor(definition.parameters.size() + parameters.size());
  for (const auto& field : definition.parameters) {
    Given given = FindGiven(field, parameters);
    if (given.value) {
      // A whole number written as 6.0 is the integer 6 from here on.
      bool whole = field.type == "integer" && given.value->is_number_float() && IsWhole(*given.value);
      AddMember(out, field.name, whole ? Json(std::int64_t(given.value->get<double>())) : *given.value);
    } else if (field.default_value) {
      AddMember(out, field.name, *field.default_value);
    }
  }
  for (const auto& [name, value] : parameters.items()) {
    if (!HasParameter(definition, name)) AddMember(out, name, value);
  }
  return out;
}

}  // namespace acl
