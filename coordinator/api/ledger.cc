// /v1/ledger: facts that people stand for, and what asking may cost (shared/kinds/ledger).
#include <fmt/format.h>

#include "coordinator/api/ask_request.h"
#include "coordinator/ask/ask_desk.h"
#include "shared/base/json_members.h"

namespace acl::coordinator {

namespace {

constexpr std::size_t kMostLedgerBytes = 64u << 10;

HttpResponse Command(const ApiContext& api, const HttpRequest& request, const char* name, const std::vector<std::string>& members) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  std::vector<std::string> known = members;
  known.insert(known.end(), {"project", "by"});
  auto read = ReadObject(request, known);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  if (auto wrong = WrongText(body, {}, {"project", "by"})) return std::move(*wrong);
  auto by = ReadBy(request, body);
  if (const auto* refusal = RefusalOf(by)) return *refusal;
  auto project = ReadProjectNamed(api, TextIn(body, "project"));
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  Json command = std::move(body);
  command.erase("project");
  command["by"] = ValueOf(by);
  command["name"] = name;
  if (request.params.contains("fact_id")) command["fact_id"] = request.Param("fact_id");
  auto told = api.asks->Ledger(ValueOf(project), std::move(command), ValueOf(key));
  if (!told && told.code() == Code::kInvalid) return Problem(422, "key-reused", told.message());
  if (!told) return ProblemOf(told.error());
  if (told->refused) return RefusedBy(told->refused->reason, told->refused->code, told->refused->message, told->refused->details);
  return HttpResponse::OfJson(200, told->answer);
}

HttpResponse List(const ApiContext& api, const HttpRequest& request) {
  const std::string* named = request.Query("project");
  auto project = ReadProjectNamed(api, named ? *named : "");
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  auto limit = ReadNumber(request, "limit", 200, 1, 1'000);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  const std::string* status = request.Query("status");
  if (status && *status != "proposed" && *status != "ratified" && *status != "retracted" && *status != "all")
    return Problem(400, "bad-parameter", "status is one of proposed, ratified, retracted, all");
  auto state = api.asks->ReadLedger(ValueOf(project));
  if (!state) return ProblemOf(state.error());
  Json facts = Json::array();
  bool more = false;
  std::vector<ledger::Fact> all = ledger::Facts(*state);
  for (auto fact = all.rbegin(); fact != all.rend(); ++fact) {  // newest first
    if (status && *status != "all" && ledger::NameOf(fact->status) != *status) continue;
    if (std::int64_t(facts.size()) >= ValueOf(limit)) {
      more = true;
      break;
    }
    facts.push_back(ToJson(*fact));
  }
  Json answer = {{"facts", std::move(facts)}, {"more", more}};
  if (const auto there = ledger::FindLedger(*state)) {
    const ledger::Account& account = there->account;
    answer["budget"] = {{"period", account.period},
                        {"limit_micros", account.limit_micros},
                        {"spent_micros", account.spent_micros},
                        {"reserved_micros", account.reserved_micros}};
  }
  return HttpResponse::OfJson(200, answer);
}

}  // namespace

void AddLedgerRoutes(Router& router, const ApiContext& api) {
  if (api.asks == nullptr) return;
  const RouteOptions command{.max_body = kMostLedgerBytes, .content_types = {"application/json"}};
  router.Add("GET", "/v1/ledger", {}, [api](const HttpRequest& r) { return List(api, r); });
  router.Add("POST", "/v1/ledger/facts", command, [api](const HttpRequest& r) {
    return Command(api, r, "propose_fact", {"claim", "source", "confidence", "subject", "contradicts"});
  });
  router.Add("POST", "/v1/ledger/facts/{fact_id}/ratify", command,
             [api](const HttpRequest& r) { return Command(api, r, "ratify_fact", {}); });
  router.Add("POST", "/v1/ledger/facts/{fact_id}/retract", command,
             [api](const HttpRequest& r) { return Command(api, r, "retract_fact", {"reason"}); });
  router.Add("POST", "/v1/ledger/budget", command, [api](const HttpRequest& r) {
    return Command(api, r, "set_budget", {"limit_micros", "period"});
  });
}

}  // namespace acl::coordinator
