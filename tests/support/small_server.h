#pragma once
// A one-thread HTTP server on 127.0.0.1 for tests: the script sees each request's text and gives the bytes to answer, nullopt = close at
// once. A connection is closed after its answer, unless that is one by Kept().

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
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/loopback.h"

namespace acl {

class SmallServer {
 public:
  using Script = std::function<std::optional<std::string>(const std::string& request)>;

  explicit SmallServer(Script script) : script_(std::move(script)) {
    const test::Listener made = test::ListenOnLoopback(16);
    listener_ = made.socket;
    port_ = made.port;
    thread_ = std::thread([this] { Serve(); });
  }
  ~SmallServer() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }

  // Over the connection that came last, without being asked.
  void Say(const std::string& text) const { ::send(newest_, text.data(), text.size(), MSG_NOSIGNAL); }

  std::string Url(const std::string& path = "/") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  int port() const { return port_; }
  int connections() const { return connections_; }
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

  static std::string Answer(const std::string& status, const std::string& body, const std::string& headers = "") {
    return Whole(status, body, "Connection: close\r\n" + headers);
  }
  // The connection stays.
  static std::string Kept(const std::string& status, const std::string& body) { return Whole(status, body, kStays); }

 private:
  static constexpr const char* kStays = "Connection: keep-alive\r\n";

  static std::string Whole(const std::string& status, const std::string& body, const std::string& headers) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
  }

  struct Peer {
    int fd;
    std::string text;  // not answered yet
  };

  void Serve() {
    std::vector<Peer> peers;
    while (!stop_) {
      std::vector<pollfd> waits{{listener_, POLLIN, 0}};
      for (const Peer& peer : peers) waits.push_back({peer.fd, POLLIN, 0});
      if (::poll(waits.data(), waits.size(), 20) <= 0) continue;
      for (std::size_t i = peers.size(); i-- > 0;) {
        if (waits[i + 1].revents == 0 || Talk(peers[i])) continue;
        ::close(peers[i].fd);
        peers.erase(peers.begin() + std::ptrdiff_t(i));
      }
      if (waits[0].revents == 0) continue;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections_;
      newest_ = fd;
      peers.push_back({fd, ""});
    }
    for (const Peer& peer : peers) ::close(peer.fd);
  }

  // What has come is read, and answered if it is a whole request. False: this connection is done with.
  bool Talk(Peer& peer) {
    char buffer[4096];
    const ssize_t n = ::read(peer.fd, buffer, sizeof buffer);
    if (n <= 0) return false;
    peer.text.append(buffer, std::size_t(n));
    const auto end = peer.text.find("\r\n\r\n");
    if (end == std::string::npos) return true;
    const auto length = peer.text.find("Content-Length: ");
    if (peer.text.size() < end + 4 + (length < end ? std::stoul(peer.text.substr(length + 16)) : 0)) return true;
    const std::string request = std::exchange(peer.text, "");
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const auto answer = script_(request);
    std::string_view rest = answer ? std::string_view(*answer) : std::string_view();
    while (!rest.empty()) {
      const ssize_t sent = ::send(peer.fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      rest.remove_prefix(std::size_t(sent));
    }
    return answer && answer->find(kStays) != std::string::npos;
  }

  Script script_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> connections_{0}, newest_{-1};
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace acl
