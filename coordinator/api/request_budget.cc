#include "coordinator/api/request_budget.h"

#include "coordinator/api/answer_budget.h"
#include "shared/base/json.h"
#include "shared/http/problem.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kCountedFrom = 64 * 1024;
constexpr std::size_t kReadPerValue = 100, kReadPerByte = 4;
constexpr std::size_t kHandlePerValue = 300, kHandlePerByte = 6;

}  // namespace

std::size_t RoomToRead(std::string_view json) {
  return json.size() < kCountedFrom ? json.size() : kReadPerValue * CountJsonValues(json) + kReadPerByte * json.size();
}

std::size_t RoomToHandle(std::string_view body) { return kHandlePerValue * CountJsonValues(body) + kHandlePerByte * body.size(); }

HttpHandler WithinBudget(const ApiContext& api, HttpHandler handler) {
  return [requests = api.requests, handler = std::move(handler)](const HttpRequest& request) {
    if (request.body.size() < kCountedFrom) return handler(request);
    AnswerBudget::Part memory(requests);
    if (Status taken = memory.Take(RoomToHandle(request.body)); !taken) return ProblemOf(taken.error());
    return handler(request);
  };
}

}  // namespace acl::coordinator
