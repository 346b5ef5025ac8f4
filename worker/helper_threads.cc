#include "worker/helper_threads.h"

#include <pthread.h>

namespace acl {

HelperThreads::HelperThreads(int helpers) {
  for (int i = 0; i < helpers; ++i) {
    threads_.emplace_back([this] { Help(); });
    pthread_setname_np(threads_.back().native_handle(), ("decide-" + std::to_string(i)).c_str());
  }
}

HelperThreads::~HelperThreads() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HelperThreads::TakePart(Job& job) {
  for (std::size_t i = 0; (i = job.next.fetch_add(1, std::memory_order_relaxed)) < job.count;) {
    (*job.work)(i);
    if (job.done.fetch_add(1, std::memory_order_acq_rel) + 1 < job.count) continue;
    std::lock_guard lock(mutex_);  // the caller looks at `done` under it: the news is not lost between its look and its sleep
    all_done_.notify_all();
  }
}

void HelperThreads::ForEach(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (threads_.empty() || count < 2) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  auto job = std::make_shared<Job>();
  job->work = &work;
  job->count = count;
  {
    std::lock_guard lock(mutex_);
    job_ = job;
    ++jobs_;
  }
  work_.notify_all();
  TakePart(*job);
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [&] { return job->done.load(std::memory_order_acquire) == count; });
  job_.reset();
}

void HelperThreads::Help() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || jobs_ != seen; });
    if (stopping_) return;
    seen = jobs_;
    const std::shared_ptr<Job> job = job_;
    if (!job) continue;  // it was over before this thread woke
    lock.unlock();
    TakePart(*job);
    lock.lock();
  }
}

}  // namespace acl
