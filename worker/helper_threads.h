#pragma once
// Helper threads for the deciding thread. The decision for one subject touches no other subject, so the items of a group commit are built
// in parallel. With no helpers (simulator, most tests) the same code builds them one after another.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace acl {

class HelperThreads {
 public:
  // `helpers` threads besides the caller's own; 0: ForEach is a loop.
  explicit HelperThreads(int helpers);
  ~HelperThreads();
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  int threads() const { return int(threads_.size()) + 1; }
  // Calls work(0) ... work(count - 1), each once, by whichever thread is free, and returns when all have returned. `work` must not throw.
  // One caller at a time.
  void ForEach(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  struct Job {
    const std::function<void(std::size_t)>* work = nullptr;  // not called once all indexes are taken: the caller may be gone by then
    std::size_t count = 0;
    std::atomic<std::size_t> next{0}, done{0};
  };
  void Help();
  void TakePart(Job& job);

  std::mutex mutex_;
  std::condition_variable work_, all_done_;
  std::shared_ptr<Job> job_;
  std::uint64_t jobs_ = 0;  // how many there were: a helper that slept sees that there is a new one
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace acl
