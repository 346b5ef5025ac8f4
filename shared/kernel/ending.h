#pragma once
// How a subject ended, for metrics: one word for each way, whoever ended it, a worker or a coordinator.

#include <string_view>

#include "shared/kernel/types.h"

namespace acl {

// Of a change that ends it: "completed", "rolled_back", "cancelled" (its status is FAILED too) or "failed".
inline std::string_view EndingOf(const ListingChange& listing) {
  if (listing.status == "COMPLETED") return "completed";
  if (listing.status == "ROLLED_BACK") return "rolled_back";
  return listing.error_message && listing.error_message->starts_with("cancelled") ? "cancelled" : "failed";
}

}  // namespace acl
