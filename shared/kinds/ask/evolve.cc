#include "shared/kinds/ask/evolve.h"

#include "shared/base/json_members.h"
#include "shared/kinds/ask/intents.h"

namespace acl::ask {

namespace {

// One event being turned into its delta.
class Evolver {
 public:
  Evolver(const Document& state, const EventDraft& draft) : state_(state), draft_(draft), facts_(draft.facts) {}

  Delta Run() {
    auto session = FindSession(state_);
    if (draft_.type == events::kCreated) {
      if (state_.size() != 0) return Delta::Impossible("a session is created once");
      delta_.Add(kMadeKey, {{"by", TextIn(facts_, "by")}});
      return std::move(delta_);
    }
    if (draft_.type == events::kOpened) return Open(session.has_value());
    if (!session) return Delta::Impossible("no session");
    session_ = std::move(*session);
    if (!Change()) return Delta::Impossible("no event of a session, or of nothing that is there: " + draft_.type);
    delta_.Add(kSessionKey, ToJson(session_));
    return std::move(delta_);
  }

 private:
  Delta Open(bool there) {
    if (there) return Delta::Impossible("a session opens once");
    session_.session_id = TextIn(facts_, "session_id");
    session_.binding = {TextIn(facts_, "phase"), int(NumberIn(facts_, "tier")), TextIn(facts_, "kernel_hash"), TextIn(facts_, "host_role"),
                        TextIn(facts_, "model_id")};
    session_.owner = TextIn(facts_, "owner");
    session_.limit_micros = NumberIn(facts_, "limit_micros");
    session_.started_at = draft_.at;
    delta_.Add(kSessionKey, ToJson(session_));
    return std::move(delta_);
  }

  bool Change() {
    const std::string& type = draft_.type;
    if (type == events::kRefused || type == events::kReleased) return true;
    if (type == events::kPrepared) return Prepare();
    if (type == events::kRecorded) return Record();
    if (type == events::kFailed) return Conclude();
    if (type == events::kUncertain) return Lose();
    if (type == events::kDriftOpened) return OpenDrift();
    if (type == events::kDriftClosed) return CloseDrift();
    if (type.starts_with(kIntentPrefix.substr(0, kIntentPrefix.size() - 1))) return ChangeIntent();
    if (type != events::kClosed) return false;
    session_.open = false;
    session_.ended_at = draft_.at;
    return true;
  }

  bool Prepare() {
    UnderWay exchange;
    exchange.exchange_id = TextIn(facts_, "exchange_id");
    exchange.by = TextIn(facts_, "by");
    exchange.provider = TextIn(facts_.at("call"), "provider");
    exchange.model = TextIn(facts_.at("call"), "model");
    exchange.turn_user_id = TextIn(facts_.at("user"), "turn_id");
    exchange.bundle_hash = TextIn(facts_, "bundle_hash");
    exchange.prompt_hash = TextIn(facts_, "prompt_hash");
    exchange.reserved_micros = NumberIn(facts_, "reserved_micros");
    exchange.prepared_at = draft_.at;
    exchange.deadline = ParseWallTime(TextIn(facts_, "deadline")).value_or(draft_.at);
    ++session_.exchanges;
    session_.reserved_micros += exchange.reserved_micros;
    delta_.Add(ExchangeKey(exchange.exchange_id), ToJson(exchange));
    AddTurn(facts_.at("user"), exchange.exchange_id, "user");
    return true;
  }

  void AddTurn(const Json& said, const std::string& exchange_id, const char* speaker) {
    ++session_.turns;
    delta_.Add(TurnKey(session_.turns), ToJson(Turn{TextIn(said, "turn_id"), exchange_id, speaker, TextIn(said, "content"),
                                                    TextIn(said, "content_hash"), draft_.at}));
    const std::int64_t oldest = session_.turns - kKeptTurns;
    if (oldest >= 1 && state_.Has(TurnKey(oldest))) delta_.Remove(TurnKey(oldest));
  }

  bool Record() {
    if (!Conclude()) return false;
    AddTurn(facts_.at("aurora"), TextIn(facts_, "exchange_id"), "aurora");
    return true;
  }

  // What was reserved becomes what it cost. A lost call's reservation was taken for its cost.
  bool Conclude() {
    const auto exchange = FindUnderWay(state_, TextIn(facts_, "exchange_id"));
    if (!exchange) return false;
    (exchange->lost ? session_.spent_micros : session_.reserved_micros) -= exchange->reserved_micros;
    session_.spent_micros += NumberIn(facts_, "cost_micros");
    delta_.Remove(ExchangeKey(exchange->exchange_id));
    return true;
  }

  bool Lose() {
    auto exchange = FindUnderWay(state_, TextIn(facts_, "exchange_id"));
    if (!exchange || exchange->lost) return false;
    session_.reserved_micros -= exchange->reserved_micros;
    session_.spent_micros += exchange->reserved_micros;
    exchange->lost = true;
    delta_.Add(ExchangeKey(exchange->exchange_id), ToJson(*exchange));
    return true;
  }

  bool OpenDrift() {
    ++session_.drifts;
    const Drift drift{
        TextIn(facts_, "drift_id"), TextIn(facts_, "exchange_id"), TextIn(facts_, "drift_class"),   TextIn(facts_, "severity"),
        TextIn(facts_, "summary"),  TextIn(facts_, "prompt_hash"), TextIn(facts_, "response_hash"), draft_.at};
    delta_.Add(DriftKey(drift.id), ToJson(drift));
    return true;
  }

  bool ChangeIntent() {
    const auto intent = IntentAfter(state_, draft_.type, facts_, draft_.at);
    if (!intent) return false;
    delta_.Add(IntentKey(intent->request.approval_id), ToJson(*intent));
    return true;
  }

  bool CloseDrift() {
    const std::string key = DriftKey(TextIn(facts_, "drift_id"));
    if (!state_.Has(key)) return false;
    delta_.Remove(key);
    return true;
  }

  const Document& state_;
  const EventDraft& draft_;
  const Json& facts_;
  Session session_;
  Delta delta_;
};

}  // namespace

Delta Evolve(const Document& state, const EventDraft& draft) { return Evolver(state, draft).Run(); }

}  // namespace acl::ask
