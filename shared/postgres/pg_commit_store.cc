// Group commit, read back.
#include <set>

#include "shared/base/fail_point.h"
#include "shared/postgres/commit_statement.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Array;
using pg::Oid;
using pg::Statement;
using Kind = CommitOutcome::Kind;
using Outcomes = std::vector<CommitOutcome>;

// The last event of an item is its evidence; an item without events shows by its attempt, or by a lease released under its token.
const Statement kReadBack("commit.read_back", Statement::Kind::kRead, R"(
SELECT i.n, l.token, l.session_id, l.wake, h.head_seq, e.chain,
       coalesce((SELECT a.token = i.token FROM attempt_rows a WHERE a.subject_id = i.subject AND a.step_id = i.step AND a.attempt_id = i.attempt), false)
FROM unnest($subject::uuid[], $token::bigint[], $last::bigint[], $step::text[], $attempt::int[])
  WITH ORDINALITY AS i(subject, token, last, step, attempt, n)
LEFT JOIN leases l ON l.subject_id = i.subject LEFT JOIN subject_head h ON h.subject_id = i.subject
LEFT JOIN event_rows e ON e.subject_id = i.subject AND e.seq = i.last ORDER BY i.n)",
                          true);

Status CheckBatch(std::span<const CommitItem> items) {
  std::set<SubjectId> once;
  for (const CommitItem& item : items) {
    if (!once.insert(item.subject).second) {
      return Error{Code::kInvalid, "commit: subject " + item.subject.ToString() + " is in the batch twice"};
    }
  }
  return {};
}

// Runs the statement; if an item is bad, halves the batch until the bad one stands alone. `landed` says whether part of it was kept.
Status CommitPart(pg::Pool& pool, std::span<const CommitItem> items, Outcomes& outcomes, bool& landed) {
  const pg::CommitForm form = pg::FormOf(items);
  pg::SqlError details;
  Result<pg::Rows> rows = Error{};
  for (int attempt = 1;; ++attempt) {
    auto taken = pool.Take();
    if (!taken) return taken.error();
    if (FailPoint("commit.before")) (*taken)->Cut();
    auto types = (*taken)->SentTypes();
    if (!types) return types.error();
    rows = (*taken)->Run(pg::CommitStatement(form), pg::BindCommit(items, form, false, **types), &details);
    if (rows || !details.retry_at_once() || attempt == pg::kImmediateRetries) break;
  }
  // It is done, and nobody hears of it.
  if (rows && FailPoint("commit.after_send")) return Error{Code::kOutcomeUnknown, "commit: its answer was thrown away by a failpoint"};
  if (rows) {
    auto decoded = pg::Decoded<Outcomes>("commit", [&] { return pg::DecodeCommit(*rows, items); });
    if (!decoded) return decoded.error();
    outcomes.insert(outcomes.end(), decoded->begin(), decoded->end());
    landed = true;
    return {};
  }
  if (!details.item_is_bad()) return rows.error();
  if (items.size() == 1) {
    outcomes.push_back({Kind::kRejected, 0, rows.message()});
    return {};
  }
  std::size_t half = items.size() / 2;
  if (Status first = CommitPart(pool, items.first(half), outcomes, landed); !first) return first;
  return CommitPart(pool, items.subspan(half), outcomes, landed);
}

CommitOutcome ReadBackOne(const pg::Rows& rows, int i, const CommitItem& item) {
  if (rows.IsNull(i, 1)) return {Kind::kFenced, 0, {}};
  bool same_token = rows.Int(i, 1) == item.token.value;
  bool held = !rows.IsNull(i, 2);
  bool mine = same_token && held && rows.Id(i, 2) == item.session.uuid;
  bool landed;
  if (!item.events.empty()) {
    landed = !rows.IsNull(i, 5) && rows.Hash(i, 5) == item.events.back().chain;
  } else if (!item.attempts.empty()) {
    landed = rows.Bool(i, 6);
  } else {
    landed = item.disposition != Disposition::kKeep && same_token && !held;
  }
  if (landed) return {Kind::kCommitted, rows.Int(i, 3), {}};
  if (mine && rows.Int(i, 4) == item.base_seq) return {Kind::kBusy, rows.Int(i, 3), {}};
  return {Kind::kFenced, 0, {}};
}

}  // namespace

Result<Outcomes> PgStore::Commit(std::span<const CommitItem> items) {
  if (Status checked = CheckBatch(items); !checked) return checked.error();
  Outcomes outcomes(items.size());
  std::vector<CommitItem> good;
  std::vector<std::size_t> places;
  bool all_good = true;
  for (const CommitItem& item : items) all_good = all_good && !item.session.is_nil() && !pg::Validate(item);
  if (!all_good) {  // rare: only then are items copied
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto wrong = pg::Validate(items[i]);
      if (wrong) {
        outcomes[i] = {Kind::kRejected, 0, *wrong};
      } else if (items[i].session.is_nil()) {
        outcomes[i] = {Kind::kFenced, 0, "no session"};
      } else {
        good.push_back(items[i]);
        places.push_back(i);
      }
    }
  }
  std::span<const CommitItem> batch = all_good ? items : std::span<const CommitItem>(good);
  if (batch.empty()) return outcomes;
  Outcomes got;
  bool landed = false;
  if (Status done = CommitPart(*commit_pool_, batch, got, landed); !done) {
    // Halves that were committed before the error make the whole uncertain: the caller reads back.
    return landed ? Error{Code::kOutcomeUnknown, "part of the batch was committed, then: " + done.message()} : done.error();
  }
  for (std::size_t i = 0; i < got.size(); ++i) outcomes[all_good ? i : places[i]] = std::move(got[i]);
  return outcomes;
}

Result<Outcomes> PgStore::ReadBack(std::span<const CommitItem> items) {
  if (items.empty()) return Outcomes();
  Array subject(Oid::kUuid), token(Oid::kInt8), last(Oid::kInt8), step(Oid::kText), attempt(Oid::kInt4);
  for (const CommitItem& item : items) {
    subject.Id(item.subject.uuid), token.Int64(item.token.value), last.Int64(item.base_seq + std::int64_t(item.events.size()));
    if (item.attempts.empty()) {
      step.Null(), attempt.Null();
    } else {
      step.Text(item.attempts.back().step_id), attempt.Int32(item.attempts.back().attempt_id);
    }
  }
  pg::Params params;
  params.List("subject", subject).List("token", token).List("last", last).List("step", step).List("attempt", attempt);
  auto rows = pg::RunOne(*commit_pool_, kReadBack, params);
  if (!rows) return rows.error();
  return pg::Decoded<Outcomes>("commit.read_back", [&] {
    Outcomes outcomes;
    for (int i = 0; i < rows->size(); ++i) outcomes.push_back(ReadBackOne(*rows, i, items[std::size_t(i)]));
    return outcomes;
  });
}

}  // namespace acl
