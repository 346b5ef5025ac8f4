#pragma once
// The cursor of GET /v1/workflows: opaque to the client, bound to the filters it was made for.

#include <optional>
#include <string>
#include <string_view>

#include "shared/base/ids.h"

namespace acl::coordinator {

std::string MakeCursor(const SubjectId& last, std::string_view filters);
// Nothing if it was not made by MakeCursor for these filters.
std::optional<SubjectId> ReadCursor(std::string_view cursor, std::string_view filters);

}  // namespace acl::coordinator
