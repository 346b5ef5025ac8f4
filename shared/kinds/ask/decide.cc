#include "shared/kinds/ask/decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/kinds/ask/evolve.h"

namespace acl::ask {

namespace {

// What ends a command early.
struct Refused {
  Refusal why;
};
[[noreturn]] void Refuse(Code code, std::string reason, std::string message, Json details = Json::object()) {
  throw Refused{{code, std::move(reason), std::move(message), std::move(details)}};
}

constexpr std::string_view kCallTimer = "call:";  // then the exchange's id

// One command being decided. A member that a command must have and has not is a refusal of its form.
class Decider {
 public:
  Decider(const Document& state, const Json& command, WallTime now) : state_(state), command_(command), now_(now) {}

  Decided Run() {
    const std::string name = Text("name");
    if (name == "open_session") {
      Open();
    } else {
      auto session = FindSession(state_);
      if (!session) Refuse(Code::kNotFound, "NOT_FOUND", "there is no session here: open it first");
      session_ = std::move(*session);
      if (name == "prepare") {
        Prepare();
      } else if (name == "record") {
        Record();
      } else if (name == "fail") {
        Fail();
      } else if (name == "lose") {
        Lose(UnderWayOf(), Text("message"));
      } else if (name == "close_drift") {
        CloseDrift();
      } else if (name == "close_session") {
        Close();
      } else {
        Refuse(Code::kInvalid, "FORM", fmt::format("there is no command \"{}\" of a session", name));
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
  const Json& Member(const char* name) {
    const auto found = command_.find(name);
    if (found == command_.end()) Refuse(Code::kInvalid, "FORM", fmt::format("{}: is missing", name));
    return *found;
  }
  std::string Text(const char* name) {
    const Json& value = Member(name);
    if (!value.is_string()) Refuse(Code::kInvalid, "FORM", fmt::format("{}: is not text", name));
    if (value.get_ref<const std::string&>().size() > kMostText)
      Refuse(Code::kInvalid, "FORM",
             fmt::format("{}: is {} bytes, {} at most", name, value.get_ref<const std::string&>().size(), kMostText));
    return value;
  }
  std::int64_t Micros(const char* name) {
    const auto found = command_.find(name);
    if (found == command_.end()) return 0;
    if (!found->is_number_integer() || found->get<std::int64_t>() < 0)
      Refuse(Code::kInvalid, "FORM", fmt::format("{}: is no amount in millionths", name));
    return *found;
  }
  WallTime Time(const char* name) {
    const auto at = ParseWallTime(Text(name));
    if (!at) Refuse(Code::kInvalid, "FORM", fmt::format("{}: is no time", name));
    return *at;
  }
  const Json& Said(const char* name) {
    const Json& value = Member(name);
    for (const char* each : {"turn_id", "content", "content_hash"}) {
      const auto found = value.is_object() ? value.find(each) : value.end();
      if (!value.is_object() || found == value.end() || !found->is_string())
        Refuse(Code::kInvalid, "FORM", fmt::format("{}: has no {}", name, each));
    }
    return value;
  }

  void Say(std::string_view type, Json facts) {
    EventDraft draft;
    draft.type = type;
    draft.facts = std::move(facts);
    draft.at = now_;
    decided_.events.push_back(std::move(draft));
  }

  // The command's own members, as the event's facts.
  Json Facts() const {
    Json facts = command_;
    facts.erase("name");
    facts.erase("head_seq");
    return facts;
  }

  void Open() {
    if (FindSession(state_)) Refuse(Code::kConflict, "EXISTS", "this session is open already");
    for (const char* each : {"session_id", "phase", "kernel_hash", "host_role", "model_id", "owner"}) Text(each);
    if (!Member("tier").is_number_integer()) Refuse(Code::kInvalid, "FORM", "tier: is not a whole number");
    Micros("limit_micros");
    Say(events::kOpened, Facts());
  }

  UnderWay UnderWayOf() {
    const std::string id = Text("exchange_id");
    auto exchange = FindUnderWay(state_, id);
    if (!exchange) Refuse(Code::kConflict, "SETTLED", fmt::format("exchange {} is not under way: its outcome is on record", id));
    return std::move(*exchange);
  }

  void Prepare() {
    if (!session_.open) Refuse(Code::kConflict, "CLOSED", "this session was closed: ask in another");
    if (session_.exchanges >= kMostExchanges)
      Refuse(Code::kConflict, "FULL",
             fmt::format("this session has {} exchanges, the most that one takes: ask in another", session_.exchanges));
    if (AllUnderWay(state_).size() >= kMostUnderWay)
      Refuse(Code::kConflict, "BUSY",
             fmt::format("{} calls of this session have no outcome yet, the most at once: wait for one", kMostUnderWay));
    for (const char* each : {"exchange_id", "by", "bundle", "bundle_hash", "prompt", "prompt_hash", "prefix_hash"}) Text(each);
    Said("user");
    if (!Member("call").is_object() || !Member("refs").is_array())
      Refuse(Code::kInvalid, "FORM", "call: is no object, or refs: is no list");
    Member("inputs");
    if (FindUnderWay(state_, Text("exchange_id"))) Refuse(Code::kConflict, "EXISTS", "an exchange of this id is under way");
    const WallTime deadline = Time("deadline");
    const std::int64_t reserve = Micros("reserved_micros");
    const std::int64_t taken = session_.reserved_micros + session_.spent_micros;
    if (session_.limit_micros > 0 && taken + reserve > session_.limit_micros)
      Refuse(Code::kConflict, "BUDGET",
             fmt::format(
                 "this call may cost {} and the session has {} left of {} (millionths of a dollar): open another session, or ask for less",
                 reserve, session_.limit_micros - taken, session_.limit_micros),
             {{"budget", "session"},
              {"limit_micros", session_.limit_micros},
              {"spent_micros", session_.spent_micros},
              {"reserved_micros", session_.reserved_micros}});
    Say(events::kPrepared, Facts());
    decided_.timers_set.push_back({std::string(kCallTimer) + Text("exchange_id"), deadline});
    decided_.answer = {{"prepared_at", FormatWallTime(now_)}};
  }

  void Record() {
    const UnderWay exchange = UnderWayOf();
    Said("aurora");
    Text("response_hash");
    if (!Member("validator_summary").is_object() || !Member("findings").is_array() || !Member("answer").is_object())
      Refuse(Code::kInvalid, "FORM", "validator_summary, findings or answer is missing");
    Micros("cost_micros");
    Json facts = Facts();
    facts["by"] = exchange.by;
    facts["late"] = exchange.lost;
    const Json findings = facts.at("findings");
    Json ids = Json::array();
    std::size_t open = OpenDrift(state_).size();
    std::int64_t number = session_.drifts;
    for (std::size_t i = 0; i < findings.size() && open < kMostOpenDrift; ++i, ++open) ids.push_back(DriftId(++number));
    facts["drift_ids"] = ids;
    Say(events::kRecorded, std::move(facts));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Json& one = findings[i];
      const Drift drift{ids[i],
                        exchange.exchange_id,
                        one.value("drift_class", ""),
                        one.value("severity", ""),
                        one.value("summary", ""),
                        exchange.prompt_hash,
                        Text("response_hash"),
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
    Text("code"), Text("message");
    Micros("cost_micros");
    Say(events::kFailed, Facts());
    decided_.timers_cleared.push_back(std::string(kCallTimer) + exchange.exchange_id);
  }

  void Lose(const UnderWay& exchange, const std::string& message) {
    if (exchange.lost) Refuse(Code::kConflict, "SETTLED", fmt::format("exchange {} is UNCERTAIN already", exchange.exchange_id));
    Say(events::kUncertain, {{"exchange_id", exchange.exchange_id}, {"message", message}, {"cost_micros", exchange.reserved_micros}});
    decided_.timers_cleared.push_back(std::string(kCallTimer) + exchange.exchange_id);
  }

  void CloseDrift() {
    const std::string id = Text("drift_id");
    Text("reason"), Text("by");
    const auto drift = FindDrift(state_, id);
    if (!drift) Refuse(Code::kNotFound, "NOT_FOUND", fmt::format("no drift \"{}\" is open in this session", id));
    Json facts = FactsOf(*drift);
    facts["opened_at"] = FormatWallTime(drift->at);
    facts["reason"] = Text("reason");
    facts["by"] = Text("by");
    Say(events::kDriftClosed, std::move(facts));
  }

  void Close() {
    if (!session_.open) Refuse(Code::kConflict, "CLOSED", "this session is closed already");
    Text("reason"), Text("by");
    Say(events::kClosed, Facts());
  }

  const Document& state_;
  const Json& command_;
  const WallTime now_;
  Session session_;
  Decided decided_;
};

template <class Body>
Decided Caught(const Body& body, const Json& command, WallTime now) {
  try {
    return body();
  } catch (Refused& refused) {
    Decided decided;
    decided.refused = std::move(refused.why);
    if (decided.refused->code == Code::kConflict && decided.refused->reason != "EXISTS") {
      EventDraft draft;
      draft.type = events::kRefused;
      draft.facts = {{"command", command.value("name", "")},
                     {"exchange_id", command.value("exchange_id", "")},
                     {"reason", decided.refused->reason},
                     {"message", decided.refused->message}};
      draft.at = now;
      decided.events.push_back(std::move(draft));
    }
    return decided;
  }
}

}  // namespace

EventDraft Created(const std::string& by, WallTime now) {
  EventDraft draft;
  draft.type = events::kCreated;
  draft.facts = {{"by", by}};
  draft.at = now;
  return draft;
}

Decided Decide(const Document& state, const Json& command, WallTime now) {
  return Caught([&] { return Decider(state, command, now).Run(); }, command, now);
}

Decided DecideDeadline(const Document& state, const std::string& timer_id, WallTime now) {
  if (!timer_id.starts_with(kCallTimer)) return {};
  const Json none = Json::object();
  return Caught([&] { return Decider(state, none, now).Deadline(timer_id.substr(kCallTimer.size())); }, none, now);
}

}  // namespace acl::ask
