#pragma once
// Secrets never reach a log, an error text or a settings print-out. Two rules: by the name of a key, and by the form of a text.

#include <string>
#include <string_view>

namespace acl {

inline constexpr std::string_view kRedacted = "***";

// True for names whose values are secrets: password, secret, api_key, authorization, cookie, private_key, credential, access_token ...
// in any case and with - or _; not for `token` and `fencing_token`, which are numbers of the lease.
bool IsSecretName(std::string_view name);

// The text with passwords masked: user:PASSWORD@ in URLs, password=... in connection strings and queries.
std::string RedactText(std::string_view text);

}  // namespace acl
