#pragma once
// {{ path.to.value }} (docs/reference/other-runtimes.md#state-and-templates): dots walk maps only; a string that is exactly one reference
// takes the value with its type; with text around it the value is spliced; a missing reference stays literal. Filters are our addition: {{
// a.b | default('x') | json }}. Pure and bounded; values are never scanned again.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"

namespace acl {

// Looks up the first token of a path; nullptr if there is none.
using TemplateScope = std::function<const Json*(std::string_view name)>;

struct TemplateLimits {
  std::size_t max_output_bytes = limits::kTemplateBytes;
  std::size_t max_work_bytes = limits::kTemplateWorkBytes;  // read and written on the way: a deciding thread gives up there
};

inline constexpr std::size_t kMissingNames = 100;

struct Expanded {
  Json value;
  std::vector<std::string> missing;  // references left literal: the first kMissingNames of them, each once
};

// Applied to string values at any depth, never to map keys. kInvalid: bad filter arguments, output or what lies between too
// large (nothing that large is made).
Result<Expanded> ExpandTemplates(const Json& value, const TemplateScope& scope, const TemplateLimits& limits = {});

// The references (full dotted paths) a value mentions, for checks at load.
struct TemplateReference {
  std::string path;
  bool has_default = false;  // wherever it is mentioned, a `default` stands by
};
std::vector<TemplateReference> References(const Json& value);
bool HasTemplate(const Json& value);

}  // namespace acl
