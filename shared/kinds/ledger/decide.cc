#include "shared/kinds/ledger/decide.h"

#include <fmt/format.h>

#include <set>

#include "shared/kinds/ledger/evolve.h"

namespace acl::ledger {

namespace {

constexpr std::string_view kHoldTimer = "hold:";  // then the call's id

class Decider : private CommandReader {
 public:
  Decider(const Document& state, const Json& command, WallTime now) : CommandReader(command, now), state_(state) {}

  Decided Run() {
    const std::string name = Text("name", kMostNameBytes);
    auto ledger = FindLedger(state_);
    if (!ledger) RefuseCommand(Code::kNotFound, "NOT_FOUND", "this project has no ledger yet");
    ledger_ = std::move(*ledger);
    if (name == "propose_fact") {
      Propose();
    } else if (name == "ratify_fact") {
      Ratify();
    } else if (name == "retract_fact") {
      Retract();
    } else if (name == "set_budget") {
      SetBudget();
    } else if (name == "reserve") {
      Reserve();
    } else if (name == "settle") {
      Settle();
    } else {
      RefuseForm(fmt::format("there is no command \"{}\" of a ledger", name));
    }
    return std::move(decided_);
  }

  Decided Expired(const std::string& call_id) {
    const auto hold = FindHold(state_, call_id);
    if (hold && now_ >= hold->expires) Say(events::kExpired, {{"call_id", call_id}, {"micros", hold->micros}});
    return std::move(decided_);
  }

 private:
  Fact FactOf() {
    const std::string id = Text("fact_id", kMostNameBytes);
    auto fact = FindFact(state_, id);
    if (!fact) RefuseCommand(Code::kNotFound, "NOT_FOUND", fmt::format("there is no fact \"{}\" in this ledger", id));
    return std::move(*fact);
  }

  void Propose() {
    if (ledger_.facts >= kMostFacts) RefuseCommand(Code::kConflict, "LIMIT", fmt::format("a ledger takes {} facts", kMostFacts));
    const std::string id = fmt::format("ledger:{:06}", ledger_.facts + 1);
    Json facts = {{"fact_id", id}, {"claim", Text("claim", kMostClaimBytes)}, {"source", Text("source", kMostNameBytes)}};
    const std::string confidence = Text("confidence", kMostNameBytes, false);
    if (!std::set<std::string>{"", "low", "medium", "high"}.contains(confidence))
      RefuseForm(fmt::format("confidence: is \"{}\"; it is one of: low, medium, high", confidence));
    facts["confidence"] = confidence.empty() ? "medium" : confidence;
    if (const std::string subject = Text("subject", kMostNameBytes, false); !subject.empty()) facts["subject"] = subject;
    if (const auto found = command_.find("contradicts"); found != command_.end()) {
      if (!found->is_array() || found->size() > std::size_t(kMostContradicted))
        RefuseForm(fmt::format("contradicts: is no list of at most {} facts", kMostContradicted));
      for (const Json& one : *found) {
        if (!one.is_string() || !FindFact(state_, one.get_ref<const std::string&>()))
          RefuseCommand(Code::kNotFound, "NOT_FOUND",
                        fmt::format("contradicts: there is no fact {} in this ledger", DumpJson(one).substr(0, 200)));
      }
      if (!found->empty()) facts["contradicts"] = *found;
    }
    facts["by"] = Text("by", kMostNameBytes);
    Say(events::kProposed, std::move(facts));
    decided_.answer = {{"fact_id", id}};
  }

  void Ratify() {
    const Fact fact = FactOf();
    if (fact.status != FactStatus::kProposed)
      RefuseCommand(
          Code::kConflict, "NOT_PROPOSED",
          fmt::format("fact {} was {} by {} at {}", fact.id, NameOf(fact.status), fact.decided_by, FormatWallTime(fact.decided_at)));
    Say(events::kRatified, {{"fact_id", fact.id}, {"by", Text("by", kMostNameBytes)}});
    decided_.answer = {{"fact_id", fact.id}};
  }

  void Retract() {
    const Fact fact = FactOf();
    if (fact.status == FactStatus::kRetracted)
      RefuseCommand(Code::kConflict, "RETRACTED",
                    fmt::format("fact {} was retracted by {} at {}", fact.id, fact.decided_by, FormatWallTime(fact.decided_at)));
    Say(events::kRetracted, {{"fact_id", fact.id}, {"reason", Text("reason", kMostClaimBytes)}, {"by", Text("by", kMostNameBytes)}});
    decided_.answer = {{"fact_id", fact.id}};
  }

  void SetBudget() {
    const std::string period = Text("period", kMostNameBytes);
    if (!std::set<std::string>{"day", "month", "total"}.contains(period))
      RefuseForm(fmt::format("period: is \"{}\"; it is one of: day, month, total", period));
    Say(events::kBudgetSet, {{"limit_micros", Micros("limit_micros")}, {"period", period}, {"by", Text("by", kMostNameBytes)}});
  }

  void Reserve() {
    const std::string id = Text("call_id", kMostNameBytes);
    const std::int64_t micros = Micros("micros");
    const WallTime expires = Time("expires");
    if (FindHold(state_, id)) RefuseCommand(Code::kConflict, "EXISTS", fmt::format("for call {} something is set aside already", id));
    const Account& account = ledger_.account;
    const bool fresh = PeriodStart(account.period, now_) > account.since;
    const std::int64_t spent = fresh ? 0 : account.spent_micros;
    if (account.limit_micros > 0 && spent + account.reserved_micros + micros > account.limit_micros) {
      const auto resets = PeriodEnd(account.period, now_);
      RefuseCommand(Code::kConflict, "BUDGET",
                    fmt::format("this call may cost {} and the project's budget of {} a {} has {} left (millionths of a dollar){}", micros,
                                account.limit_micros, account.period, account.limit_micros - spent - account.reserved_micros,
                                resets ? ": it begins again at " + FormatWallTime(*resets) : ""),
                    {{"budget", "project"},
                     {"limit_micros", account.limit_micros},
                     {"spent_micros", spent},
                     {"reserved_micros", account.reserved_micros},
                     {"resets_at", resets ? Json(FormatWallTime(*resets)) : Json()}});
    }
    Say(events::kReserved, {{"call_id", id}, {"micros", micros}, {"expires", FormatWallTime(expires)}});
    decided_.timers_set.push_back({std::string(kHoldTimer) + id, expires});
  }

  void Settle() {
    const std::string id = Text("call_id", kMostNameBytes);
    if (!FindHold(state_, id)) RefuseCommand(Code::kNotFound, "NOT_FOUND", fmt::format("nothing is set aside for call {}", id));
    Say(events::kSettled, {{"call_id", id}, {"micros", Micros("micros")}});
    decided_.timers_cleared.push_back(std::string(kHoldTimer) + id);
  }

  const Document& state_;
  Ledger ledger_;
};

}  // namespace

EventDraft Created(const std::string& by, WallTime now) {
  EventDraft draft;
  draft.type = events::kCreated;
  draft.facts = {{"by", by}};
  draft.at = now;
  return draft;
}

// What people may not do is on record; that a call was too dear is said to who called, and what it would have cost stands with it.
Decided Decide(const Document& state, const Json& command, WallTime now) {
  Decided decided = CaughtCommand([&] { return Decider(state, command, now).Run(); });
  if (!decided.refused || decided.refused->code != Code::kConflict || !state.Has(kLedgerKey)) return decided;
  EventDraft draft;
  draft.type = events::kRefused;
  draft.facts = {{"command", command.value("name", "")}, {"reason", decided.refused->reason}, {"message", decided.refused->message}};
  draft.at = now;
  decided.events.push_back(std::move(draft));
  return decided;
}

Decided DecideExpired(const Document& state, const std::string& timer_id, WallTime now) {
  if (!timer_id.starts_with(kHoldTimer)) return {};
  const Json none = Json::object();
  return CaughtCommand([&] { return Decider(state, none, now).Expired(timer_id.substr(kHoldTimer.size())); });
}

}  // namespace acl::ledger
