#include "shared/kinds/ask/model.h"

#include <algorithm>

#include "shared/base/json_members.h"

namespace acl::ask {

namespace {

Session SessionFrom(const Json& json) {
  Session session;
  session.session_id = TextIn(json, "session_id");
  session.binding = {TextIn(json, "phase"), json.value("tier", 0), TextIn(json, "kernel_hash"), TextIn(json, "host_role"),
                     TextIn(json, "model_id")};
  session.owner = TextIn(json, "owner");
  session.open = json.value("status", "") == "open";
  session.started_at = TimeIn(json, "started_at");
  if (json.contains("ended_at")) session.ended_at = TimeIn(json, "ended_at");
  session.exchanges = json.value("exchanges", std::int64_t(0));
  session.turns = json.value("turns", std::int64_t(0));
  session.drifts = json.value("drifts", std::int64_t(0));
  session.limit_micros = json.value("limit_micros", std::int64_t(0));
  session.reserved_micros = json.value("reserved_micros", std::int64_t(0));
  session.spent_micros = json.value("spent_micros", std::int64_t(0));
  return session;
}

UnderWay UnderWayFrom(const Json& json) {
  return {TextIn(json, "exchange_id"),  TextIn(json, "by"),
          TextIn(json, "provider"),     TextIn(json, "model"),
          TextIn(json, "turn_user_id"), TextIn(json, "bundle_hash"),
          TextIn(json, "prompt_hash"),  json.value("reserved_micros", std::int64_t(0)),
          TimeIn(json, "prepared_at"),  TimeIn(json, "deadline"),
          json.value("lost", false)};
}

Turn TurnFrom(const Json& json) {
  return {TextIn(json, "turn_id"), TextIn(json, "exchange_id"),  TextIn(json, "speaker"),
          TextIn(json, "content"), TextIn(json, "content_hash"), TimeIn(json, "at")};
}

Drift DriftFrom(const Json& json) {
  return {TextIn(json, "id"),      TextIn(json, "exchange_id"), TextIn(json, "drift_class"),   TextIn(json, "severity"),
          TextIn(json, "summary"), TextIn(json, "prompt_hash"), TextIn(json, "response_hash"), TimeIn(json, "at")};
}

}  // namespace

Json ToJson(const Session& session) {
  Json json = {{"session_id", session.session_id},
               {"phase", session.binding.phase},
               {"tier", session.binding.tier},
               {"kernel_hash", session.binding.kernel_hash},
               {"host_role", session.binding.host_role},
               {"model_id", session.binding.model_id},
               {"owner", session.owner},
               {"status", session.open ? "open" : "closed"},
               {"started_at", FormatWallTime(session.started_at)},
               {"exchanges", session.exchanges},
               {"turns", session.turns},
               {"drifts", session.drifts},
               {"limit_micros", session.limit_micros},
               {"reserved_micros", session.reserved_micros},
               {"spent_micros", session.spent_micros}};
  if (session.ended_at) json["ended_at"] = FormatWallTime(*session.ended_at);
  return json;
}

Json ToJson(const UnderWay& exchange) {
  Json json = {{"exchange_id", exchange.exchange_id},
               {"by", exchange.by},
               {"provider", exchange.provider},
               {"model", exchange.model},
               {"turn_user_id", exchange.turn_user_id},
               {"bundle_hash", exchange.bundle_hash},
               {"prompt_hash", exchange.prompt_hash},
               {"reserved_micros", exchange.reserved_micros},
               {"prepared_at", FormatWallTime(exchange.prepared_at)},
               {"deadline", FormatWallTime(exchange.deadline)}};
  if (exchange.lost) json["lost"] = true;
  return json;
}

Json ToJson(const Turn& turn) {
  return {{"turn_id", turn.turn_id}, {"exchange_id", turn.exchange_id},   {"speaker", turn.speaker},
          {"content", turn.content}, {"content_hash", turn.content_hash}, {"at", FormatWallTime(turn.at)}};
}

Json ToJson(const Drift& drift) {
  return {{"id", drift.id},
          {"exchange_id", drift.exchange_id},
          {"drift_class", drift.drift_class},
          {"severity", drift.severity},
          {"summary", drift.summary},
          {"prompt_hash", drift.prompt_hash},
          {"response_hash", drift.response_hash},
          {"at", FormatWallTime(drift.at)}};
}

std::optional<Session> FindSession(const Document& state) {
  const Json* json = state.Find(kSessionKey);
  return json == nullptr ? std::nullopt : std::optional(SessionFrom(*json));
}

std::optional<UnderWay> FindUnderWay(const Document& state, std::string_view exchange_id) {
  const Json* json = state.Find(ExchangeKey(exchange_id));
  return json == nullptr ? std::nullopt : std::optional(UnderWayFrom(*json));
}

std::optional<Drift> FindDrift(const Document& state, std::string_view id) {
  const Json* json = state.Find(DriftKey(id));
  return json == nullptr ? std::nullopt : std::optional(DriftFrom(*json));
}

std::vector<Turn> RecentTurns(const Document& state) {
  std::vector<Turn> turns;
  const auto session = FindSession(state);
  if (!session) return turns;
  for (std::int64_t n = std::max<std::int64_t>(1, session->turns - kKeptTurns + 1); n <= session->turns; ++n) {
    if (const Json* json = state.Find(TurnKey(n))) turns.push_back(TurnFrom(*json));
  }
  return turns;
}

std::vector<UnderWay> AllUnderWay(const Document& state) {
  std::vector<UnderWay> all;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(kExchangePrefix)) all.push_back(UnderWayFrom(value));
    return true;
  });
  std::sort(all.begin(), all.end(), [](const UnderWay& a, const UnderWay& b) { return a.exchange_id < b.exchange_id; });
  return all;
}

std::vector<Drift> OpenDrift(const Document& state) {
  std::vector<Drift> all;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(kDriftPrefix)) all.push_back(DriftFrom(value));
    return true;
  });
  std::sort(all.begin(), all.end(), [](const Drift& a, const Drift& b) { return a.id < b.id; });
  return all;
}

}  // namespace acl::ask
