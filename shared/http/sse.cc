#include "shared/http/sse.h"

namespace acl {

std::string FormatSseEvent(std::string_view id, std::string_view event, std::string_view data) {
  std::string out = "id: " + std::string(id) + "\nevent: " + std::string(event) + "\n";
  for (;;) {
    const auto end = data.find_first_of("\r\n");
    out += "data: ";
    out += data.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) break;
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return out + "\n";
}

HttpResponse SseResponse(std::function<void(std::shared_ptr<HttpStream>)> on_stream) {
  HttpResponse response;
  response.headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  response.on_stream = std::move(on_stream);
  return response;
}

}  // namespace acl
