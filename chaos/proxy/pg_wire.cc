#include "chaos/proxy/pg_wire.h"

#include <cctype>
#include <cstdint>

namespace acl::chaos {
namespace {

std::uint32_t Int32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

constexpr std::uint32_t kSslRequest = 80877103, kGssRequest = 80877104;

bool IsCommitText(std::string_view text) {
  std::string word;
  for (const char c : text.substr(0, 6)) word += char(std::toupper(static_cast<unsigned char>(c)));
  return word == "COMMIT";
}

// Bind: portal, then statement, both ended by NUL.
bool BindsCommit(std::string_view payload) {
  const auto portal = payload.find('\0');
  if (portal == std::string_view::npos) return false;
  const auto name = payload.substr(portal + 1, payload.find('\0', portal + 1) - portal - 1);
  return name.starts_with("commit.") && name != "commit.read_back";
}

}  // namespace

void PgFrontend::Feed(std::string_view bytes) { buffer_ += bytes; }

bool PgFrontend::Next(Unit* unit) {
  for (;;) {
    const std::size_t head = started_ ? 5 : 4;
    if (buffer_.size() < head) return false;
    const std::size_t length = Int32(std::string_view(buffer_).substr(started_ ? 1 : 0)) + (started_ ? 1 : 0);
    if (buffer_.size() < length || length < head) return false;
    std::string message = buffer_.substr(0, length);
    buffer_.erase(0, length);
    if (!started_) {
      const std::uint32_t code = length >= 8 ? Int32(std::string_view(message).substr(4)) : 0;
      const bool asks = length == 8 && (code == kSslRequest || code == kGssRequest);
      started_ = !asks;
      *unit = {std::move(message), false, asks};
      return true;
    }
    const char type = message[0];
    const std::string_view payload = std::string_view(message).substr(5);
    if (!request_.empty()) {
      request_ += message;
      if (type != 'S') continue;
      *unit = {std::move(request_), true, false};
      request_.clear();
      return true;
    }
    if (type == 'B' && BindsCommit(payload)) {
      request_ = std::move(message);
      continue;
    }
    const bool commit = type == 'Q' && IsCommitText(payload);
    *unit = {std::move(message), commit, false};
    return true;
  }
}

int PgBackend::Feed(std::string_view bytes) {
  buffer_ += bytes;
  int answered = 0;
  for (;;) {
    if (one_byte_ && !buffer_.empty()) {
      one_byte_ = false;
      buffer_.erase(0, 1);
    }
    if (buffer_.size() < 5) return answered;
    const std::size_t length = Int32(std::string_view(buffer_).substr(1)) + 1;
    if (buffer_.size() < length) return answered;
    if (buffer_[0] == 'E') error_ = true;
    if (buffer_[0] == 'Z') {
      ++answered;
      failed_ = error_;
      error_ = false;
    }
    buffer_.erase(0, length);
  }
}

}  // namespace acl::chaos
