#pragma once
// The threads of a workload, each a client: how they are ended, and what they have been answered.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace acl::chaos {

class Clients {
 public:
  Clients() = default;
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  ~Clients();  // everybody gives up

  // `count` clients, each with its number. Once.
  void Start(int count, const std::function<void(int)>& work);
  // One more, for something that is done once.
  void StartOneMore(std::function<void()> work);

  // Until each of the first ones has had so many answers more.
  bool AwaitAnswers(int more, std::chrono::milliseconds limit) const;
  // Nobody begins anything new; what was asked and not answered is asked until it is, at most this long. False: something never was.
  bool Stop(std::chrono::milliseconds limit);

  // -- for the clients
  bool stopping() const { return stop_; }
  bool giving_up() const { return give_up_; }
  void Answered(int number) { ++answers_[std::size_t(number)]; }
  void NeverAnswered() { ++unanswered_; }

 private:
  void Run(std::function<void()> work);

  std::atomic<bool> stop_{false}, give_up_{false};
  std::atomic<int> running_{0}, unanswered_{0};
  std::vector<std::atomic<int>> answers_;
  std::vector<std::thread> threads_;
};

}  // namespace acl::chaos
