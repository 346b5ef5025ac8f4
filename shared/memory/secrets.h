#pragma once
// Does a text look as if it held a password, a key or a token? By known forms, by what a value is called (shared/base/redact.h), and by how
// random it looks.

#include <optional>
#include <string>
#include <string_view>

namespace acl::memory {

// What it looks like ("a GitHub token"), without any part of it. `clean`: as CleanText gives it.
std::optional<std::string> FindSecret(std::string_view clean);

}  // namespace acl::memory
