#include "coordinator/api/answer_budget.h"

#include "coordinator/api/api.h"
#include "shared/base/limits.h"

namespace acl::coordinator {

Status AnswerBudget::Part::Take(std::size_t bytes) {
  const std::size_t counted = budget_->Counted(taken_), wanted = budget_->Counted(taken_ + bytes);
  const std::size_t all = budget_->used_ += wanted - counted;
  if (wanted > counted && all > budget_->most_ && all != wanted) {
    budget_->used_ -= wanted - counted;
    return Error{Code::kUnavailable, "too many large requests are being answered at once; try again"};
  }
  taken_ += bytes;
  return {};
}

void AnswerBudget::Part::Keep(std::size_t bytes) {
  if (bytes >= taken_) return;
  budget_->used_ -= budget_->Counted(taken_) - budget_->Counted(bytes);
  taken_ = bytes;
}

std::shared_ptr<AnswerBudget> MakeAnswerBudget() {
  return std::make_shared<AnswerBudget>(limits::kAnswersBytes, limits::kSmallAnswerBytes);
}
std::shared_ptr<AnswerBudget> MakeRequestBudget() { return std::make_shared<AnswerBudget>(limits::kRequestsBytes); }

}  // namespace acl::coordinator
