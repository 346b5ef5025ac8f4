#pragma once
// A checker for the part of JSON Schema draft-07 that docs/reference/workflow.schema.json uses. A keyword it does not know is an error, so
// that the schema cannot outgrow it unnoticed.

#include <regex>

#include "shared/base/json.h"

namespace acl::test {

class SchemaCheck {
 public:
  explicit SchemaCheck(Json schema) : root_(std::move(schema)) {}

  // Empty if the value fits; else where and why.
  std::string Check(const Json& value) const { return Fits(root_, value, "$"); }

 private:
  static bool HasType(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "string") return value.is_string();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    if (type == "number") return value.is_number();
    if (type == "integer")
      return value.is_number_integer() || (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
    throw std::logic_error("unknown type in the schema: " + type);
  }

  const Json& Resolve(const std::string& ref) const {
    if (!ref.starts_with("#/")) throw std::logic_error("not a local reference: " + ref);
    return root_.at(Json::json_pointer(ref.substr(1)));
  }

  static std::size_t Length(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }

  std::string Fits(const Json& schema, const Json& value, const std::string& where) const {
    if (auto ref = schema.find("$ref"); ref != schema.end())
      return Fits(Resolve(ref->get<std::string>()), value, where);  // draft-07: siblings do not count
    for (const auto& [key, rule] : schema.items()) {
      std::string wrong = Keyword(schema, key, rule, value, where);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string Keyword(const Json& schema, const std::string& key, const Json& rule, const Json& value, const std::string& where) const {
    static const std::set<std::string> kNotes = {"$schema", "$id", "title", "description", "default", "definitions"};
    if (kNotes.contains(key)) return "";
    if (key == "type") {
      if (rule.is_string()) return HasType(value, rule) ? "" : where + ": not " + rule.get<std::string>();
      return std::any_of(rule.begin(), rule.end(), [&](const Json& one) { return HasType(value, one); }) ? ""
                                                                                                         : where + ": none of its types";
    }
    if (key == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end() ? "" : where + ": not in the enum";
    if (key == "anyOf") {
      std::string all;
      for (const Json& one : rule) {
        std::string wrong = Fits(one, value, where);
        if (wrong.empty()) return "";
        all += (all.empty() ? "" : " | ") + wrong;
      }
      return all;
    }
    if (key == "required") {
      if (value.is_object())
        for (const Json& name : rule)
          if (!value.contains(name.get<std::string>())) return where + ": no " + name.get<std::string>();
      return "";
    }
    if (key == "properties" || key == "additionalProperties") {
      if (!value.is_object()) return "";
      for (const auto& [name, item] : value.items()) {
        const bool listed = schema.contains("properties") && schema["properties"].contains(name);
        if (listed != (key == "properties")) continue;
        std::string wrong = Fits(listed ? rule.at(name) : rule, item, where + "." + name);
        if (!wrong.empty()) return wrong;
      }
      return "";
    }
    if (key == "items") {
      if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i)
          if (std::string wrong = Fits(rule, value[i], where + "[" + std::to_string(i) + "]"); !wrong.empty()) return wrong;
      return "";
    }
    if (key == "minItems") return !value.is_array() || value.size() >= rule.get<std::size_t>() ? "" : where + ": too few items";
    if (key == "minLength") return !value.is_string() || Length(value) >= rule.get<std::size_t>() ? "" : where + ": too short";
    if (key == "maxLength") return !value.is_string() || Length(value) <= rule.get<std::size_t>() ? "" : where + ": too long";
    if (key == "minimum") return !value.is_number() || value.get<double>() >= rule.get<double>() ? "" : where + ": too small";
    if (key == "maximum") return !value.is_number() || value.get<double>() <= rule.get<double>() ? "" : where + ": too large";
    if (key == "pattern")
      return !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>(), std::regex::ECMAScript))
                 ? ""
                 : where + ": does not match";
    throw std::logic_error("the checker does not know the keyword " + key);
  }

  Json root_;
};

}  // namespace acl::test
