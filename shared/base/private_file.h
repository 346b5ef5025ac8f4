#pragma once
// A small file that holds secrets, read only if nobody else may read or change it.

#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace acl {

// The file must be its reader's (mode 0600 or less) or root's (0640 or less), and no larger than 1 MiB. kInvalid: "SETTING FILE: why", with
// nothing of its content.
Result<std::string> ReadPrivateFile(std::string_view setting, const std::string& file);

}  // namespace acl
