#include "shared/runtime/blocking_pool.h"

#include <pthread.h>

#include "shared/base/check.h"
#include "shared/base/memory.h"

namespace acl {

BlockingPool::BlockingPool(const BlockingPoolOptions& options) : options_(options) {
  ACL_CHECK(options.threads > 0, "a pool needs a thread");
  threads_.reserve(std::size_t(options.threads));
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this, i] { RunUntilStopped(i); });
}

BlockingPool::~BlockingPool() { Stop(); }

bool BlockingPool::Post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || queue_.size() >= options_.max_queued) return false;
    queue_.push_back(std::move(task));
  }
  work_.notify_one();
  return true;
}

void BlockingPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  work_.notify_all();
  std::lock_guard joining(join_mutex_);
  for (auto& thread : threads_) {
    if (!thread.joinable()) continue;
    ACL_CHECK(thread.get_id() != std::this_thread::get_id(), "a pool cannot be stopped from one of its own tasks");
    thread.join();
  }
}

std::size_t BlockingPool::queued() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

void BlockingPool::RunUntilStopped(int index) {
  const std::string name = options_.name.substr(0, 12) + "-" + std::to_string(index % 100);
  pthread_setname_np(pthread_self(), name.c_str());
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    (void)WithinMemory([&] { task(); });
    task = nullptr;  // what it captured ends before the lock is taken, and tells whoever waits for it
    lock.lock();
  }
}

}  // namespace acl
