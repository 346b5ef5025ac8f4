#pragma once
// Document 004, section 11, over what stands on record of one exchange: one line for each thing that must hold, recomputed here from what
// the API gives. Pure: nothing of the coordinator's own code says that it is right.

#include <optional>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::cli {

struct CheckedExchange {
  Json exchange;                       // GET /v1/ask/exchanges/{id}
  std::optional<Json> session;         // its row of GET /v1/ask/sessions; nullopt: not looked at
  std::optional<Json> rebuilt;         // GET .../rebuild; nullopt: not looked at
  std::optional<std::string> shown;    // what was shown when it was asked; nullopt: somebody else asked
  std::optional<std::string> planted;  // a secret that the question held; nullopt: none was planted
};

struct CheckLine {
  std::string section, name;  // "11.1", "bundle_hash"
  bool ok = true;
  std::string why;  // what is wrong, with what was found; empty if it is ok
};

std::vector<CheckLine> CheckExchange(const CheckedExchange& checked);

}  // namespace acl::cli
