#include "shared/kinds/ask/shown.h"

#include <fmt/format.h>

#include "shared/base/json_members.h"
#include "shared/kinds/ask/evolve.h"

namespace acl::ask {

namespace {

// As the tables give it back; null: none.
Json ShownTime(const Json& object, const char* key) {
  const auto at = ParseWallTime(object.value(key, ""));
  return at ? Json(FormatWallTime(*at)) : Json();
}

ShownRow RowOf(const char* table, std::string id, const Json& columns) { return {table, std::move(id), DumpJson(columns)}; }

ShownRow RowOfTurn(const Json& said, const char* speaker, const std::string& driftwatch, WallTime at) {
  Json columns = {{"turn_id", TextIn(said, "turn_id")},
                  {"created_at", FormatWallTime(at)},
                  {"speaker", speaker},
                  {"content", TextIn(said, "content")},
                  {"content_hash", TextIn(said, "content_hash")},
                  {"refusal", said.value("refusal", false)},
                  {"authority_state", said.value("authority_state", "ok")},
                  {"driftwatch_id", driftwatch.empty() ? Json() : Json(driftwatch)}};
  return RowOf("chat_turn", TextIn(said, "turn_id"), columns);
}

void Prepared(const Json& facts, WallTime at, std::vector<ShownRow>& rows) {
  const std::string exchange = TextIn(facts, "exchange_id");
  rows.push_back(RowOfTurn(facts.at("user"), "user", "", at));
  rows.push_back(RowOf("ask_prepared", exchange,
                       {{"exchange_id", exchange},
                        {"turn_user_id", TextIn(facts.at("user"), "turn_id")},
                        {"asked_by", TextIn(facts, "by")},
                        {"request_key", facts.value("request_key", Json())},
                        {"context_bundle_hash", TextIn(facts, "bundle_hash")},
                        {"context_bundle_json", TextIn(facts, "bundle")},
                        {"prompt_hash", TextIn(facts, "prompt_hash")},
                        {"prefix_hash", TextIn(facts, "prefix_hash")},
                        {"prompt_compiled", TextIn(facts, "prompt")},
                        {"provider", TextIn(facts.at("call"), "provider")},
                        {"model", TextIn(facts.at("call"), "model")},
                        {"reserved_micros", facts.value("reserved_micros", std::int64_t(0))},
                        {"prepared_at", FormatWallTime(at)},
                        {"deadline", ShownTime(facts, "deadline")}}));
  for (const Json& ref : facts.at("refs")) {
    const Json flags = ref.value("risk_flags", Json());
    Json columns = {{"ref_id", TextIn(ref, "ref_id")},
                    {"exchange_id", exchange},
                    {"artifact_type", TextIn(ref, "type")},
                    {"artifact_id", TextIn(ref, "id")},
                    {"artifact_hash", ref.value("hash", Json())},
                    {"included_reason", TextIn(ref, "reason")},
                    {"observed_at", ShownTime(ref, "observed_at")},
                    {"freshness_s", ref.value("freshness_s", Json())},
                    {"risk_flags", flags.is_null() || flags.is_string() ? flags : Json(DumpJson(flags))}};
    rows.push_back(RowOf("context_artifact_ref", TextIn(ref, "ref_id"), columns));
  }
}

Json Outcome(const Json& facts, const char* status, WallTime at) {
  return {{"exchange_id", TextIn(facts, "exchange_id")},
          {"status", status},
          {"turn_aurora_id", Json()},
          {"response_hash", Json()},
          {"response_sanitized", Json()},
          {"validator_summary", Json()},
          {"code", facts.value("code", Json())},
          {"message", facts.value("message", Json())},
          {"answer", Json()},
          {"cost_micros", facts.value("cost_micros", std::int64_t(0))},
          {"ended_at", FormatWallTime(at)}};
}

void Recorded(const Json& facts, WallTime at, std::vector<ShownRow>& rows) {
  const Json& ids = facts.at("drift_ids");
  rows.push_back(RowOfTurn(facts.at("aurora"), "aurora", ids.empty() ? "" : ids.at(0).get<std::string>(), at));
  Json outcome = Outcome(facts, "RECORDED", at);
  outcome["turn_aurora_id"] = TextIn(facts.at("aurora"), "turn_id");
  outcome["response_hash"] = TextIn(facts, "response_hash");
  outcome["response_sanitized"] = TextIn(facts.at("aurora"), "content");
  outcome["validator_summary"] = DumpJson(facts.at("validator_summary"));
  outcome["answer"] = DumpJson(facts.at("answer"));
  rows.push_back(RowOf("ask_outcome", TextIn(facts, "exchange_id"), outcome));
}

ShownRow RowOfDrift(const Json& facts, bool open, WallTime at) {
  const std::string id = TextIn(facts, "drift_id");
  return RowOf("driftwatch", id,
               {{"driftwatch_id", id},
                {"kind", "DRIFTWATCH"},
                {"exchange_id", TextIn(facts, "exchange_id")},
                {"drift_class", TextIn(facts, "drift_class")},
                {"severity", TextIn(facts, "severity")},
                {"summary", TextIn(facts, "summary")},
                {"prompt_hash", TextIn(facts, "prompt_hash")},
                {"response_hash", TextIn(facts, "response_hash")},
                {"status", open ? "open" : "closed"},
                {"opened_at", open ? Json(FormatWallTime(at)) : ShownTime(facts, "opened_at")},
                {"closed_at", open ? Json() : Json(FormatWallTime(at))},
                {"closed_by", open ? Json() : Json(TextIn(facts, "by"))},
                {"closed_reason", open ? Json() : Json(TextIn(facts, "reason"))}});
}

}  // namespace

std::vector<ShownRow> RowsOfEvent(std::string_view type, const Json& facts, WallTime at) {
  std::vector<ShownRow> rows;
  if (type == events::kOpened) {
    rows.push_back(RowOf("ask_session", TextIn(facts, "session_id"), {{"owner", TextIn(facts, "owner")}}));
  } else if (type == events::kPrepared) {
    Prepared(facts, at, rows);
  } else if (type == events::kRecorded) {
    Recorded(facts, at, rows);
  } else if (type == events::kDriftOpened || type == events::kDriftClosed) {
    rows.push_back(RowOfDrift(facts, type == events::kDriftOpened, at));
  } else if (type == events::kFailed || type == events::kUncertain) {
    rows.push_back(
        RowOf("ask_outcome", TextIn(facts, "exchange_id"), Outcome(facts, type == events::kFailed ? "FAILED" : "UNCERTAIN", at)));
  }
  return rows;
}

ShownRow RowOfSession(const Json& session) {
  return RowOf("chat_session", TextIn(session, "session_id"),
               {{"started_at", TextIn(session, "started_at")},
                {"ended_at", session.value("ended_at", Json())},
                {"phase", TextIn(session, "phase")},
                {"tier", session.value("tier", 0)},
                {"kernel_hash", TextIn(session, "kernel_hash")},
                {"host_role", TextIn(session, "host_role")},
                {"model_id", TextIn(session, "model_id")},
                {"status", TextIn(session, "status")}});
}

}  // namespace acl::ask
