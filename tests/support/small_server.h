#pragma once
// A one-thread HTTP server on 127.0.0.1 for tests: the script sees each request's text and gives the bytes to answer, nullopt = close at
// once.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace acl {

class SmallServer {
 public:
  using Script = std::function<std::optional<std::string>(const std::string& request)>;

  explicit SmallServer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    ::listen(listener_, 16);
    thread_ = std::thread([this] { Serve(); });
  }
  ~SmallServer() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }

  std::string Url(const std::string& path = "/") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  int port() const { return port_; }
  int connections() const { return connections_; }
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

  static std::string Answer(const std::string& status, const std::string& body, const std::string& headers = "") {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" + headers + "\r\n" +
           body;
  }

 private:
  bool Ready(int fd) {
    while (!stop_) {
      pollfd wait{fd, POLLIN, 0};
      if (::poll(&wait, 1, 20) > 0) return true;
    }
    return false;
  }

  void Serve() {
    while (Ready(listener_)) {
      int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) continue;
      ++connections_;
      Talk(peer);
      ::close(peer);
    }
  }

  void Talk(int peer) {
    std::string request;
    std::size_t wanted = std::string::npos;
    while (request.size() < wanted) {
      char buffer[4096];
      if (!Ready(peer)) return;
      ssize_t n = ::read(peer, buffer, sizeof buffer);
      if (n <= 0) return;
      request.append(buffer, std::size_t(n));
      auto end = request.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      auto length = request.find("Content-Length: ");
      wanted = end + 4 + (length < end ? std::stoul(request.substr(length + 16)) : 0);
    }
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    auto answer = script_(request);
    std::string_view rest = answer ? std::string_view(*answer) : std::string_view();
    while (!rest.empty()) {
      ssize_t n = ::send(peer, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      rest.remove_prefix(std::size_t(n));
    }
  }

  Script script_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace acl
