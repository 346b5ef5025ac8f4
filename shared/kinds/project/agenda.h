#pragma once
// The next step of a project that changes all the time. ChooseNext (next_step.h) reads every task and defines the answer; an agenda gives
// the same answer in a time that does not grow with the project: it keeps what may be chosen in order, and brings that up to a state by
// the entries in which it differs from the state before. Made of states and of nothing else: it may be thrown away at any time.
//
// From any thread.

#include <array>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/kernel/command.h"
#include "shared/kinds/project/next_step.h"

namespace acl::project {

class Agenda final : public Aid {
 public:
  // ChooseNext(state, actor), with so many open tasks listed at most. Quick if `state` came of the one that was asked for last by a few
  // changes, or led to it.
  NextStep Choose(const Document& state, std::string_view actor, std::size_t most_listed = kMostOpenListed);

 private:
  using Order = std::array<std::int64_t, 4>;  // of next_step.h, without the goal's priority: within one goal it decides nothing

  // Tasks that may be worked on unless their goal is paused or done, and goals by the first of theirs.
  class Shelf {
   public:
    void Put(const std::string& goal, const Order& order, const std::string& task, const Goal* its_goal);
    void Take(const std::string& goal, const Order& order, const std::string& task, const Goal* its_goal);
    // The goal changed, or went (nullptr).
    void SetGoal(const std::string& goal, const Goal* now);
    // Among them are the first `most` of the shelf.
    void AddFirst(std::size_t most, std::vector<std::string>& tasks) const;
    bool Empty() const { return goals_.empty(); }

   private:
    struct OfGoal {
      std::set<std::pair<Order, std::string>> tasks;
      std::array<std::int64_t, 5> first{};  // where the goal stands in first_
      bool stands = false;
    };
    std::map<std::string, OfGoal> goals_;
    std::set<std::pair<std::array<std::int64_t, 5>, std::string>> first_;
  };
  struct Place {
    std::string goal;
    Order order{};
    std::string holder;    // empty: nobody's
    bool for_all = false;  // held, and shown to whoever asks for nobody
  };

  void MoveTo(const Document& state);
  void Count(const Task& task, int by);
  void TakeOut(const std::string& id);
  void PutIn(const std::string& id);
  template <class Visit>
  void EachShelf(const Place& place, const Visit& visit);
  bool DependenciesDone(const Task& task) const;
  const Goal* GoalOf(const std::string& id) const;

  std::mutex mutex_;
  Document state_;  // what all of this is of
  Work work_;
  Counts counts_;
  std::map<std::int64_t, std::string> open_;  // by created_order
  std::map<std::string, Place> places_;
  Shelf free_, held_;  // nobody's; held by somebody
  std::map<std::string, Shelf> held_by_;
};

}  // namespace acl::project
