#include "chaos/load/clients.h"

#include <algorithm>

#include "chaos/process/patience.h"

namespace acl::chaos {

Clients::~Clients() {
  stop_ = give_up_ = true;
  for (auto& thread : threads_) thread.join();
}

void Clients::Run(std::function<void()> work) {
  ++running_;
  threads_.emplace_back([this, work = std::move(work)] {
    work();
    --running_;
  });
}

void Clients::Start(int count, const std::function<void(int)>& work) {
  answers_ = std::vector<std::atomic<int>>(std::size_t(count));
  for (int n = 0; n < count; ++n) Run([work, n] { work(n); });
}

void Clients::StartOneMore(std::function<void()> work) { Run(std::move(work)); }

bool Clients::AwaitAnswers(int more, std::chrono::milliseconds limit) const {
  std::vector<int> wanted;
  for (const auto& count : answers_) wanted.push_back(count + more);
  return Await(
      [&] { return std::equal(wanted.begin(), wanted.end(), answers_.begin(), [](int least, const auto& now) { return now >= least; }); },
      limit);
}

bool Clients::Stop(std::chrono::milliseconds limit) {
  stop_ = true;
  Await([&] { return running_ == 0; }, limit);
  give_up_ = true;
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  return unanswered_ == 0;
}

}  // namespace acl::chaos
