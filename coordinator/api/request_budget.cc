#include "coordinator/api/request_budget.h"

#include <algorithm>

#include "coordinator/api/answer_budget.h"
#include "shared/base/json.h"
#include "shared/base/limits.h"
#include "shared/http/problem.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kCountedFrom = 64 * 1024;
constexpr std::size_t kReadPerValue = 100, kReadPerByte = 4;
constexpr std::size_t kHandlePerValue = 250, kHandlePerByte = 12;
constexpr std::size_t kPerWorkflowByte = 80;                     // a step of forty bytes is some three thousand
constexpr std::size_t kPerFolder = 2'400, kFoldersFrom = 1'000;  // with a path of 3,000 bytes, its half in the middle

// Of the longest text that stands behind a member "workflow", wherever that is.
std::size_t WorkflowBytes(std::string_view body) {
  constexpr std::string_view kMember = "\"workflow\"";
  std::size_t longest = 0;
  for (std::size_t at = 0; (at = body.find(kMember, at)) != std::string_view::npos;) {
    at = body.find_first_not_of(" \t\r\n:", at + kMember.size());
    if (at == std::string_view::npos) break;
    if (body[at] != '"') continue;
    const std::size_t begin = ++at;
    for (; at < body.size() && body[at] != '"'; ++at) at += body[at] == '\\' ? 1 : 0;
    longest = std::max(longest, std::min(at, body.size()) - begin);
  }
  return std::min(longest, limits::kWorkflowFileBytes);
}

// Of the folders above files, which a request need not name.
std::size_t RoomForFolders(std::string_view body) {
  const auto slashes = std::size_t(std::count(body.begin(), body.end(), '/'));
  return slashes < kFoldersFrom ? 0 : kPerFolder * std::min(slashes, limits::kRunFiles);
}

std::size_t RoomFor(const HttpRequest& request) {
  const std::string* type = request.Header("content-type");
  if (type == nullptr || type->find("yaml") == std::string::npos) return RoomToHandle(request.body);
  const std::size_t bytes = request.body.size();
  return bytes < kCountedFrom ? 0 : kPerWorkflowByte * std::min(bytes, limits::kWorkflowFileBytes);
}

}  // namespace

std::size_t RoomToRead(std::string_view json) {
  return json.size() < kCountedFrom ? json.size() : kReadPerValue * CountJsonValues(json) + kReadPerByte * json.size();
}

std::size_t RoomToHandle(std::string_view body) {
  if (body.size() < kCountedFrom) return RoomForFolders(body);
  return kHandlePerValue * std::min(CountJsonValues(body), limits::kJsonValues) + kHandlePerByte * body.size() + RoomForFolders(body) +
         kPerWorkflowByte * WorkflowBytes(body);
}

HttpHandler WithinBudget(const ApiContext& api, HttpHandler handler) {
  return [requests = api.requests, handler = std::move(handler)](const HttpRequest& request) {
    const std::size_t room = RoomFor(request);
    if (room == 0) return handler(request);
    AnswerBudget::Part memory(requests);
    if (Status taken = memory.Take(room); !taken) return ProblemOf(taken.error());
    return handler(request);
  };
}

}  // namespace acl::coordinator
