#pragma once
// A TCP connection's middle: a process connects here, we connect on. What it sends can be held back and let go later, so that a test
// decides when a request arrives. Own thread; ends with the object.

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace acl::test {

class TcpProxy {
 public:
  explicit TcpProxy(std::uint16_t target_port);  // on 127.0.0.1
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::uint16_t port() const { return port_; }
  // From now on nothing a client sends goes on (answers still come back).
  void Hold();
  // Every connection ends now, and none is let through any more.
  void Cut();
  int connections();
  // Everything held goes on, in order.
  void Release();
  // Whether what is held now contains this text.
  bool Holds(const std::string& text);

 private:
  struct Pair {
    int client = -1, server = -1;
    std::string held;
  };
  void Run();
  void Accept();
  // False if the pair has ended.
  bool Pump(Pair& pair, const pollfd& client, const pollfd& server);

  std::uint16_t target_port_, port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  bool holding_ = false, cut_ = false;
  std::list<Pair> pairs_;
  std::thread thread_;
};

}  // namespace acl::test
