#include "shared/workflow/conditions.h"

#include "shared/base/utf8.h"
#include "shared/definition/expression.h"

namespace acl::workflow {

std::vector<std::string> ReferencesOf(const std::string& expression) {
  std::vector<std::string> paths;
  const auto parsed = ParseExpression(expression);
  if (!parsed) return paths;
  for (ExpressionReference& reference : parsed->References()) paths.push_back(std::move(reference.path));
  return paths;
}

Result<bool> IsTrue(const std::string& expression, const TemplateScope& scope) {
  const auto parsed = ParseExpression(expression);
  return parsed ? EvaluateCondition(*parsed, scope) : parsed.error();
}

Result<Json> ItemsOf(const Json& list, const TemplateScope& scope) {
  Result<Json> items = Json();
  if (list.is_string()) {
    const auto parsed = ParseExpression(list.get_ref<const std::string&>());
    items = parsed ? Evaluate(*parsed, scope) : Result<Json>(parsed.error());
  } else {
    auto expanded = ExpandTemplates(list, scope);
    items = expanded ? Result<Json>(std::move(expanded->value)) : Result<Json>(expanded.error());
  }
  if (!items) return items;
  if (!items->is_array()) return Error{Code::kInvalid, "it must be a list, and is " + StorableText(DumpJson(*items).substr(0, 200))};
  return items;
}

}  // namespace acl::workflow
