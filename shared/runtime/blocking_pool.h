#pragma once
// Threads for calls that block: SQL, files, processes. A fixed number of threads and a queue with a written maximum, so that overload
// is seen by the caller at once and not as memory.
//
//   BlockingPool pool({.name = "sql", .threads = 4, .max_queued = 256});
//   if (!pool.Post([=] { ... })) return Error{Code::kUnavailable, "too busy"};
//
// Whoever owns the pool stops it; the destructor does so too.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace acl {

struct BlockingPoolOptions {
  std::string name = "pool";  // of the threads, as seen in `top -H`; the first 12 characters
  int threads = 4;
  std::size_t max_queued = 256;  // tasks waiting for a thread; running ones do not count
};

class BlockingPool {
 public:
  using Task = std::function<void()>;

  explicit BlockingPool(const BlockingPoolOptions& options);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // From any thread, never blocks. False, and the task is dropped, if the queue is full or the pool is stopped. A task that was
  // accepted runs exactly once. One that cannot have the memory it needs ends there, and what it captured with it; anything else that it
  // throws ends the process.
  bool Post(Task task);

  // No further tasks are taken; those accepted run to their end, then the threads end. Idempotent and from any thread but the pool's
  // own; every caller returns only after the last task has ended.
  void Stop();

  std::size_t queued() const;
  int threads() const { return int(options_.threads); }

 private:
  void RunUntilStopped(int index);

  const BlockingPoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Task> queue_;
  bool stopped_ = false;
  std::mutex join_mutex_;  // held while joining: a second Stop waits for the first
  std::vector<std::thread> threads_;
};

}  // namespace acl
