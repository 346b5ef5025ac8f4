#pragma once
// A model server on 127.0.0.1 that does what a test says: it speaks both protocols (chat completions and Messages, streamed or not), and a
// script answers each request piece by piece. Every connection has a thread of its own, so one that hangs keeps nobody else waiting.
// Ready scripts (echo, slow, truncated, tool call, disobedient ...): model_scripts.h.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/json.h"
#include "tests/support/loopback.h"

namespace acl::test {

struct ModelAsked {
  std::string head;  // request line and headers
  Json body;         // null: what came is no JSON
  bool anthropic = false, stream = false;
  int number = 0;  // of this server, from 1
};

struct ModelTurn {
  enum class End { kClose, kHang, kReset };  // kHang: nothing more comes until the other side leaves
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<std::string> pieces = {};
  bool step = false;  // each piece waits for ScriptedModel::Step
  End end = End::kClose;
};

class ScriptedModel {
 public:
  using Script = std::function<ModelTurn(const ModelAsked&)>;

  explicit ScriptedModel(Script script) : script_(std::move(script)) {
    const Listener made = ListenOnLoopback(64);
    listener_ = made.socket;
    port_ = made.port;
    thread_ = std::thread([this] { Accept(); });
  }
  ~ScriptedModel() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
    for (auto& talk : talks_) talk.join();
    ::close(listener_);
  }
  ScriptedModel(const ScriptedModel&) = delete;
  ScriptedModel& operator=(const ScriptedModel&) = delete;

  std::string BaseUrl() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  int port() const { return port_; }

  std::vector<ModelAsked> asked() const {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  // Lets so many pieces go that wait.
  void Step(int pieces = 1) {
    std::lock_guard lock(mutex_);
    steps_ += pieces;
    changed_.notify_all();
  }
  // Until so many requests have come, or so many callers have left before their answer was whole.
  void AwaitAsked(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_.size() >= count; });
  }
  void AwaitLeft(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return left_ >= count; });
  }
  int most_at_once() const { return most_at_once_; }

 private:
  bool Stopping() const {
    std::lock_guard lock(mutex_);
    return stop_;
  }

  void Accept() {
    while (!Stopping()) {
      pollfd wait{listener_, POLLIN, 0};
      if (::poll(&wait, 1, 20) <= 0) continue;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      talks_.emplace_back([this, fd] {
        const int now = ++at_once_;
        for (int most = most_at_once_; most < now && !most_at_once_.compare_exchange_weak(most, now);) {
        }
        Talk(fd);
        --at_once_;
      });
    }
  }

  // The text of one whole request; false: it never came.
  bool ReadRequest(int fd, std::string& text, std::size_t& head) {
    for (;;) {
      head = text.find("\r\n\r\n");
      if (head != std::string::npos) {
        const auto length = text.find("Content-Length: ");
        const std::size_t body = length < head ? std::stoul(text.substr(length + 16)) : 0;
        if (text.size() >= head + 4 + body) return true;
      }
      pollfd wait{fd, POLLIN, 0};
      if (Stopping()) return false;
      if (::poll(&wait, 1, 20) <= 0) continue;
      char buffer[16'384];
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0) return false;
      text.append(buffer, std::size_t(n));
    }
  }

  void Talk(int fd) {
    std::string text;
    std::size_t head = 0;
    if (ReadRequest(fd, text, head)) {
      const ModelTurn turn = script_(Note(text, head));
      const bool whole = Send(fd, turn);
      if (!whole) {
        std::lock_guard lock(mutex_);
        ++left_;
        changed_.notify_all();
      }
      if (turn.end == ModelTurn::End::kReset) {
        const linger now{1, 0};
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      }
    }
    ::close(fd);
  }

  ModelAsked Note(const std::string& text, std::size_t head) {
    ModelAsked asked{.head = text.substr(0, head)};
    auto body = ParseJson(std::string_view(text).substr(head + 4));
    if (body) asked.body = std::move(*body);
    asked.anthropic = asked.head.find("/messages ") != std::string::npos;
    asked.stream = asked.body.is_object() && asked.body.value("stream", false);
    std::lock_guard lock(mutex_);
    asked.number = int(asked_.size()) + 1;
    asked_.push_back(asked);
    changed_.notify_all();
    return asked;
  }

  // False: the other side left before all was sent.
  bool Send(int fd, const ModelTurn& turn) {
    std::string head = "HTTP/1.1 " + std::to_string(turn.status) + " Scripted\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n";
    for (const auto& [name, value] : turn.headers) head += name + ": " + value + "\r\n";
    if (!SendAll(fd, head + "\r\n")) return false;
    for (const std::string& piece : turn.pieces) {
      if (turn.step && !AwaitStep(fd)) return false;
      if (piece.empty()) continue;
      char size[32];
      ::snprintf(size, sizeof size, "%zx\r\n", piece.size());
      if (!SendAll(fd, size + piece + "\r\n")) return false;
    }
    if (turn.end == ModelTurn::End::kHang) {
      while (!Stopping() && !HasLeft(fd)) {
      }
      return false;
    }
    return turn.end == ModelTurn::End::kReset || SendAll(fd, "0\r\n\r\n");
  }

  bool AwaitStep(int fd) {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (stop_) return false;
        if (steps_ > 0) {
          --steps_;
          return true;
        }
      }
      if (HasLeft(fd)) return false;
    }
  }

  // Waits a little for the other side to close.
  static bool HasLeft(int fd) {
    pollfd wait{fd, POLLIN, 0};
    if (::poll(&wait, 1, 20) <= 0) return false;
    char byte;
    return ::recv(fd, &byte, 1, MSG_PEEK) <= 0;
  }

  static bool SendAll(int fd, std::string_view rest) {
    while (!rest.empty()) {
      const ssize_t sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      rest.remove_prefix(std::size_t(sent));
    }
    return true;
  }

  const Script script_;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ModelAsked> asked_;
  int steps_ = 0, left_ = 0;
  bool stop_ = false;
  std::atomic<int> at_once_{0}, most_at_once_{0};
  std::list<std::thread> talks_;  // of the accepting thread, then of the destructor
  std::thread thread_;
};

}  // namespace acl::test
