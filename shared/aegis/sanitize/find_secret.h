#pragma once
// Does a text look as if it held a password, a key or a token? For doors that refuse rather than cut (external memory): all rules of
// rules.h, those that are only likely too, what a value is called (shared/base/redact.h), and how random it looks.

#include <optional>
#include <string>
#include <string_view>

namespace acl::aegis {

// What it looks like ("a GitHub token"), without any part of it. The text has its spelling variants folded
// (shared/memory/plain_text.h: CleanText).
std::optional<std::string> FindSecret(std::string_view clean);

}  // namespace acl::aegis
