#include "coordinator/api/answer_budget.h"

#include "coordinator/api/api.h"
#include "shared/base/limits.h"

namespace acl::coordinator {

Status AnswerBudget::Part::Take(std::size_t bytes) {
  const std::size_t all = budget_->used_ += bytes;
  taken_ += bytes;
  if (all <= budget_->most_ || all == taken_ || taken_ <= budget_->little_) return {};
  budget_->used_ -= bytes;
  taken_ -= bytes;
  return Error{Code::kUnavailable, "too many large requests are being answered at once; try again"};
}

std::shared_ptr<AnswerBudget> MakeAnswerBudget() { return std::make_shared<AnswerBudget>(limits::kAnswersBytes, limits::kMiB); }
std::shared_ptr<AnswerBudget> MakeRequestBudget() { return std::make_shared<AnswerBudget>(limits::kRequestsBytes); }

}  // namespace acl::coordinator
