#pragma once
// From the HTTP client's one thread, which must not wait, to the thread that called Invoke: pieces of an answer, in order, then its end.
// What is in it is bounded by the client's limit on an answer. Shared by both: each may be gone before the other.

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "shared/capability/http_client.h"

namespace acl::aegis {

class AnswerPipe {
 public:
  // The client's side. False: nobody wants more.
  bool Put(std::string_view bytes) {
    std::lock_guard lock(mutex_);
    if (stopped_) return false;
    waiting_.append(bytes);
    changed_.notify_one();
    return true;
  }
  void End(HttpAnswer answer) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    ended_ = true;
    changed_.notify_one();
  }
  bool stopped() const {
    std::lock_guard lock(mutex_);
    return stopped_;
  }

  // The reader's side. Waits for what has come since; false: that was all.
  bool Take(std::string& bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
    bytes = std::exchange(waiting_, std::string());
    return !bytes.empty();
  }
  void Stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  // After Take said false.
  HttpAnswer Answer() {
    std::lock_guard lock(mutex_);
    return std::move(answer_);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  HttpAnswer answer_;
  bool stopped_ = false, ended_ = false;
};

}  // namespace acl::aegis
