#pragma once
// Memory that requests share: one such budget for what their answers are made of (states of runs, pages of journals), one for what their
// bodies become. Who asks for more than is left is told to try again; a request that is alone gets what it asks for, so that every run can
// be read, and so does one that needs little.

#include <atomic>
#include <memory>

#include "shared/base/result.h"

namespace acl::coordinator {

class AnswerBudget {
 public:
  explicit AnswerBudget(std::size_t most, std::size_t little = 0) : most_(most), little_(little) {}

  // One request's part, given back at its end.
  class Part {
   public:
    explicit Part(std::shared_ptr<AnswerBudget> budget) : budget_(std::move(budget)) {}
    ~Part() {
      if (budget_) budget_->used_ -= taken_;
    }
    Part(Part&& other) noexcept : budget_(std::move(other.budget_)), taken_(std::exchange(other.taken_, 0)) {}
    Part& operator=(Part&&) = delete;

    // kUnavailable if others have too much.
    Status Take(std::size_t bytes);

   private:
    std::shared_ptr<AnswerBudget> budget_;
    std::size_t taken_ = 0;
  };

  std::size_t used() const { return used_; }

 private:
  const std::size_t most_, little_;
  std::atomic<std::size_t> used_{0};
};

}  // namespace acl::coordinator
