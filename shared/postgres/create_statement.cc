#include "shared/postgres/create_statement.h"

#include <algorithm>
#include <deque>
#include <set>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/postgres/commit_statement.h"

namespace acl::pg {
namespace {

// The start with request keys: all are new, or nothing is made and the function answers. So a batch stays one transaction, and nobody is
// told of a half: a key that others see is found by `taken`, one of a twin that is not committed yet is waited for and breaks the table's
// key. Keys come before sessions, and those before leases, each in order, as in the function: what is below waits for the count.
constexpr const char* kKeysFirst = R"(
WITH taken AS MATERIALIZED (
  SELECT count(*) AS keys FROM unnest($k_scope::uuid[], $k_key::text[]) AS k(scope, key)
  JOIN request_keys r ON r.scope = k.scope AND r.request_key = k.key),
keyed AS (
  INSERT INTO request_keys (scope, request_key, request_hash, subject_id)
  SELECT k.scope, k.key, k.hash, k.subject FROM unnest($k_scope::uuid[], $k_key::text[], $k_hash::bytea[], $k_subject::uuid[])
    AS k(scope, key, hash, subject)
  WHERE (SELECT first_token()) = $token::bigint AND (SELECT keys FROM taken) = 0 ORDER BY k.scope, k.key RETURNING 1),
first AS MATERIALIZED (
  SELECT c.keys FROM (SELECT count(*) AS keys FROM keyed) AS c WHERE true -- hold: create_keyed
),
item AS MATERIALIZED (
  SELECT * FROM unnest($items::create_row[]) AS i WHERE (SELECT keys FROM first) > 0),)";

constexpr const char* kWithoutKeys = R"(
WITH item AS MATERIALIZED (
  SELECT * FROM unnest($items::create_row[]) AS i WHERE (SELECT first_token()) = $token::bigint),)";

// The sessions first, each locked: none of them is marked dead beside this. Whose session died meanwhile becomes ready. A subject that
// exists already breaks the key of its lease, and the whole is refused.
constexpr const char* kMakeThem = R"(
seats AS MATERIALIZED (
  SELECT x.session_id FROM worker_sessions x
  WHERE x.session_id = ANY ($sessions::uuid[]) AND x.dead_at IS NULL ORDER BY x.session_id FOR KEY SHARE),
live AS MATERIALIZED (
  SELECT array_agg(s.session_id) AS ids FROM seats s WHERE true -- hold: create_sessions_locked
),
made AS MATERIALIZED (
  SELECT i.*, coalesce(i.ready AND i.session = ANY ((SELECT ids FROM live)::uuid[]), false) AS given, clock_timestamp() AS now FROM item i),
w_leases AS (
  INSERT INTO leases (subject_id, token, required_version, session_id, acquired_at)
  SELECT m.subject, $token::bigint, m.version, CASE WHEN m.given THEN m.session END, CASE WHEN m.given THEN m.now END
  FROM made m ORDER BY m.subject),
w_definitions AS (  -- in order: a text that another transaction is just storing is waited for
  INSERT INTO definition_texts (hash, text)
  SELECT x.hash, x.text FROM unnest($x_hash::bytea[], $x_text::text[]) AS x(hash, text) WHERE (SELECT count(*) FROM made) > 0
  ORDER BY x.hash ON CONFLICT DO NOTHING),
w_subjects AS (
  INSERT INTO subjects (subject_id, project_id, kind, queue, priority, created_at, traceparent, definition_hash)
  SELECT m.subject, m.project, m.kind, m.queue, m.priority, m.at, m.traceparent, m.definition FROM made m),
w_head AS (
  INSERT INTO subject_head (subject_id, head_seq, chain, state_root, journal_id, last_timestamp, run_deadline)
  SELECT m.subject, m.head, m.chain, m.root, m.journal, m.at, m.deadline FROM made m),
w_events AS (
  INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload,
                            offloaded)
  SELECT e.subject, e.seq, e.journal, e.type, e.schema, e.producer, e.token, e.at, e.checksum, nullif(e.content, e.checksum), e.chain, e.payload, e.offloaded
  FROM unnest($events::commit_event[]) AS e WHERE (SELECT count(*) FROM made) > 0),
w_listings AS (
  INSERT INTO listings (subject_id, project_id, kind, name, version, owner, status, labels, created_at, updated_at)
  SELECT m.subject, m.project, m.kind, m.name, m.name_version, m.owner, m.status, m.labels, m.at, m.at FROM made m WHERE m.name IS NOT NULL),
w_history AS (
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
  SELECT m.subject, $token::bigint, m.session, m.head, 0, m.now FROM made m WHERE m.given),
w_ready AS (
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, begun)
  SELECT m.queue, m.priority, ready_shard(m.subject), m.now, m.subject, m.kind, m.version, false FROM made m WHERE m.ready AND NOT m.given)
SELECT m.n, m.given, clock_timestamp(), m.now FROM made m)";

const Statement kPlain("create.plain", Statement::Kind::kWrite, std::string(kWithoutKeys) + kMakeThem, true);
const Statement kKeyed("create.keyed", Statement::Kind::kWrite, std::string(kKeysFirst) + kMakeThem, true);

// The workflows of a batch as submitted, each once.
class DefinitionTexts {
 public:
  const Hash256& Add(const std::string& text) {
    const auto known = std::find_if(texts_.begin(), texts_.end(), [&](const auto& one) { return *one.second == text; });
    return known != texts_.end() ? known->first : texts_.emplace_back(Sha256(text), &text).first;
  }
  void Bind(Params& params) const {
    Array hash(Oid::kBytea), text(Oid::kText);
    for (const auto& [its_hash, its_text] : texts_) hash.Bytes(its_hash), text.Text(*its_text);
    params.List("x_hash", hash).List("x_text", text);
  }

 private:
  std::deque<std::pair<Hash256, const std::string*>> texts_;  // of the items
};

}  // namespace

std::vector<SealedItem> SealItems(std::span<const CreateItem> items, Token token, WallTime now) {
  std::vector<SealedItem> sealed;
  sealed.reserve(items.size());
  for (const CreateItem& item : items) {
    SealedItem one{&item, JournalId{NewUuid7()}, item.events, ChainStart(item.subject)};
    std::int64_t seq = 0;
    for (Event& event : one.events) {
      event.subject = item.subject;
      event.seq = ++seq;
      event.journal = one.journal;
      event.token = token;
      event.timestamp = now;
      if (event.checksum == Hash256{}) {
        Seal(event, one.chain);
      } else {  // its payload was hashed when it was made (fold.h)
        event.chain = ChainNext(one.chain, event);
      }
      one.chain = event.chain;
    }
    sealed.push_back(std::move(one));
  }
  return sealed;
}

std::optional<WallTime> DeadlineOf(const CreateItem& item, WallTime now) {
  return item.time_limit.count() > 0 ? std::optional(now + item.time_limit) : std::nullopt;
}

bool FitsOneStatement(std::span<const CreateItem> items) {
  return std::all_of(items.begin(), items.end(), [](const CreateItem& item) {
    return item.timers.empty() && item.contents.empty() &&
           std::none_of(item.events.begin(), item.events.end(), [](const Event& event) { return event.offloaded; });
  });
}

BoundCreate BindCreate(std::span<const SealedItem> items, Token token, WallTime now, const RowTypes& types) {
  RowArray rows(types.at("create_row"), 22), events(types.at("commit_event"), 14);
  Array scope(Oid::kUuid), key(Oid::kText), hash(Oid::kBytea), subject(Oid::kUuid);
  std::set<WorkerSessionId> sessions;
  DefinitionTexts definitions;
  bool keyed = false;
  int n = 0;
  for (const SealedItem& one : items) {
    const CreateItem& item = *one.item;
    rows.Row().Int32(++n).Id(item.subject.uuid).Id(item.project.uuid).Text(item.kind).Text(item.queue).Int32(item.priority);
    rows.Int32(item.required_version).Int64(std::int64_t(one.events.size())).Bytes(one.chain).Bytes(item.state_root).Id(one.journal.uuid);
    rows.Time(now).MaybeTime(DeadlineOf(item, now)).Bool(item.make_ready);
    if (item.grant_to) {
      rows.Id(item.grant_to->uuid);
      sessions.insert(*item.grant_to);
    } else {
      rows.Null(Oid::kUuid);
    }
    if (item.listing) {
      const ListingRow& row = *item.listing;
      rows.Text(row.name).Text(row.version).Text(row.owner).Text(row.status);
      rows.Bytes(definitions.Add(row.definition_text)).Text(row.labels_json);
    } else {
      for (int column = 0; column < 4; ++column) rows.Null(Oid::kText);
      rows.Null(Oid::kBytea).Null(Oid::kText);
    }
    rows.MaybeText(item.traceparent.empty() ? std::nullopt : std::optional(item.traceparent));
    for (const Event& e : one.events) AddEvent(events, n, e);
    if (!item.request_key) continue;
    keyed = true;
    scope.Id(item.project.uuid), key.Text(*item.request_key), hash.Bytes(item.request_hash), subject.Id(item.subject.uuid);
  }
  Array named(Oid::kUuid);
  for (const WorkerSessionId& session : sessions) named.Id(session.uuid);
  Params params;
  definitions.Bind(params);
  params.Int64("token", token.value).List("items", rows).List("events", events).List("sessions", named);
  if (keyed) params.List("k_scope", scope).List("k_key", key).List("k_hash", hash).List("k_subject", subject);
  return {keyed ? &kKeyed : &kPlain, std::move(params)};
}

}  // namespace acl::pg
