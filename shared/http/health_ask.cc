#include "shared/http/health_ask.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace acl {
namespace {

constexpr std::size_t kLargestHealthAnswer = 64 * 1024;

class HealthSocket {
 public:
  explicit HealthSocket(int fd) : fd_(fd) {}
  ~HealthSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  HealthSocket(const HealthSocket&) = delete;
  HealthSocket& operator=(const HealthSocket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

std::string WhereToAsk(const std::string& listened) {
  if (listened == "0.0.0.0") return "127.0.0.1";
  if (listened == "::") return "::1";
  return listened;
}

// Errors of connect() and recv() under a time limit.
std::string SystemWords(int error) { return error == EAGAIN || error == EINPROGRESS ? "no answer in time" : std::strerror(error); }

bool ConnectWithin(const HealthSocket& socket, const addrinfo& to, std::chrono::milliseconds within) {
  const timeval limit{.tv_sec = within.count() / 1000, .tv_usec = within.count() % 1000 * 1000};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return ::connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0;
}

HealthAnswer ReadAnswer(const HealthSocket& socket, const std::string& where) {
  std::string answer;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::recv(socket.fd(), piece, sizeof piece, 0);
    if (got < 0) return {false, where + ": " + SystemWords(errno)};
    if (got == 0 || answer.size() > kLargestHealthAnswer) break;
    answer.append(piece, std::size_t(got));
  }
  const auto body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 ") || body == std::string::npos) return {false, where + ": its answer is not one of this program's"};
  return {answer.starts_with("HTTP/1.1 200"), answer.substr(body + 4)};
}

}  // namespace

HealthAnswer AskHealth(const HostPort& address, const std::string& host, std::chrono::milliseconds within) {
  const HostPort at{WhereToAsk(address.host), address.port};
  const std::string where = at.ToString();
  if (at.port == 0) return {false, "the process listens on a free port (port 0), which nobody else knows: give it a port of its own"};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found); error != 0)
    return {false, where + ": " + ::gai_strerror(error)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const HealthSocket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0 || !ConnectWithin(socket, *found, within)) return {false, where + ": " + SystemWords(errno)};
  const std::string request = "GET /readyz HTTP/1.1\r\nHost: " + (host.empty() ? where : host) + "\r\nConnection: close\r\n\r\n";
  if (::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) != ssize_t(request.size()))
    return {false, where + ": " + SystemWords(errno)};
  return ReadAnswer(socket, where);
}

}  // namespace acl
