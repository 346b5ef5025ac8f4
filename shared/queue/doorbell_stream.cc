#include "shared/queue/doorbell_stream.h"

#include <algorithm>
#include <boost/asio/write.hpp>
#include <cstring>

namespace acl::doorbell {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
constexpr std::size_t kReadAtOnce = 4 * 1024, kWrittenAtOnce = 16 * 1024;
}  // namespace

Stream::Stream(asio::ip::tcp::socket socket, std::function<void(const Message&)> on_message, std::function<void()> on_closed)
    : socket_(std::move(socket)), ping_(socket_.get_executor()), on_message_(std::move(on_message)), on_closed_(std::move(on_closed)) {}

void Stream::Start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  in_.resize(kReadAtOnce);
  ReadMore();
  ArmPing();
}

bool Stream::Send(std::string frame) {
  if (!open_ || queue_.size() >= kMaxQueued || queued_bytes_ + frame.size() > kMaxQueuedBytes) return false;
  queued_bytes_ += frame.size();
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

void Stream::ReadMore() {
  const auto room = asio::buffer(in_.data() + filled_, in_.size() - filled_);
  socket_.async_read_some(room, [self = shared_from_this()](error_code error, std::size_t size) {
    if (error || !self->open_) return self->Close();
    self->filled_ += size;
    if (!self->TakeFrames()) return self->Close();
    if (self->open_) self->ReadMore();
  });
}

bool Stream::TakeFrames() {
  std::size_t at = 0;
  std::uint8_t prefix[4];
  while (open_ && filled_ - at >= sizeof prefix) {
    std::memcpy(prefix, in_.data() + at, sizeof prefix);
    const auto size = DecodeLength(prefix);
    if (!size) return false;
    const std::size_t whole = sizeof prefix + *size;
    if (filled_ - at < whole) {
      in_.resize(std::max(in_.size(), whole));
      break;
    }
    const auto message = Decode(std::string_view(in_).substr(at + sizeof prefix, *size));
    if (!message) return false;
    at += whole;
    silent_pings_ = 0;
    if (on_message_) on_message_(*message);
  }
  std::memmove(in_.data(), in_.data() + at, filled_ - at);
  filled_ -= at;
  return true;
}

void Stream::WriteNext() {
  if (queue_.empty() || !open_) return;
  writing_ = true;
  out_.clear();
  while (!queue_.empty() && (out_.empty() || out_.size() + queue_.front().size() <= kWrittenAtOnce)) {
    queued_bytes_ -= queue_.front().size();
    out_ += queue_.front();
    queue_.pop_front();
  }
  asio::async_write(socket_, asio::buffer(out_), [self = shared_from_this()](error_code error, std::size_t) {
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
