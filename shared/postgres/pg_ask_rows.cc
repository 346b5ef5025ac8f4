#include "shared/postgres/pg_ask_rows.h"

#include "shared/journal/document.h"
#include "shared/postgres/store_calls.h"

namespace acl {

namespace {

using pg::Params;
using pg::Rows;
using pg::Statement;

const Statement kOpenSession("ask.open_session", Statement::Kind::kRead, R"(
SELECT c.session_id FROM chat_session c JOIN ask_session a ON a.session_id = c.session_id JOIN subjects s ON s.subject_id = c.session_id
WHERE s.project_id = $project::uuid AND a.owner = $owner::text AND c.status = 'open' AND to_jsonb(c) @> $binding::text::jsonb
ORDER BY c.session_id DESC LIMIT 1)");
const Statement kSessions("ask.sessions", Statement::Kind::kRead, R"(
SELECT (to_jsonb(c) || jsonb_build_object('owner', a.owner, 'exchanges', (SELECT count(*) FROM ask_prepared p WHERE p.session_id = c.session_id),
        'started_at', utc_text(c.started_at), 'ended_at', utc_text(c.ended_at)))::text
FROM chat_session c JOIN ask_session a ON a.session_id = c.session_id JOIN subjects s ON s.subject_id = c.session_id
WHERE s.project_id = $project::uuid AND ($before::text = '' OR c.session_id < NULLIF($before::text, '')::uuid)
ORDER BY c.session_id DESC LIMIT $limit::int)");
const Statement kExchanges("ask.exchanges", Statement::Kind::kRead, R"(
SELECT jsonb_build_object('exchange_id', p.exchange_id, 'session_id', p.session_id, 'asked_by', p.asked_by, 'model', p.model,
         'question', left(u.content, 200), 'status', coalesce(o.status, 'UNDER_WAY'), 'code', o.code, 'prepared_at', utc_text(p.prepared_at),
         'ended_at', utc_text(o.ended_at), 'cost_micros', o.cost_micros)::text
FROM ask_prepared p JOIN subjects s ON s.subject_id = p.session_id JOIN chat_turn u ON u.turn_id = p.turn_user_id
LEFT JOIN ask_outcome o ON o.exchange_id = p.exchange_id
WHERE s.project_id = $project::uuid AND ($session::uuid = '00000000-0000-0000-0000-000000000000' OR p.session_id = $session::uuid)
  AND ($before::text = '' OR p.exchange_id < NULLIF($before::text, '')::uuid)
ORDER BY p.exchange_id DESC LIMIT $limit::int)");
const Statement kExchange("ask.exchange", Statement::Kind::kRead, R"(
SELECT jsonb_build_object('exchange_id', p.exchange_id, 'session_id', p.session_id, 'asked_by', p.asked_by, 'provider', p.provider, 'model', p.model,
  'status', coalesce(o.status, 'UNDER_WAY'), 'code', o.code, 'message', o.message, 'context_bundle_hash', p.context_bundle_hash,
  'context_bundle', p.context_bundle_json, 'prompt_hash', p.prompt_hash, 'prefix_hash', p.prefix_hash, 'prompt', p.prompt_compiled,
  'response_hash', o.response_hash, 'response', o.response_sanitized, 'validator_summary', o.validator_summary::jsonb, 'answer', o.answer::jsonb,
  'reserved_micros', p.reserved_micros, 'cost_micros', o.cost_micros, 'prepared_at', utc_text(p.prepared_at), 'deadline', utc_text(p.deadline),
  'ended_at', utc_text(o.ended_at),
  'turns', (SELECT coalesce(jsonb_agg((to_jsonb(t) || jsonb_build_object('created_at', utc_text(t.created_at))) ORDER BY t.created_at, t.speaker DESC), '[]')
            FROM chat_turn t WHERE t.turn_id IN (p.turn_user_id, o.turn_aurora_id)),
  'refs', (SELECT coalesce(jsonb_agg((to_jsonb(r) || jsonb_build_object('observed_at', utc_text(r.observed_at))) ORDER BY r.ref_id), '[]')
           FROM context_artifact_ref r WHERE r.exchange_id = p.exchange_id),
  'drift', (SELECT coalesce(jsonb_agg((to_jsonb(d) || jsonb_build_object('opened_at', utc_text(d.opened_at), 'closed_at', utc_text(d.closed_at)))
                                      ORDER BY d.driftwatch_id), '[]')
            FROM driftwatch d WHERE d.session_id = p.session_id AND d.exchange_id = p.exchange_id))::text
FROM ask_prepared p JOIN subjects s ON s.subject_id = p.session_id LEFT JOIN ask_outcome o ON o.exchange_id = p.exchange_id
WHERE s.project_id = $project::uuid AND p.exchange_id = $exchange::uuid)");
const Statement kOfKey("ask.of_key", Statement::Kind::kRead, R"(
SELECT p.exchange_id::text FROM ask_prepared p JOIN subjects s ON s.subject_id = p.session_id
WHERE p.request_key = $key::text AND p.asked_by = $by::text AND s.project_id = $project::uuid ORDER BY p.prepared_at DESC, p.exchange_id DESC LIMIT 1)");
const Statement kDrift("ask.drift", Statement::Kind::kRead, R"(
SELECT (to_jsonb(d) || jsonb_build_object('opened_at', utc_text(d.opened_at), 'closed_at', utc_text(d.closed_at),
                                          'turn_aurora_id', o.turn_aurora_id))::text
FROM driftwatch d JOIN subjects s ON s.subject_id = d.session_id LEFT JOIN ask_outcome o ON o.exchange_id = d.exchange_id
WHERE s.project_id = $project::uuid AND ($status::text = '' OR d.status = $status::text)
ORDER BY d.opened_at DESC, d.driftwatch_id DESC LIMIT $limit::int)");
// Ids are distinct within a session; of several the open one.
const Statement kOneDrift("ask.one_drift", Statement::Kind::kRead, R"(
SELECT (to_jsonb(d) || jsonb_build_object('opened_at', utc_text(d.opened_at), 'closed_at', utc_text(d.closed_at)))::text
FROM driftwatch d JOIN subjects s ON s.subject_id = d.session_id
WHERE s.project_id = $project::uuid AND d.driftwatch_id = $drift::text ORDER BY d.status = 'open' DESC, d.opened_at DESC LIMIT 1)");
const Statement kIntents("ask.intents", Statement::Kind::kRead, R"(
SELECT o.session_id FROM ask_outcome o JOIN subjects s ON s.subject_id = o.session_id
WHERE s.project_id = $project::uuid AND o.answer LIKE '%"intents":["%' GROUP BY o.session_id ORDER BY max(o.ended_at) DESC LIMIT $limit::int)");
// What is longer is no artifact anyway (aegis::kEvidenceBytes).
const Statement kTurns("ask.turns", Statement::Kind::kRead, R"(
SELECT (to_jsonb(t) || jsonb_build_object('created_at', utc_text(t.created_at), 'content', left(t.content, 10000)))::text
FROM chat_turn t JOIN subjects s ON s.subject_id = t.session_id WHERE s.project_id = $project::uuid
ORDER BY t.created_at DESC, t.turn_id DESC LIMIT $limit::int)");

const Statement kTurnsOf("ask.turns_of", Statement::Kind::kRead, R"(
SELECT (to_jsonb(t) || jsonb_build_object('created_at', utc_text(t.created_at), 'content', left(t.content, 10000)))::text
FROM chat_turn t WHERE t.session_id = $session::uuid ORDER BY t.created_at DESC, t.turn_id DESC LIMIT $limit::int)");

Result<std::vector<Json>> ReadJson(const char* what, const Result<Rows>& rows) {
  if (!rows) return rows.error();
  std::vector<Json> all;
  for (int i = 0; i < rows->size(); ++i) {
    auto json = ParseJson(rows->View(i, 0), kStoredJson);
    if (!json) return Error{Code::kCorrupt, std::string(what) + ": a row is no JSON: " + json.message()};
    all.push_back(std::move(*json));
  }
  return all;
}

}  // namespace

Result<std::optional<SubjectId>> PgAskRows::OpenSession(const ProjectId& project, const std::string& owner, const Json& binding) {
  Params params;
  auto rows = pg::RunOne(pool_, kOpenSession, params.Id("project", project).Text("owner", owner).Text("binding", DumpJson(binding)));
  if (!rows) return rows.error();
  if (rows->size() == 0) return std::optional<SubjectId>();
  return std::optional(SubjectId{rows->Id(0, 0)});
}

Result<std::vector<Json>> PgAskRows::Sessions(const ProjectId& project, const std::string& before, int limit) {
  Params params;
  return ReadJson("chat_session", pg::RunOne(pool_, kSessions, params.Id("project", project).Text("before", before).Int32("limit", limit)));
}

Result<std::vector<Json>> PgAskRows::Exchanges(const ProjectId& project, const SubjectId& session, const std::string& before, int limit) {
  Params params;
  params.Id("project", project).Id("session", session).Text("before", before).Int32("limit", limit);
  return ReadJson("ask_prepared", pg::RunOne(pool_, kExchanges, params));
}

Result<Json> PgAskRows::Exchange(const ProjectId& project, const std::string& exchange_id) {
  Params params;
  const auto id = SubjectId::Parse(exchange_id);
  auto all = id ? ReadJson("ask_prepared", pg::RunOne(pool_, kExchange, params.Id("project", project).Id("exchange", *id)))
                : Result<std::vector<Json>>(std::vector<Json>());
  if (!all) return all.error();
  if (all->empty()) return Error{Code::kNotFound, "there is no exchange " + exchange_id.substr(0, 100) + " in this project"};
  return std::move(all->front());
}

Result<std::optional<std::string>> PgAskRows::ExchangeOfKey(const ProjectId& project, const std::string& by, const std::string& key) {
  Params params;
  auto rows = pg::RunOne(pool_, kOfKey, params.Id("project", project).Text("by", by).Text("key", key));
  if (!rows) return rows.error();
  if (rows->size() == 0) return std::optional<std::string>();
  return std::optional(std::string(rows->View(0, 0)));
}

Result<std::vector<Json>> PgAskRows::Drift(const ProjectId& project, const std::string& status, int limit) {
  Params params;
  return ReadJson("driftwatch", pg::RunOne(pool_, kDrift, params.Id("project", project).Text("status", status).Int32("limit", limit)));
}

Result<std::optional<Json>> PgAskRows::OneDrift(const ProjectId& project, const std::string& id) {
  Params params;
  auto all = ReadJson("driftwatch", pg::RunOne(pool_, kOneDrift, params.Id("project", project).Text("drift", id)));
  if (!all) return all.error();
  return all->empty() ? std::optional<Json>() : std::optional(std::move(all->front()));
}

Result<std::vector<SubjectId>> PgAskRows::SessionsWithIntents(const ProjectId& project, int limit) {
  Params params;
  auto rows = pg::RunOne(pool_, kIntents, params.Id("project", project).Int32("limit", limit));
  if (!rows) return rows.error();
  std::vector<SubjectId> all;
  for (int i = 0; i < rows->size(); ++i) all.push_back(SubjectId{rows->Id(i, 0)});
  return all;
}

Result<std::vector<Json>> PgAskRows::Turns(const ProjectId& project, int limit) {
  Params params;
  return ReadJson("chat_turn", pg::RunOne(pool_, kTurns, params.Id("project", project).Int32("limit", limit)));
}

Result<std::vector<Json>> PgAskRows::TurnsOf(const SubjectId& session, int limit) {
  Params params;
  return ReadJson("chat_turn", pg::RunOne(pool_, kTurnsOf, params.Id("session", session).Int32("limit", limit)));
}

}  // namespace acl
