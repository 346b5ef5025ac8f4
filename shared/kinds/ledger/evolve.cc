#include "shared/kinds/ledger/evolve.h"

#include "shared/base/json_members.h"

namespace acl::ledger {

namespace {

// What was spent in a longer period says nothing of the shorter one that is in it.
int LengthOf(std::string_view period) { return period == "day" ? 1 : period == "month" ? 2 : 3; }

class Evolver {
 public:
  Evolver(const Document& state, const EventDraft& draft) : state_(state), draft_(draft), facts_(draft.facts) {}

  Delta Run() {
    auto ledger = FindLedger(state_);
    if (draft_.type == events::kCreated) {
      if (ledger) return Delta::Impossible("a ledger is created once");
      ledger.emplace();
    } else if (!ledger) {
      return Delta::Impossible("no ledger");
    }
    ledger_ = std::move(*ledger);
    ++ledger_.order;
    if (!Change()) return Delta::Impossible("no event of a ledger, or of nothing that is there: " + draft_.type);
    delta_.Add(kLedgerKey, ToJson(ledger_));
    return std::move(delta_);
  }

 private:
  bool Change() {
    const std::string& type = draft_.type;
    if (type == events::kCreated || type == events::kRefused || type == events::kReleased) return true;
    if (type == events::kProposed) return Propose();
    if (type == events::kRatified) return DecideFact(FactStatus::kRatified);
    if (type == events::kRetracted) return DecideFact(FactStatus::kRetracted);
    if (type == events::kReserved) return Reserve();
    if (type == events::kSettled || type == events::kExpired) return Settle();
    if (type != events::kBudgetSet) return false;
    NewPeriod();
    ledger_.account.limit_micros = NumberIn(facts_, "limit_micros");
    if (const std::string period = TextIn(facts_, "period"); period != ledger_.account.period) {
      if (LengthOf(period) < LengthOf(ledger_.account.period)) ledger_.account.spent_micros = 0;
      ledger_.account.period = period;
      ledger_.account.since = PeriodStart(period, draft_.at);
    }
    return true;
  }

  bool Propose() {
    Fact fact;
    fact.id = TextIn(facts_, "fact_id");
    fact.claim = TextIn(facts_, "claim");
    fact.source = TextIn(facts_, "source");
    fact.confidence = TextIn(facts_, "confidence");
    fact.subject = TextIn(facts_, "subject");
    if (const auto found = facts_.find("contradicts"); found != facts_.end()) fact.contradicts = found->get<std::vector<std::string>>();
    fact.proposed_by = TextIn(facts_, "by");
    fact.proposed_at = draft_.at;
    fact.order = ledger_.order;
    ++ledger_.facts;
    delta_.Add(FactKey(fact.id), ToJson(fact));
    return true;
  }

  bool DecideFact(FactStatus to) {
    auto fact = FindFact(state_, TextIn(facts_, "fact_id"));
    if (!fact) return false;
    fact->status = to;
    fact->decided_by = TextIn(facts_, "by");
    fact->decided_at = draft_.at;
    fact->reason = TextIn(facts_, "reason");
    delta_.Add(FactKey(fact->id), ToJson(*fact));
    return true;
  }

  // A new period begins with nothing spent; what is under way was set aside in the old one and is paid from the new.
  void NewPeriod() {
    Account& account = ledger_.account;
    const WallTime since = PeriodStart(account.period, draft_.at);
    if (since <= account.since) return;
    account.since = since;
    account.spent_micros = 0;
  }

  bool Reserve() {
    NewPeriod();
    const Hold hold{TextIn(facts_, "call_id"), NumberIn(facts_, "micros"), ParseWallTime(TextIn(facts_, "expires")).value_or(draft_.at)};
    ledger_.account.reserved_micros += hold.micros;
    delta_.Add(HoldKey(hold.id), ToJson(hold));
    return true;
  }

  bool Settle() {
    NewPeriod();
    const auto hold = FindHold(state_, TextIn(facts_, "call_id"));
    if (!hold) return false;
    ledger_.account.reserved_micros -= hold->micros;
    ledger_.account.spent_micros += NumberIn(facts_, "micros");
    delta_.Remove(HoldKey(hold->id));
    return true;
  }

  const Document& state_;
  const EventDraft& draft_;
  const Json& facts_;
  Ledger ledger_;
  Delta delta_;
};

}  // namespace

Delta Evolve(const Document& state, const EventDraft& draft) { return Evolver(state, draft).Run(); }

}  // namespace acl::ledger
