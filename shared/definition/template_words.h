#pragma once
// `command` of sys.exec.run with references: its author's text is split into words first, then each word is expanded. So a value stays one
// word whatever it holds: spaces, quotes and `;` in an input make no arguments.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl {

// The words of a command line as templates. kInvalid as command_line.h says it.
Result<std::vector<std::string>> SplitTemplate(std::string_view command);

// Inputs of sys.exec.run whose `command` is a line with references and stands alone: the same with the first word in `command` and the
// others in `args`, to be expanded. nullopt: there is nothing to split.
Result<std::optional<Json>> WithWords(const Json& inputs);

}  // namespace acl
