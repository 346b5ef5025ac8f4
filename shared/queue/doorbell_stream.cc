#include "shared/queue/doorbell_stream.h"

#include <algorithm>
#include <boost/asio/write.hpp>

namespace acl::doorbell {

namespace asio = boost::asio;
using boost::system::error_code;

Stream::Stream(asio::ip::tcp::socket socket, std::function<void(const Message&)> on_message, std::function<void()> on_closed)
    : socket_(std::move(socket)), ping_(socket_.get_executor()), on_message_(std::move(on_message)), on_closed_(std::move(on_closed)) {}

void Stream::Start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  Read();
  ArmPing();
}

bool Stream::Send(std::string frame) {
  if (!open_ || queue_.size() >= kMaxQueued) return false;
  queue_.push_back(std::move(frame));
  if (!writing_) WriteNext();
  return true;
}

void Stream::Close() {
  if (!open_) return;
  open_ = false;
  error_code ignored;
  socket_.close(ignored);
  ping_.cancel();
  if (auto closed = std::exchange(on_closed_, {})) closed();
}

void Stream::Read() {
  socket_.async_read_some(asio::buffer(some_), [self = shared_from_this()](error_code error, std::size_t bytes) {
    if (error || !self->open_) return self->Close();
    self->read_.append(self->some_.data(), bytes);
    if (!self->TakeFrames()) return self->Close();
    if (self->open_) self->Read();
  });
}

bool Stream::TakeFrames() {
  std::size_t at = 0;
  std::uint8_t prefix[4];
  while (open_ && read_.size() - at >= sizeof prefix) {
    std::copy_n(read_.data() + at, sizeof prefix, prefix);
    const auto size = DecodeLength(prefix);
    if (!size) return false;
    if (read_.size() - at - sizeof prefix < *size) break;
    const auto message = Decode(std::string_view(read_).substr(at + sizeof prefix, *size));
    if (!message) return false;
    at += sizeof prefix + *size;
    silent_pings_ = 0;
    if (on_message_) on_message_(*message);
  }
  read_.erase(0, at);
  return true;
}

void Stream::WriteNext() {
  if (queue_.empty() || !open_) return;
  writing_ = true;
  sent_ = std::exchange(queue_, {});
  std::vector<asio::const_buffer> buffers;
  buffers.reserve(sent_.size());
  for (const std::string& frame : sent_) buffers.push_back(asio::buffer(frame));
  asio::async_write(socket_, buffers, [self = shared_from_this()](error_code error, std::size_t) {
    self->writing_ = false;
    if (error || !self->open_) return self->Close();
    self->WriteNext();
  });
}

void Stream::ArmPing() {
  ping_.expires_after(kPingEvery);
  ping_.async_wait([self = shared_from_this()](error_code error) {
    if (error || !self->open_) return;
    if (++self->silent_pings_ > int(kSilence / kPingEvery)) return self->Close();
    self->Send(EncodePing());
    self->ArmPing();
  });
}

}  // namespace acl::doorbell
