#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "shared/base/check.h"

namespace acl::test {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int Socket() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ACL_CHECK(fd >= 0, "socket");
  return fd;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(std::size_t(sent));
  }
  return true;
}

}  // namespace

TcpProxy::TcpProxy(std::uint16_t target_port) : target_port_(target_port), listener_(Socket()) {
  auto address = Loopback(0);
  socklen_t size = sizeof(address);
  ACL_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 && listen(listener_, 64) == 0, "listen");
  ACL_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  stop_ = true;
  thread_.join();
  for (auto& pair : pairs_) {
    close(pair.client);
    close(pair.server);
  }
  close(listener_);
}

void TcpProxy::Hold() {
  std::lock_guard lock(mutex_);
  holding_ = true;
}

void TcpProxy::Release() {
  std::lock_guard lock(mutex_);
  holding_ = false;
  for (auto& pair : pairs_) {
    if (!pair.held.empty() && !SendAll(pair.server, pair.held)) shutdown(pair.client, SHUT_RDWR);
    pair.held.clear();
  }
}

void TcpProxy::Cut() {
  std::lock_guard lock(mutex_);
  cut_ = true;
  for (auto& pair : pairs_) shutdown(pair.client, SHUT_RDWR);  // seen by the thread, which ends the pair
}

int TcpProxy::connections() {
  std::lock_guard lock(mutex_);
  return int(pairs_.size());
}

bool TcpProxy::Holds(const std::string& text) {
  std::lock_guard lock(mutex_);
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) { return pair.held.find(text) != std::string::npos; });
}

void TcpProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = Socket();
  const auto address = Loopback(target_port_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(client);
    close(server);
    return;
  }
  std::lock_guard lock(mutex_);
  if (cut_) {
    close(client);
    close(server);
    return;
  }
  pairs_.push_back({client, server, ""});
}

bool TcpProxy::Pump(Pair& pair, const pollfd& client, const pollfd& server) {
  char bytes[65536];
  if (client.revents != 0) {
    const ssize_t got = recv(pair.client, bytes, sizeof(bytes), 0);
    if (got <= 0) return false;
    if (holding_) {
      pair.held.append(bytes, std::size_t(got));
    } else if (!SendAll(pair.server, {bytes, std::size_t(got)})) {
      return false;
    }
  }
  if (server.revents != 0) {
    const ssize_t got = recv(pair.server, bytes, sizeof(bytes), 0);
    if (got <= 0 || !SendAll(pair.client, {bytes, std::size_t(got)})) return false;
  }
  return true;
}

void TcpProxy::Run() {
  while (!stop_) {
    std::vector<pollfd> waits = {{listener_, POLLIN, 0}};
    {
      std::lock_guard lock(mutex_);
      for (const auto& pair : pairs_) {
        waits.push_back({pair.client, POLLIN, 0});
        waits.push_back({pair.server, POLLIN, 0});
      }
    }
    if (poll(waits.data(), waits.size(), 50) <= 0) continue;
    {
      std::lock_guard lock(mutex_);
      std::size_t at = 1;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
        if (Pump(*pair, waits[at], waits[at + 1])) {
          ++pair;
          continue;
        }
        close(pair->client);
        close(pair->server);
        pair = pairs_.erase(pair);
      }
    }
    if (waits[0].revents != 0) Accept();
  }
}

}  // namespace acl::test
