// What an exchange may cost and did cost: set aside in the project's ledger before the call, settled behind it, whatever came of it.
#include <fmt/format.h>

#include <algorithm>

#include "coordinator/ask/exchange.h"
#include "coordinator/ask/exchange_facts.h"
#include "shared/telemetry/log.h"

namespace acl::coordinator {

// Of the project's budget, before the call: who comes at once with others waits for nobody and overspends nothing.
void AskDesk::Exchange::Reserve() {
  if (Status there = desk_.EnsureLedger(asked_.project, asked_.by); !there) EndFor(there.error(), "the project's ledger");
  const WallTime expires = desk_.parts_.clock.Wall() + setup_.model->provider().total_timeout + 2 * kRecordMargin;
  auto told =
      desk_.Ledger(asked_.project,
                   {{"name", "reserve"}, {"call_id", call_id_}, {"micros", reserved_}, {"expires", FormatWallTime(expires)}}, std::nullopt);
  if (!told) EndFor(told.error(), "the project's ledger");
  if (told->refused && told->refused->reason == "EXISTS")
    End("under-way", "an ask under this key is under way: ask again in a moment, under the same key", 409);
  if (told->refused) End("budget", told->refused->message, 409, told->refused->details);
  holds_ = true;
}

void AskDesk::Exchange::SettleWith(aegis::Micros cost) {
  static const Logger log("ask");
  if (!std::exchange(holds_, false)) return;
  auto told = desk_.Ledger(asked_.project, {{"name", "settle"}, {"call_id", call_id_}, {"micros", cost}}, std::nullopt);
  if (!told)
    log.Warn("what a call cost could not be settled; it counts as spent when it expires",
             {{"exchange", exchange_id_}, {"error", told.message()}});
}

// What costs nobody knows how much is not asked on somebody's budget.
bool AskDesk::Exchange::IsBounded() {
  if (opened_.limit_micros > 0) return true;
  auto ledger = desk_.ReadLedger(asked_.project);
  if (!ledger) EndFor(ledger.error(), "the project's ledger");
  const auto there = ledger::FindLedger(*ledger);
  return there && there->account.limit_micros > 0;
}

// A call that surely did not run costs nothing; of one that may have, nobody knows.
void AskDesk::Exchange::CallFailed(const aegis::ModelFailure& failure) {
  const std::string message = Describe(failure);
  const aegis::Settlement cost = aegis::SettlementOf(failure, estimate_, price_);
  Json command = {{"exchange_id", exchange_id_}, {"message", message}};
  if (failure.ran == aegis::Ran::kMaybe) {
    command["name"] = "lose";
  } else {
    command["name"] = "fail";
    command["code"] = NameOf(failure.code);
    command["cost_micros"] = cost.cost;
  }
  const CommandAnswer told = Execute(std::move(command));
  // An attempt before the last may have run though the last surely did not.
  SettleWith(failure.ran == aegis::Ran::kMaybe ? std::max(cost.cost, reserved_) : cost.cost);
  if (told.refused) End("session", told.refused->message, 409, {{"exchange_id", exchange_id_}});
  if (failure.ran == aegis::Ran::kMaybe)
    End("uncertain", fmt::format("nobody knows what became of exchange {}: {}", exchange_id_, message), 409,
        {{"exchange_id", exchange_id_}});
  End(WordOf(NameOf(failure.code)), message, 502, {{"exchange_id", exchange_id_}});
}

}  // namespace acl::coordinator
