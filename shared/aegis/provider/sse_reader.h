#pragma once
// Server-sent events (WHATWG HTML, 9.2), read from bytes that may be cut anywhere: within a line end, within a character.

#include <string>
#include <string_view>
#include <vector>

namespace acl::aegis {

struct SseEvent {
  std::string event;  // empty: none was named
  std::string data;   // lines joined by \n

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

class SseReader {
 public:
  explicit SseReader(std::size_t most_bytes) : most_(most_bytes) {}

  // Appends the events that are whole now. False: a line, or the data of one event, is larger than most_bytes; nothing more is read.
  bool Feed(std::string_view bytes, std::vector<SseEvent>& events);
  // At the end of the bytes: the last event, if its lines are whole and only the blank line behind it is missing.
  void Finish(std::vector<SseEvent>& events);

 private:
  void TakeLine(std::vector<SseEvent>& events);
  void Dispatch(std::vector<SseEvent>& events);

  const std::size_t most_;
  std::string line_;         // not ended yet
  std::string name_, data_;  // of the event so far
  bool has_data_ = false, after_cr_ = false, at_start_ = true, failed_ = false;
};

}  // namespace acl::aegis
