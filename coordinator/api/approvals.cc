// /v1/approvals: what people are asked, and what they say. A decision is an input of the run like any other; the answer is what the run's
// journal made of it, which is waited for a while. Who may decide is said by approval::Decide in the run, whatever the way in.
#include <fmt/format.h>

#include <algorithm>

#include "coordinator/api/api.h"
#include "coordinator/api/decisions.h"
#include "coordinator/api/request.h"
#include "shared/approval/render.h"
#include "shared/http/problem.h"
#include "shared/http/url.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMaxDecisionBytes = 64u << 10;
constexpr std::size_t kDigestDigits = 64;

Json ApprovalToJson(const approval::ShownApproval& shown) {
  Json out = approval::ToJson(shown.request);
  out["position"] = shown.position;
  out["url"] = "/v1/approvals/" + PercentEncode(shown.request.approval_id);
  return out;
}

// With what a person should see before deciding.
HttpResponse AnswerWith(const approval::ShownApproval& shown, int status = 200) {
  Json out = ApprovalToJson(shown);
  const approval::Shown seen = approval::Render(shown.request);
  out["shown"] = Json::array();
  for (const approval::ShownLine& line : seen.lines) out["shown"].push_back({{"name", line.name}, {"text", line.text}});
  out["shown_digest"] = seen.digest;
  out["shown_truncated"] = seen.truncated;
  return HttpResponse::OfJson(status, out);
}

// In a list, without what the approval is about, which may be large.
Json LineOf(const approval::ShownApproval& shown) {
  Json line = ApprovalToJson(shown);
  line.erase("arguments");
  return line;
}

// What one run waits for, oldest first.
HttpResponse PendingOf(const ApiContext& api, const std::string& part) {
  auto run = ReadSubject(api, part);
  if (const auto* refusal = RefusalOf(run)) return *refusal;
  auto rows = api.approvals->PendingOf(ValueOf(run));
  if (!rows) return ProblemOf(rows.error());
  Json answer = {{"approvals", Json::array()}};
  for (const auto& row : *rows) answer["approvals"].push_back(LineOf(row));
  return HttpResponse::OfJson(200, answer);
}

HttpResponse ListApprovals(const ApiContext& api, const HttpRequest& request) {
  auto limit = ReadNumber(request, "limit", 100, 1, 1000);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  auto before = ReadNumber(request, "before", 0, 0, std::numeric_limits<std::int64_t>::max());
  if (const auto* refusal = RefusalOf(before)) return *refusal;
  if (const auto* part = request.Query("run")) return PendingOf(api, *part);
  std::optional<std::string> state(approval::kPending);
  if (const auto* word = request.Query("state")) {
    state = *word;
    const auto known = {approval::kPending, approval::kApproved, approval::kRejected, approval::kTimeout, approval::kCancelled};
    if (*state == "ALL")
      state.reset();
    else if (std::find(known.begin(), known.end(), *state) == known.end())
      return Problem(400, "bad-parameter", "state is one of PENDING, APPROVED, REJECTED, TIMEOUT, CANCELLED, ALL");
  }
  auto rows = api.approvals->List(kDefaultProject, state, ValueOf(before), int(ValueOf(limit)) + 1);
  if (!rows) return ProblemOf(rows.error());
  const bool more = std::int64_t(rows->size()) > ValueOf(limit);
  if (more) rows->pop_back();
  Json answer = {{"approvals", Json::array()}};
  for (const auto& row : *rows) answer["approvals"].push_back(LineOf(row));
  if (more) answer["next_before"] = rows->back().position;
  return HttpResponse::OfJson(200, answer);
}

HttpResponse ShowApproval(const ApiContext& api, const HttpRequest& request) {
  auto shown = api.approvals->Get(kDefaultProject, request.Param("approval_id"));
  if (!shown) return ProblemOf(shown.error());
  return AnswerWith(*shown);
}

std::optional<HttpResponse> WrongIn(const Json& body) {
  const auto wrong = [](const std::string& member, const std::string& what) {
    return Problem(422, "invalid-request", fmt::format("'{}' {}", member, what),
                   Json::array({ErrorItem("bad-value", fmt::format("'{}' {}", member, what), "/" + member)}));
  };
  for (const char* member : {"decision", "digest"})
    if (!body.contains(member)) return wrong(member, "is missing");
  for (const char* member : {"decision", "digest", "comment", "shown_digest", "approver", "channel"})
    if (body.contains(member) && !body[member].is_string()) return wrong(member, "is not a string");
  const std::pair<const char*, std::size_t> longest[] = {{"comment", approval::kLongestComment},
                                                         {"approver", approval::kLongestName},
                                                         {"digest", kDigestDigits},
                                                         {"shown_digest", kDigestDigits}};
  for (const auto& [member, most] : longest)
    if (body.contains(member) && body[member].get_ref<const std::string&>().size() > most)
      return wrong(member, fmt::format("is longer than {} bytes", most));
  if (body.contains("channel") && body["channel"] != "api" && body["channel"] != "cli") return wrong("channel", "is api or cli");
  if (body["decision"] != "approve" && body["decision"] != "reject") return wrong("decision", "is approve or reject");
  if (body.contains("roles")) {
    if (!body["roles"].is_array()) return wrong("roles", "is not an array");
    for (const Json& role : body["roles"])
      if (!role.is_string()) return wrong("roles", "is not an array of strings");
  }
  return std::nullopt;
}

HttpResponse PostDecision(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadObject(request, {"decision", "digest", "comment", "shown_digest", "approver", "roles", "channel"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  if (auto wrong = WrongIn(body)) return std::move(*wrong);
  GivenDecision given;
  given.payload = std::move(body);
  given.payload["assurance"] = request.principal.empty() ? "none" : "key";
  if (!given.payload.contains("channel")) given.payload["channel"] = "api";
  if (!request.principal.empty()) {  // who it is says the key; a name in the body is a label
    given.payload["by"] = request.principal;
    given.payload["roles"] = request.roles;
  }
  given.approval_id = request.Param("approval_id");
  given.key = ValueOf(key);
  const Decided decided = Decide(api, given);
  if (decided.refusal) return *decided.refusal;
  auto response = AnswerWith(*decided.shown, decided.known ? 200 : 202);
  return decided.replayed ? response.With("Idempotent-Replayed", "true") : response;
}

}  // namespace

void AddApprovalRoutes(Router& router, const ApiContext& api) {
  if (api.approvals == nullptr) return;
  const RouteOptions decision{.max_body = kMaxDecisionBytes, .content_types = {"application/json"}, .body_required = true};
  router.Add("GET", "/v1/approvals", {}, [api](const HttpRequest& r) { return ListApprovals(api, r); });
  router.Add("GET", "/v1/approvals/{approval_id}", {}, [api](const HttpRequest& r) { return ShowApproval(api, r); });
  router.Add("POST", "/v1/approvals/{approval_id}/decision", decision, [api](const HttpRequest& r) { return PostDecision(api, r); });
}

}  // namespace acl::coordinator
