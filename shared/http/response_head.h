#pragma once
// An answer's head as bytes. Internal; pure.

#include <string>

#include "shared/http/message.h"

namespace acl::internal {

enum class BodyForm { kLength, kChunked, kUntilClose, kNone };

// Control characters in header values become spaces: a value can never start a header of its own.
std::string FormatResponseHead(const HttpResponse& response, BodyForm form, bool keep_alive, const std::string& request_id);
// One chunk of a chunked body; an empty one would end it, so empty text gives nothing.
std::string FormatChunk(std::string_view bytes);

}  // namespace acl::internal
