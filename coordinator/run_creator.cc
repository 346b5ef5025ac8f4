#include "coordinator/run_creator.h"

#include <pthread.h>

#include <utility>

#include "shared/base/fail_point.h"
#include "shared/base/memory.h"

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
    if (queue_.size() != wake_at_) return true;
  }
  changed_.notify_one();
  return true;
}

// Until there is one, and then while more are close behind.
void RunCreator::AwaitSome(std::unique_lock<std::mutex>& lock) {
  wake_at_ = 1;
  changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (!options_.load) return;
  const InFlightLoad load = options_.load();
  wake_at_ = linger_.Enough(load);
  const SteadyTime first = SystemClock().Steady();
  for (std::size_t before = 0; !stopping_;) {
    const auto until = linger_.Await(load, first, SystemClock().Steady(), before, queue_.size());
    if (!until) return;
    before = queue_.size();
    changed_.wait_until(lock, *until, [this] { return stopping_ || queue_.size() >= wake_at_; });
  }
}

void RunCreator::RunUntilStopped() {
  std::unique_lock lock(mutex_);
  while (true) {
    AwaitSome(lock);
    if (queue_.empty()) return;
    std::vector<Asked> asked;
    if (queue_.size() <= options_.at_once) {
      asked = std::exchange(queue_, {});
    } else {
      const auto some = queue_.begin() + std::ptrdiff_t(options_.at_once);
      asked.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(some));
      queue_.erase(queue_.begin(), some);
    }
    wake_at_ = 0;  // nobody has to
    lock.unlock();
    (void)WithinMemory([&] { Make(std::move(asked)); });  // who asked is told that nobody knows: their answers end with it
    lock.lock();
  }
}

// What became of the place that was taken for it.
void RunCreator::Note(const CreateItem& item, const Result<CreateOutcome>& outcome, Made& made) const {
  const bool created = outcome && outcome->kind == CreateOutcome::Kind::kCreated;
  if (created) Counter(options_.created).Add();
  const bool perhaps =
      !outcome && outcome.code() == Code::kOutcomeUnknown && item.grant_to;  // a hint may be wrong, and is needed if it is not
  if (perhaps || (created && outcome->granted)) {
    made.granted[*item.grant_to].push_back(item.subject);
    return;
  }
  if (created && options_.hinted && outcome->ready_at != WallTime{}) {
    made.rows.push_back(MessageFor(item, *outcome));
  } else if (created) {
    made.queues.insert(item.queue);
  }
  if (item.grant_to) created ? grants_.dead(*item.grant_to) : grants_.put_back(*item.grant_to);
}

void RunCreator::Tell(Made made) const {
  if (!made.granted.empty()) FailPoint("create.after_grant");  // they are somebody's, who does not know yet
  for (auto& [session, subjects] : made.granted) grants_.tell(session, std::move(subjects));
  if (!made.rows.empty() && !options_.hinted(made.rows)) {
    for (const StepMessage& row : made.rows) made.queues.insert(row.key.queue);
  }
  for (const std::string& queue : made.queues) ring_(queue);
}

// An item that cannot be made spoils only itself. Asking again for those beside it is harmless: a refused transaction made nothing, and
// where that is not known nobody asks again.
void RunCreator::Make(std::vector<Asked> asked) {
  std::vector<CreateItem> items;
  items.reserve(asked.size());
  for (Asked& one : asked) {
    items.push_back(std::move(one.item));
    if (grants_.take) items.back().grant_to = grants_.take(items.back());
  }
  Made made;
  auto outcomes = store_.Create(items);
  if (outcomes) {
    for (std::size_t i = 0; i < items.size(); ++i) Note(items[i], (*outcomes)[i], made);
    Tell(std::move(made));  // first: a worker looks while the answers are written
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i].done(std::move((*outcomes)[i]));
    return;
  }
  const bool all = items.size() == 1 || outcomes.code() == Code::kUnavailable || outcomes.code() == Code::kTimeout ||
                   outcomes.code() == Code::kOutcomeUnknown;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Result<CreateOutcome> outcome = outcomes.error();
    if (!all) {
      auto one = store_.Create({&items[i], 1});
      outcome = one ? Result<CreateOutcome>(std::move(one->front())) : Result<CreateOutcome>(one.error());
    }
    Note(items[i], outcome, made);
    asked[i].done(std::move(outcome));
  }
  Tell(std::move(made));
}

}  // namespace acl::coordinator
