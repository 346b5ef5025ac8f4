#include "tests/bench/load/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace acl::bench {
namespace {

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

// The value of a header in a head (which begins with the status line), names compared without regard to case.
std::string_view Header(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos && at + 2 < head.size(); at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':' || strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    const std::size_t value = line.find_first_not_of(' ', name.size() + 1);
    return value == std::string_view::npos ? std::string_view() : line.substr(value);
  }
  return {};
}

}  // namespace

Connection::Connection(const std::string& host, int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), in_(16384, '\0') {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (fd_ < 0 || inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) Fail("not an IPv4 address: " + host);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(fd_);
    Fail("no connection to " + host + ":" + std::to_string(port));
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() { close(fd_); }

bool Connection::Send(const std::string& bytes, std::int64_t now) {
  request_ = &bytes;
  sent_ = 0;
  began_ = now;
  filled_ = wanted_ = 0;
  return SendMore();
}

bool Connection::SendMore() {
  while (sent_ < request_->size()) {
    const ssize_t n = send(fd_, request_->data() + sent_, request_->size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n < 0) Fail("sending a request");
    sent_ += static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<Answer> Connection::Read() {
  for (;;) {
    if (filled_ == in_.size()) in_.resize(in_.size() * 2);
    const ssize_t n = recv(fd_, in_.data() + filled_, in_.size() - filled_, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (n < 0) Fail("reading an answer");
    if (n == 0) throw std::runtime_error("the server closed the connection; it had sent: " + in_.substr(0, filled_));
    filled_ += static_cast<std::size_t>(n);
    if (wanted_ == 0) {
      const std::string_view have(in_.data(), filled_);
      const std::size_t end = have.find("\r\n\r\n");
      if (end == std::string_view::npos) continue;
      const std::string_view head = have.substr(0, end);
      const std::string_view length = Header(head, "content-length");
      if (!head.starts_with("HTTP/1.1 ") || length.empty()) throw std::runtime_error("not an answer with a length: " + std::string(head));
      status_ = std::stoi(std::string(head.substr(9, 3)));
      body_at_ = end + 4;
      wanted_ = body_at_ + std::stoul(std::string(length));
    }
    if (filled_ > wanted_) throw std::runtime_error("more bytes than the answer's length");
    if (filled_ == wanted_) return Answer{status_, std::string_view(in_).substr(body_at_, wanted_ - body_at_)};
  }
}

std::string RequestText(const std::string& method, const std::string& path, const std::string& host, const std::string& headers,
                        const std::string& body) {
  std::string text = method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers;
  if (!body.empty()) text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

std::optional<std::string> FetchOnce(const std::string& host, int port, const std::string& path) {
  try {
    Connection connection(host, port);
    const std::string request = RequestText("GET", path, host + ":" + std::to_string(port), "", "");
    if (!connection.Send(request, 0)) return std::nullopt;
    for (int i = 0; i < 100; ++i) {
      pollfd wait{connection.fd(), POLLIN, 0};
      poll(&wait, 1, 100);
      if (auto answer = connection.Read()) return answer->status == 200 ? std::optional(std::string(answer->body)) : std::nullopt;
    }
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

}  // namespace acl::bench
