#include "coordinator/run_creator.h"

#include <pthread.h>

#include <set>

namespace acl::coordinator {

Status RunCreator::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "run-creator");
    RunUntilStopped();
  });
  return {};
}

void RunCreator::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool RunCreator::Add(CreateItem item, Done done) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= options_.max_queued) return false;
    queue_.push_back({std::move(item), std::move(done)});
  }
  changed_.notify_one();
  return true;
}

void RunCreator::RunUntilStopped() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::vector<Asked> asked;
    if (queue_.size() <= options_.at_once) {
      asked = std::exchange(queue_, {});
    } else {
      const auto some = queue_.begin() + std::ptrdiff_t(options_.at_once);
      asked.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(some));
      queue_.erase(queue_.begin(), some);
    }
    lock.unlock();
    Make(std::move(asked));
    lock.lock();
  }
}

// An item that cannot be made spoils only itself. Asking again for those beside it is harmless: a refused transaction made nothing, and
// where that is not known nobody asks again.
void RunCreator::Make(std::vector<Asked> asked) {
  std::vector<CreateItem> items;
  items.reserve(asked.size());
  for (Asked& one : asked) items.push_back(std::move(one.item));
  std::set<std::string> queues;
  const auto ring = [&] {
    for (const std::string& queue : queues) ring_(queue);
  };
  auto made = store_.Create(items);
  if (made) {
    for (const CreateOutcome& outcome : *made) {
      if (outcome.kind == CreateOutcome::Kind::kCreated) queues.insert(items[std::size_t(&outcome - made->data())].queue);
    }
    ring();  // first: a worker looks while the answers are written
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i].done(std::move((*made)[i]));
    return;
  }
  const bool all =
      items.size() == 1 || made.code() == Code::kUnavailable || made.code() == Code::kTimeout || made.code() == Code::kOutcomeUnknown;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (all) {
      asked[i].done(made.error());
      continue;
    }
    auto one = store_.Create({&items[i], 1});
    if (one && one->front().kind == CreateOutcome::Kind::kCreated) queues.insert(items[i].queue);
    asked[i].done(one ? Result<CreateOutcome>(std::move(one->front())) : Result<CreateOutcome>(one.error()));
  }
  ring();
}

}  // namespace acl::coordinator
