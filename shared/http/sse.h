#pragma once
// Server-sent events: the text form (WHATWG HTML, 9.2).

#include <string>
#include <string_view>

#include "shared/http/message.h"

namespace acl {

// "id: 7\nevent: step.completed\ndata: ...\n\n"; line ends in `data` become further data lines.
std::string FormatSseEvent(std::string_view id, std::string_view event, std::string_view data);
inline constexpr std::string_view kSseKeepAlive = ": keep-alive\n\n";

// The head of a stream: content type, no caching, no buffering by proxies.
HttpResponse SseResponse(std::function<void(std::shared_ptr<HttpStream>)> on_stream);

}  // namespace acl
