#pragma once
// The expressions of a workflow (shared/definition/expression.h) asked of a run's state.

#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/definition/template.h"

namespace acl::workflow {

// The names and paths that it mentions; none if it cannot be read.
std::vector<std::string> ReferencesOf(const std::string& expression);
// kInvalid: why it cannot be told.
Result<bool> IsTrue(const std::string& expression, const TemplateScope& scope);
// The list of a FOREACH: literal, one template, or an expression.
Result<Json> ItemsOf(const Json& list, const TemplateScope& scope);

}  // namespace acl::workflow
