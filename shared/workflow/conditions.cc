#include "shared/workflow/conditions.h"

namespace acl::workflow {

std::vector<std::string> ReferencesOf(const std::string& expression) {
  std::vector<std::string> paths;
  for (const TemplateReference& reference : References(Json("{{" + expression + "}}"))) paths.push_back(reference.path);
  return paths;
}

Result<bool> IsTrue(const std::string& expression, const TemplateScope& scope) {
  if (expression == "true" || expression == "false") return expression == "true";
  auto expanded = ExpandTemplates(Json(expression.find("{{") == std::string::npos ? "{{" + expression + "}}" : expression), scope);
  if (!expanded) return expanded.error();
  if (!expanded->value.is_boolean()) return Error{Code::kInvalid, "it is not true or false"};
  return expanded->value.get<bool>();
}

Result<Json> ItemsOf(const Json& list, const TemplateScope& scope) {
  const bool text = list.is_string();
  auto expanded = ExpandTemplates(text && list.get_ref<const std::string&>().find("{{") == std::string::npos ? Json("{{" + list.get<std::string>() + "}}") : list, scope);
  if (!expanded) return expanded.error();
  if (!expanded->value.is_array()) return Error{Code::kInvalid, "it is no list"};
  return std::move(expanded->value);
}

}  // namespace acl::workflow
