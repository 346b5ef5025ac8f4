#include "shared/kinds/ledger/model.h"

#include <algorithm>

#include "shared/base/json_members.h"

namespace acl::ledger {

std::string_view NameOf(FactStatus status) {
  switch (status) {
    case FactStatus::kProposed: return "proposed";
    case FactStatus::kRatified: return "ratified";
    case FactStatus::kRetracted: return "retracted";
  }
  return "proposed";
}

Json ToJson(const Ledger& ledger) {
  const Account& account = ledger.account;
  return {{"facts", ledger.facts},
          {"order", ledger.order},
          {"account",
           {{"period", account.period},
            {"limit_micros", account.limit_micros},
            {"reserved_micros", account.reserved_micros},
            {"spent_micros", account.spent_micros},
            {"since", FormatWallTime(account.since)}}}};
}

Json ToJson(const Fact& fact) {
  Json json = {{"id", fact.id},
               {"claim", fact.claim},
               {"source", fact.source},
               {"confidence", fact.confidence},
               {"status", NameOf(fact.status)},
               {"proposed_by", fact.proposed_by},
               {"proposed_at", FormatWallTime(fact.proposed_at)},
               {"order", fact.order}};
  if (!fact.subject.empty()) json["subject"] = fact.subject;
  if (!fact.contradicts.empty()) json["contradicts"] = fact.contradicts;
  if (fact.status == FactStatus::kProposed) return json;
  json["decided_by"] = fact.decided_by;
  json["decided_at"] = FormatWallTime(fact.decided_at);
  if (!fact.reason.empty()) json["reason"] = fact.reason;
  return json;
}

Json ToJson(const Hold& hold) { return {{"id", hold.id}, {"micros", hold.micros}, {"expires", FormatWallTime(hold.expires)}}; }

Fact FactFrom(const Json& json) {
  Fact fact;
  fact.id = TextIn(json, "id");
  fact.claim = TextIn(json, "claim");
  fact.source = TextIn(json, "source");
  fact.confidence = TextIn(json, "confidence");
  fact.subject = TextIn(json, "subject");
  if (const auto found = json.find("contradicts"); found != json.end()) fact.contradicts = found->get<std::vector<std::string>>();
  const std::string status = TextIn(json, "status");
  fact.status = status == "ratified" ? FactStatus::kRatified : status == "retracted" ? FactStatus::kRetracted : FactStatus::kProposed;
  fact.proposed_by = TextIn(json, "proposed_by");
  fact.decided_by = TextIn(json, "decided_by");
  fact.reason = TextIn(json, "reason");
  fact.order = NumberIn(json, "order");
  fact.proposed_at = TimeIn(json, "proposed_at");
  fact.decided_at = TimeIn(json, "decided_at");
  return fact;
}

std::optional<Ledger> FindLedger(const Document& state) {
  const Json* json = state.Find(kLedgerKey);
  if (json == nullptr) return std::nullopt;
  Ledger ledger;
  ledger.facts = NumberIn(*json, "facts");
  ledger.order = NumberIn(*json, "order");
  const Json account = json->value("account", Json::object());
  ledger.account = {account.value("period", "total"), NumberIn(account, "limit_micros"), NumberIn(account, "reserved_micros"),
                    NumberIn(account, "spent_micros"), TimeIn(account, "since")};
  return ledger;
}

std::optional<Fact> FindFact(const Document& state, std::string_view id) {
  const Json* json = state.Find(FactKey(id));
  return json == nullptr ? std::nullopt : std::optional(FactFrom(*json));
}

std::optional<Hold> FindHold(const Document& state, std::string_view id) {
  const Json* json = state.Find(HoldKey(id));
  if (json == nullptr) return std::nullopt;
  return Hold{TextIn(*json, "id"), NumberIn(*json, "micros"), TimeIn(*json, "expires")};
}

std::vector<Fact> Facts(const Document& state) {
  std::vector<Fact> facts;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(kFactPrefix)) facts.push_back(FactFrom(value));
    return true;
  });
  std::sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) { return a.id < b.id; });
  return facts;
}

WallTime PeriodStart(std::string_view period, WallTime now) {
  using namespace std::chrono;
  const auto day = floor<days>(now);
  if (period == "day") return WallTime(day);
  if (period != "month") return WallTime{};
  const year_month_day date{day};
  return WallTime(sys_days{date.year() / date.month() / 1});
}

std::optional<WallTime> PeriodEnd(std::string_view period, WallTime now) {
  using namespace std::chrono;
  if (period == "day") return WallTime(floor<days>(now) + days(1));
  if (period != "month") return std::nullopt;
  const year_month_day date{floor<days>(now)};
  return WallTime(sys_days{(date.year() / date.month() + months(1)) / 1});
}

}  // namespace acl::ledger
