#include "shared/aegis/provider/sse_reader.h"

#include <utility>

namespace acl::aegis {

bool SseReader::Feed(std::string_view bytes, std::vector<SseEvent>& events) {
  if (failed_) return false;
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > most_) {
      failed_ = true;
      return false;
    }
    if (end == std::string_view::npos) return true;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    TakeLine(events);
  }
  return true;
}

void SseReader::Finish(std::vector<SseEvent>& events) {
  if (!failed_ && line_.empty()) Dispatch(events);
}

void SseReader::TakeLine(std::vector<SseEvent>& events) {
  const std::string taken = std::exchange(line_, "");
  std::string_view line = taken;
  if (std::exchange(at_start_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) return Dispatch(events);
  const auto colon = line.find(':');
  if (colon == 0) return;  // a comment
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    name_ = value;
  } else if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
}

void SseReader::Dispatch(std::vector<SseEvent>& events) {
  std::string name = std::exchange(name_, ""), data = std::exchange(data_, "");
  if (std::exchange(has_data_, false)) events.push_back({std::move(name), std::move(data)});
}

}  // namespace acl::aegis
