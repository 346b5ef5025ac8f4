#include "shared/capability/standard.h"

namespace acl {

namespace {

Json FieldsToJson(const std::vector<FieldDefinition>& fields, bool with_required) {
  Json out = Json::array();
  for (const auto& field : fields) {
    Json row{{"name", field.name}, {"type", field.type}, {"description", field.description}};
    if (with_required) row["required"] = field.required;
    if (field.default_value) row["default"] = *field.default_value;
    if (!field.aliases.empty()) row["aliases"] = field.aliases;
    if (!field.allowed.empty()) row["allowed"] = field.allowed;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

Json CapabilityToJson(const CapabilityDefinition& definition) {
  Json out;
  out["id"] = definition.id;
  out["version"] = definition.version;
  out["summary"] = definition.summary;
  out["docs"] = definition.docs;
  out["effect"] = std::string(EffectName(definition.effect));
  out["risk"] = std::string(RiskName(definition.risk));
  out["needs_confirmation"] = definition.needs_confirmation;
  out["honours_key"] = definition.honours_key;
  out["false_success"] = definition.false_success == FalseSuccess::kResult ? "result" : "failure";
  out["undo"] = definition.undo == UndoKind::kFiles ? "files" : "none";
  out["timeout_seconds"] = definition.default_timeout.count();
  out["parameters"] = FieldsToJson(definition.parameters, true);
  out["results"] = FieldsToJson(definition.results, false);
  return out;
}

}  // namespace acl
