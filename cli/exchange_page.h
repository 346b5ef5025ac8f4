#pragma once
// One exchange as a page that needs nothing else: bundle, prompt, response, validation, provenance, exclusions, drift (document 004, 12.4).

#include <string>

#include "shared/base/json.h"

namespace acl::cli {

// `exchange`: GET /v1/ask/exchanges/{id}. All of it is text from outside: nothing of it is markup, no script runs, nothing is fetched.
std::string ExchangePage(const Json& exchange);

}  // namespace acl::cli
