#include "shared/queue/doorbell_stream.h"

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace acl::doorbell {

namespace asio = boost::asio;
using boost::system::error_code;

Stream::Stream(asio::ip::tcp::socket socket, std::function<void(const Message&)> on_message, std::function<void()> on_closed)
    : socket_(std::move(socket)), ping_(socket_.get_executor()), on_message_(std::move(on_message)), on_closed_(std::move(on_closed)) {}

void Stream::Start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  ReadLength();
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

void Stream::ReadLength() {
  asio::async_read(socket_, asio::buffer(prefix_), [self = shared_from_this()](error_code error, std::size_t) {
    if (error || !self->open_) return self->Close();
    auto size = DecodeLength(self->prefix_);
    if (!size) return self->Close();
    self->ReadBody(*size);
  });
}

void Stream::ReadBody(std::size_t size) {
  body_.resize(size);
  asio::async_read(socket_, asio::buffer(body_), [self = shared_from_this()](error_code error, std::size_t) {
    if (error || !self->open_) return self->Close();
    auto message = Decode(self->body_);
    if (!message) return self->Close();
    self->silent_pings_ = 0;
    if (self->on_message_) self->on_message_(*message);
    if (self->open_) self->ReadLength();
  });
}

void Stream::WriteNext() {
  if (queue_.empty() || !open_) return;
  writing_ = true;
  asio::async_write(socket_, asio::buffer(queue_.front()), [self = shared_from_this()](error_code error, std::size_t) {
    self->writing_ = false;
    if (error || !self->open_) return self->Close();
    self->queue_.pop_front();
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
