#include "shared/base/result.h"

namespace acl {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kUnavailable: return "unavailable";
    case Code::kExhausted: return "exhausted";
    case Code::kTimeout: return "timeout";
    case Code::kCancelled: return "cancelled";
    case Code::kConflict: return "conflict";
    case Code::kInvalid: return "invalid";
    case Code::kNotFound: return "not_found";
    case Code::kDenied: return "denied";
    case Code::kLeaseLost: return "lease_lost";
    case Code::kOutcomeUnknown: return "outcome_unknown";
    case Code::kCorrupt: return "corrupt";
    case Code::kInternal: return "internal";
  }
  return "unknown";
}

}  // namespace acl
