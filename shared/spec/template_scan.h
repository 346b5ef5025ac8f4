#pragma once
// The text of a template cut into literal pieces and references. What does not match the grammar is literal:
//   {{ path }}      path = one or more of A-Z a-z 0-9 _ - .
//   {{ path | filter | filter(arg, ...) }}      args: 'text', "text", number, true, false, null

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"

namespace acl {

struct TemplateFilter {
  std::string name;
  std::vector<Json> arguments;
};

struct TemplatePiece {
  std::string_view text;  // as written, braces included
  bool is_reference = false;
  std::string path;
  std::vector<TemplateFilter> filters;
};

std::vector<TemplatePiece> ScanTemplate(std::string_view text);

// Reference text without path segments that cannot exist ("a..b"): first token.
std::string_view FirstToken(std::string_view path);

// ---- template_filters.cc

bool IsFilter(std::string_view name);
// `value` nullopt: the reference is missing (or null). Returns nullopt if it still is after the filters.
Result<std::optional<Json>> ApplyFilters(const std::vector<TemplateFilter>& filters, std::optional<Json> value);
// A value spliced into text: strings as they are; maps and lists as JSON with indent 2, key order kept; numbers as Python prints them;
// true and false (compat.md 1.5).
std::string SpliceText(const Json& value);

}  // namespace acl
