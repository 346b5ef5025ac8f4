#pragma once
// Memory that requests share: one such budget for what their answers are made of (states of runs, pages of journals), one for what their
// bodies become. Who asks for more than is left is told to try again; a request that is alone gets what it asks for, so that every run can
// be read. Small ones do not count: a large one, which may be beyond the bound, keeps none of them out, nor do they make it less alone.

#include <atomic>
#include <memory>

#include "shared/base/result.h"

namespace acl::coordinator {

class AnswerBudget {
 public:
  // `small`: what a part may take without being counted.
  explicit AnswerBudget(std::size_t most, std::size_t small = 0) : most_(most), small_(small) {}

  // One request's part, released at its end.
  class Part {
   public:
    explicit Part(std::shared_ptr<AnswerBudget> budget) : budget_(std::move(budget)) {}
    ~Part() {
      if (budget_) Keep(0);
    }
    Part(Part&& other) noexcept : budget_(std::move(other.budget_)), taken_(std::exchange(other.taken_, 0)) {}
    Part& operator=(Part&&) = delete;

    // kUnavailable if others have too much.
    Status Take(std::size_t bytes);
    // Gives back what goes beyond so much: the rest is needed no more.
    void Keep(std::size_t bytes);
    std::size_t taken() const { return taken_; }

   private:
    std::shared_ptr<AnswerBudget> budget_;
    std::size_t taken_ = 0;
  };

  std::size_t used() const { return used_; }

 private:
  std::size_t Counted(std::size_t taken) const { return taken > small_ ? taken : 0; }

  const std::size_t most_, small_;
  std::atomic<std::size_t> used_{0};
};

}  // namespace acl::coordinator
