// Typed inputs of a run: their declaration in the file, and a run's values against it.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "shared/base/json_object.h"
#include "shared/base/limits.h"
#include "shared/definition/draft.h"
#include "shared/definition/suggest.h"

namespace acl {

namespace {

constexpr std::size_t kMostWrongBytes = 8 * limits::kKiB;
const std::vector<std::string_view> kInputTypes = {"string", "integer", "float", "boolean", "array", "object", "any"};

bool Fits(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "float") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return true;
}

// Only such names can be written in a template.
bool IsReferenceName(std::string_view name) {
  return !name.empty() && name.size() <= 100 &&
         std::all_of(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
}

std::string Article(const std::string& type) { return (type == "integer" || type == "array" || type == "object" ? "an " : "a ") + type; }

std::vector<std::string_view> InputNames(const WorkflowDefinition& definition) {
  std::vector<std::string_view> names;
  for (const InputDefinition& input : definition.inputs) names.push_back(input.name);
  return names;
}

const InputDefinition* FindInput(const WorkflowDefinition& definition, std::string_view name) {
  for (const InputDefinition& input : definition.inputs)
    if (input.name == name) return &input;
  return nullptr;
}

}  // namespace

void ReadInputs(Reader* reader, const SourceNode& map, WorkflowDefinition* definition) {
  if (!reader->IsMap(map, "'inputs'")) return;
  const MembersByKey initial_state(definition->initial_state);  // both may be many
  for (const SourceEntry& entry : map.entries) {
    InputDefinition input;
    input.name = entry.key;
    input.type = "any";
    const std::string owner = "input '" + entry.key.substr(0, 80) + "'";
    if (!IsReferenceName(entry.key)) {
      reader->Error(entry.key_mark, "bad-name",
                    "the name of an input has 1 to 100 letters, digits, _ and - only, so that a template can name it: '" +
                        entry.key.substr(0, 80) + "'");
      continue;
    }
    if (initial_state.Find(entry.key) != nullptr)
      reader->Warning(entry.key_mark, "input-hides-state", owner + " has the name of a key of 'initial_state' and hides it");
    if (entry.value.is_string()) {  // the short form: name: type
      auto word = reader->Word(entry.value, "the type of " + owner, kInputTypes);
      input.type = word.value_or("any");
      input.required = true;
    } else if (reader->IsMap(entry.value, owner)) {
      Fields fields(reader, entry.value, owner, {"type", "description", "required", "default"});
      if (const SourceNode* type = fields.Get("type"))
        if (auto word = reader->Word(*type, fields.What("type"), kInputTypes)) input.type = *word;
      fields.String("description", &input.description);
      input.required = !fields.Get("default");
      fields.Boolean("required", &input.required);
      if (const SourceNode* value = fields.Get("default")) {
        input.default_value = ToJson(*value);
        if (!Fits(*input.default_value, input.type))
          reader->Error(value->mark, "wrong-type",
                        fields.What("default") + " must be " + Article(input.type) + ", this is " + std::string(KindName(value->kind)));
      }
    }
    definition->inputs.push_back(std::move(input));
  }
}

Result<Json> CheckInputs(const WorkflowDefinition& definition, const Json& given) {
  if (!given.is_object()) return Error{Code::kInvalid, "inputs must be a map of names to values"};
  if (given.size() > limits::kRunInputs) {
    return Error{Code::kInvalid, fmt::format("there are {} inputs, {} are allowed; put many values into one, as a list or a map",
                                             given.size(), limits::kRunInputs)};
  }
  std::string wrong;
  auto add = [&](const std::string& line) {
    if (wrong.size() <= kMostWrongBytes) wrong += (wrong.empty() ? "" : "; ") + line;
  };
  if (Status storable = CheckStorable(given); !storable) add(storable.message());
  // Both may be many: neither is searched for each of the other.
  std::unordered_map<std::string_view, const Json*> values;
  for (const auto& [name, value] : given.get_ref<const Json::object_t&>()) values.emplace(name, &value);
  std::unordered_set<std::string_view> declared;
  Json out = ObjectFor(std::max(definition.inputs.size(), given.size()));
  for (const InputDefinition& input : definition.inputs) {
    if (!declared.insert(input.name).second) continue;
    if (const auto found = values.find(input.name); found != values.end()) {
      const Json& value = *found->second;
      if (!Fits(value, input.type)) add("input '" + input.name + "' must be " + Article(input.type) + ", this is " + value.type_name());
      AddMember(out, input.name, value);
    } else if (input.default_value) {
      AddMember(out, input.name, *input.default_value);
    } else if (input.required) {
      add("input '" + input.name + "' is missing (" + input.type + (input.description.empty() ? "" : ": " + input.description) + ")");
    }
  }
  // A file that declares no inputs takes any: they stand in the state like initial_state.
  for (const auto& [name, value] : given.items()) {
    if (declared.contains(name)) continue;
    if (!definition.inputs.empty())
      add("there is no input '" + name.substr(0, 80) + "'" +
          (wrong.size() < kMostWrongBytes / 4 ? DidYouMean(name, InputNames(definition)) : ""));
    else if (!IsReferenceName(name))
      add("the name of an input has 1 to 100 letters, digits, _ and - only: '" + name.substr(0, 80) + "'");
    else
      AddMember(out, name, value);
  }
  if (wrong.size() > kMostWrongBytes) wrong = wrong.substr(0, kMostWrongBytes) + " ... and more";
  if (!wrong.empty()) return Error{Code::kInvalid, wrong};
  return out;
}

Result<Json> ReadInput(const WorkflowDefinition& definition, const std::string& key, const std::string& text) {
  const InputDefinition* input = FindInput(definition, key);
  if (!input && !definition.inputs.empty())
    return Error{Code::kInvalid, "there is no input '" + key + "'" + DidYouMean(key, InputNames(definition))};
  const std::string type = input ? input->type : "any";
  if (type == "string") return Json(text);
  auto parsed = ParseJson(text);
  if (type == "any") return parsed ? *parsed : Json(text);
  if (!parsed || !Fits(*parsed, type)) {
    std::string how = type == "array" || type == "object" ? " as JSON, quoted for the shell" : "";
    return Error{Code::kInvalid, "input '" + key + "' must be " + Article(type) + how + ", not '" + text.substr(0, 80) + "'"};
  }
  return *parsed;
}

}  // namespace acl
