#include "shared/kinds/ask/decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/kinds/ask/evolve.h"
#include "shared/kinds/ask/intents.h"

namespace acl::ask {

namespace {

constexpr std::string_view kCallTimer = "call:";  // then the exchange's id

// One command being decided. A member that a command must have and has not is a refusal of its form.
class Decider : private CommandReader {
 public:
  Decider(const Document& state, const Json& command, WallTime now) : CommandReader(command, now), state_(state) {}

  Decided Run() {
    const std::string name = Text("name", kMostText);
    if (name == "open_session") {
      Open();
    } else {
      auto session = FindSession(state_);
      if (!session) RefuseCommand(Code::kNotFound, "NOT_FOUND", "there is no session here: open it first");
      session_ = std::move(*session);
      if (name == "prepare") {
        Prepare();
      } else if (name == "record") {
        Record();
      } else if (name == "fail") {
        Fail();
      } else if (name == "lose") {
        Lose(UnderWayOf(), Text("message", kMostText));
      } else if (name == "close_drift") {
        CloseDrift();
      } else if (name == "close_session") {
        Close();
      } else if (name == "decide_intent") {
        return DecideIntent(state_, command_, now_);
      } else {
        RefuseForm(fmt::format("there is no command \"{}\" of a session", name));
      }
    }
    return std::move(decided_);
  }

  Decided Deadline(const std::string& exchange_id) {
    const auto exchange = FindUnderWay(state_, exchange_id);
    if (exchange && !exchange->lost && now_ >= exchange->deadline)
      Lose(*exchange, fmt::format("no outcome was on record by {}", FormatWallTime(exchange->deadline)));
    return std::move(decided_);
  }

 private:
  const Json& Said(const char* name) {
    const Json& value = Member(name);
    for (const char* each : {"turn_id", "content", "content_hash"}) {
      const auto found = value.is_object() ? value.find(each) : value.end();
      if (!value.is_object() || found == value.end() || !found->is_string()) RefuseForm(fmt::format("{}: has no {}", name, each));
    }
    return value;
  }

  // The command's own members, as the event's facts.
  Json Facts() const {
    Json facts = command_;
    facts.erase("name");
    facts.erase("head_seq");
    return facts;
  }

  void Open() {
    if (FindSession(state_)) RefuseCommand(Code::kConflict, "EXISTS", "this session is open already");
    for (const char* each : {"session_id", "phase", "kernel_hash", "host_role", "model_id", "owner"}) Text(each, kMostText);
    if (!Member("tier").is_number_integer()) RefuseForm("tier: is not a whole number");
    Micros("limit_micros", false);
    Say(events::kOpened, Facts());
  }

  UnderWay UnderWayOf() {
    const std::string id = Text("exchange_id", kMostText);
    auto exchange = FindUnderWay(state_, id);
    if (!exchange) RefuseCommand(Code::kConflict, "SETTLED", fmt::format("exchange {} is not under way: its outcome is on record", id));
    return std::move(*exchange);
  }

  void Prepare() {
    if (!session_.open) RefuseCommand(Code::kConflict, "CLOSED", "this session was closed: ask in another");
    if (session_.exchanges >= kMostExchanges)
      RefuseCommand(Code::kConflict, "FULL",
                    fmt::format("this session has {} exchanges, the most that one takes: ask in another", session_.exchanges));
    if (AllUnderWay(state_).size() >= kMostUnderWay)
      RefuseCommand(Code::kConflict, "BUSY",
                    fmt::format("{} calls of this session have no outcome yet, the most at once: wait for one", kMostUnderWay));
    for (const char* each : {"exchange_id", "by", "bundle", "bundle_hash", "prompt", "prompt_hash", "prefix_hash"}) Text(each, kMostText);
    Said("user");
    if (!Member("call").is_object() || !Member("refs").is_array()) RefuseForm("call: is no object, or refs: is no list");
    Member("inputs");
    if (FindUnderWay(state_, Text("exchange_id", kMostText)))
      RefuseCommand(Code::kConflict, "EXISTS", "an exchange of this id is under way");
    const WallTime deadline = Time("deadline");
    if (now_ >= deadline)
      RefuseCommand(
          Code::kConflict, "LATE",
          fmt::format("this call had to be on record before {}, and it is {}: no model was asked; ask again (if it is so each time, "
                      "the coordinator's clock is behind the database's)",
                      FormatWallTime(deadline), FormatWallTime(now_)));
    const std::int64_t reserve = Micros("reserved_micros", false);
    const std::int64_t taken = session_.reserved_micros + session_.spent_micros;
    if (session_.limit_micros > 0 && taken + reserve > session_.limit_micros)
      RefuseCommand(
          Code::kConflict, "BUDGET",
          fmt::format(
              "this call may cost {} and the session has {} left of {} (millionths of a dollar): open another session, or ask for less",
              reserve, session_.limit_micros - taken, session_.limit_micros),
          {{"budget", "session"},
           {"limit_micros", session_.limit_micros},
           {"spent_micros", session_.spent_micros},
           {"reserved_micros", session_.reserved_micros}});
    Say(events::kPrepared, Facts());
    decided_.timers_set.push_back({std::string(kCallTimer) + Text("exchange_id", kMostText), deadline});
    decided_.answer = {{"prepared_at", FormatWallTime(now_)}};
  }

  void Record() {
    const UnderWay exchange = UnderWayOf();
    Said("aurora");
    Text("response_hash", kMostText);
    if (!Member("validator_summary").is_object() || !Member("findings").is_array() || !Member("answer").is_object())
      RefuseForm("validator_summary, findings or answer is missing");
    Micros("cost_micros", false);
    Json facts = Facts();
    facts["by"] = exchange.by;
    facts["late"] = exchange.lost;
    const Json findings = facts.at("findings");
    Json ids = Json::array();
    std::size_t open = OpenDrift(state_).size();
    std::int64_t number = session_.drifts;
    for (std::size_t i = 0; i < findings.size() && open < kMostOpenDrift; ++i, ++open) ids.push_back(DriftId(++number));
    facts["drift_ids"] = ids;
    facts.erase("intents");
    CommandDecided intents;
    facts["answer"]["intents"] =
        ProposeIntents(state_, command_.value("intents", Json::array()), exchange, session_.session_id, now_, intents);
    Say(events::kRecorded, std::move(facts));
    for (EventDraft& proposed : intents.events) decided_.events.push_back(std::move(proposed));
    decided_.timers_set = std::move(intents.timers_set);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Json& one = findings[i];
      const Drift drift{ids[i],
                        exchange.exchange_id,
                        one.value("drift_class", ""),
                        one.value("severity", ""),
                        one.value("summary", ""),
                        exchange.prompt_hash,
                        Text("response_hash", kMostText),
                        now_};
      Say(events::kDriftOpened, FactsOf(drift));
    }
    decided_.timers_cleared.push_back(std::string(kCallTimer) + exchange.exchange_id);
    decided_.answer = {{"recorded_at", FormatWallTime(now_)}, {"drift_ids", std::move(ids)}};
  }

  // "driftwatch:5f21ab07-0042": the end of the session's id, and a number in it.
  std::string DriftId(std::int64_t number) const {
    const std::string& id = session_.session_id;
    return fmt::format("driftwatch:{}-{:04}", id.substr(id.size() - std::min<std::size_t>(8, id.size())), number);
  }

  static Json FactsOf(const Drift& drift) {
    return {
        {"drift_id", drift.id},     {"exchange_id", drift.exchange_id}, {"drift_class", drift.drift_class},    {"severity", drift.severity},
        {"summary", drift.summary}, {"prompt_hash", drift.prompt_hash}, {"response_hash", drift.response_hash}};
  }

  void Fail() {
    const UnderWay exchange = UnderWayOf();
    Text("code", kMostText), Text("message", kMostText);
    Micros("cost_micros", false);
    Say(events::kFailed, Facts());
    decided_.timers_cleared.push_back(std::string(kCallTimer) + exchange.exchange_id);
  }

  void Lose(const UnderWay& exchange, const std::string& message) {
    if (exchange.lost) RefuseCommand(Code::kConflict, "SETTLED", fmt::format("exchange {} is UNCERTAIN already", exchange.exchange_id));
    Say(events::kUncertain, {{"exchange_id", exchange.exchange_id}, {"message", message}, {"cost_micros", exchange.reserved_micros}});
    decided_.timers_cleared.push_back(std::string(kCallTimer) + exchange.exchange_id);
  }

  void CloseDrift() {
    const std::string id = Text("drift_id", kMostText);
    Text("reason", kMostText), Text("by", kMostText);
    const auto drift = FindDrift(state_, id);
    if (!drift) RefuseCommand(Code::kNotFound, "NOT_FOUND", fmt::format("no drift \"{}\" is open in this session", id));
    Json facts = FactsOf(*drift);
    facts["opened_at"] = FormatWallTime(drift->at);
    facts["reason"] = Text("reason", kMostText);
    facts["by"] = Text("by", kMostText);
    Say(events::kDriftClosed, std::move(facts));
  }

  void Close() {
    if (!session_.open) RefuseCommand(Code::kConflict, "CLOSED", "this session is closed already");
    Text("reason", kMostText), Text("by", kMostText);
    Say(events::kClosed, Facts());
  }

  const Document& state_;
  Session session_;
};

}  // namespace

EventDraft Created(const std::string& by, WallTime now) {
  EventDraft draft;
  draft.type = events::kCreated;
  draft.facts = {{"by", by}};
  draft.at = now;
  return draft;
}

// That the state did not allow it is on record.
Decided Decide(const Document& state, const Json& command, WallTime now) {
  Decided decided = CaughtCommand([&] { return Decider(state, command, now).Run(); });
  if (!decided.refused || decided.refused->code != Code::kConflict || decided.refused->reason == "EXISTS") return decided;
  EventDraft draft;
  draft.type = events::kRefused;
  draft.facts = {{"command", command.value("name", "")},
                 {"exchange_id", command.value("exchange_id", "")},
                 {"reason", decided.refused->reason},
                 {"message", decided.refused->message}};
  draft.at = now;
  decided.events.push_back(std::move(draft));
  return decided;
}

Decided DecideDeadline(const Document& state, const std::string& timer_id, WallTime now) {
  if (timer_id.starts_with(kIntentPrefix)) return ExpireIntent(state, timer_id.substr(kIntentPrefix.size()), now);
  if (!timer_id.starts_with(kCallTimer)) return {};
  const Json none = Json::object();
  return CaughtCommand([&] { return Decider(state, none, now).Deadline(timer_id.substr(kCallTimer.size())); });
}

}  // namespace acl::ask
