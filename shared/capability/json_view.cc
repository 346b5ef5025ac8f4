#include "shared/capability/standard.h"

namespace acl {

namespace {

Json FieldsToJson(const std::vector<FieldSpec>& fields, bool with_required) {
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

Json CapabilityToJson(const CapabilitySpec& spec) {
  Json out;
  out["id"] = spec.id;
  out["version"] = spec.version;
  out["summary"] = spec.summary;
  out["docs"] = spec.docs;
  out["effect"] = std::string(EffectName(spec.effect));
  out["risk"] = std::string(RiskName(spec.risk));
  out["needs_confirmation"] = spec.needs_confirmation;
  out["honours_key"] = spec.honours_key;
  out["false_success"] = spec.false_success == FalseSuccess::kResult ? "result" : "failure";
  out["undo"] = spec.undo == UndoKind::kFiles ? "files" : "none";
  out["timeout_seconds"] = spec.default_timeout.count();
  out["parameters"] = FieldsToJson(spec.parameters, true);
  out["results"] = FieldsToJson(spec.results, false);
  return out;
}

}  // namespace acl
