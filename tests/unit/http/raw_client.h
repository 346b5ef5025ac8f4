#pragma once
// A client that sends what it is told, byte by byte as it is told.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace acl {

// A raw client: what is sent is exactly what is written here.
class Client {
 public:
  explicit Client(std::uint16_t port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    timeval patience{20, 0};  // a hang fails the test instead of stopping it
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Client() { Close(); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  bool connected() const { return connected_; }
  Client& Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      bytes.remove_prefix(std::size_t(sent));
    }
    return *this;
  }
  void EndSending() { ::shutdown(fd_, SHUT_WR); }
  // One answer with Content-Length, head included.
  std::string ReadOne() {
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
      if (!Fill()) return std::exchange(buffer_, "");
    }
    const auto head_end = buffer_.find("\r\n\r\n") + 4;
    const auto at = buffer_.find("Content-Length: ");
    std::size_t length = at < head_end ? std::stoul(buffer_.substr(at + 16)) : 0;
    while (buffer_.size() < head_end + length && Fill()) {
    }
    std::string out = buffer_.substr(0, head_end + length);
    buffer_.erase(0, out.size());
    return out;
  }
  std::string ReadUntil(std::string_view what) {
    while (buffer_.find(what) == std::string::npos && Fill()) {
    }
    return buffer_;
  }
  std::string ReadToEnd() {
    while (Fill()) {
    }
    return std::exchange(buffer_, "");
  }

 private:
  bool Fill() {
    char chunk[4096];
    const auto got = ::recv(fd_, chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    buffer_.append(chunk, std::size_t(got));
    return true;
  }
  int fd_ = -1;
  bool connected_ = false;
  std::string buffer_;
};

}  // namespace acl
