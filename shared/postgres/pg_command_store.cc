// Commands: one transaction across round trips (migrations/functions/open_command.sql).
#include "shared/base/fail_point.h"
#include "shared/postgres/claim_rows.h"
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

const Statement kOpenCommand("command.open", Statement::Kind::kWrite, R"(
SELECT r.part, r.subject, r.n1, r.n2, r.n3, r.n4, r.u1, r.u2, r.t1, r.t2, r.b1, r.b2, r.b3, r.at1, r.n5, r.n6, r.t3, r.t4, r.b4
FROM open_command($subject::uuid, $known::bigint, $takes_inbox::boolean, $keys::text[]) r)",
                             true);
const Statement kPutAnswers("command.answer", Statement::Kind::kWrite, R"(
INSERT INTO command_answers (subject_id, request_key, request_hash, event_seq, answer)
SELECT $subject::uuid, a.key, a.hash, a.seq, a.answer
FROM unnest($key::text[], $hash::bytea[], $seq::bigint[], $answer::text[]) AS a(key, hash, seq, answer))",
                            true);
const Statement kShowRows("command.show", Statement::Kind::kWrite,
                          "SELECT show_rows($subject::uuid, $table::text[], $id::text[], $row::text[])", true);
const Statement kQuarantineOpened("command.quarantine", Statement::Kind::kWrite,
                                  "SELECT quarantine_opened($subject::uuid, $token::bigint, $reason::text, $detail::text)");

Result<CommandView> OpenCommand(pg::Connection& connection, const CommandRequest& request) {
  Array keys(Oid::kText);
  for (const std::string& key : request.keys) keys.Text(key);
  pg::Params open;
  open.Id("subject", request.subject.uuid).Int64("known", request.known_seq).Bool("takes_inbox", request.takes_inbox).List("keys", keys);
  auto opened = connection.Run(kOpenCommand, open);
  if (!opened) return opened.error();
  return pg::Decoded<CommandView>("command.open", [&] {
    ClaimAnswer answer = pg::DecodeClaim(*opened);
    if (answer.claimed.size() != 1) throw std::invalid_argument("subject " + request.subject.ToString() + " has no head row");
    return CommandView{std::move(answer.claimed.front()), pg::DecodeAnswers(*opened)};
  });
}

Result<CommitOutcome> Rejected(const pg::SqlError& details, const Error& error) {
  if (details.item_is_bad()) return CommitOutcome{Kind::kRejected, 0, error.message};
  return error;
}

Error Quarantined(pg::Connection& connection, const Claimed& found, const CommandItem::Damage& damage) {
  pg::Params params;
  params.Id("subject", found.subject.uuid).Int64("token", found.token.value).Text("reason", damage.reason).Text("detail", damage.detail);
  if (auto rows = connection.Run(kQuarantineOpened, params); !rows) return rows.error();
  if (Status committed = connection.Commit(); !committed) return committed.error();
  return {Code::kCorrupt, damage.detail};
}

// What goes with the item, in its transaction.
Result<CommitOutcome> WriteBeside(pg::Connection& connection, const SubjectId& subject, const CommandItem& item) {
  pg::SqlError details;
  if (!item.answers.empty()) {
    Array key(Oid::kText), hash(Oid::kBytea), seq(Oid::kInt8), answer(Oid::kText);
    for (const GivenAnswer& one : item.answers)
      key.Text(one.key), hash.Bytes(one.request_hash), seq.Int64(one.event_seq), answer.Text(one.answer);
    pg::Params params;
    params.Id("subject", subject.uuid).List("key", key).List("hash", hash).List("seq", seq).List("answer", answer);
    if (auto rows = connection.Run(kPutAnswers, params, &details); !rows) return Rejected(details, rows.error());
  }
  if (!item.rows.empty()) {
    Array table(Oid::kText), id(Oid::kText), row(Oid::kText);
    for (const ShownRow& one : item.rows) table.Text(one.table), id.Text(one.id), row.MaybeText(one.row);
    pg::Params params;
    params.Id("subject", subject.uuid).List("table", table).List("id", id).List("row", row);
    if (auto rows = connection.Run(kShowRows, params, &details); !rows) return Rejected(details, rows.error());
  }
  return CommitOutcome{};
}

}  // namespace

// Payloads that are too large for a row are stored between two transactions: a slow store would else hold the lease's lock. What was
// decided in the first still holds in the second if the token to be minted is the same: nobody was granted the subject meanwhile.
Result<CommitOutcome> PgStore::Command(const CommandRequest& request, const CommandDecider& decide) {
  constexpr int kMostChanges = 5;
  std::optional<CommandItem> stored;
  for (int attempt = 0; attempt < kMostChanges; ++attempt) {
    auto outcome = CommandOnce(request, decide, stored);
    if (!outcome) return outcome.error();
    if (*outcome) return std::move(**outcome);
    for (const Event& event : stored->item.events) {
      if (!event.offloaded) continue;
      const Content content(event.content_hash, *event.payload);
      if (Status put = PutContents({&content, 1}); !put) return put.error();
    }
  }
  return Error{Code::kUnavailable, "command: subject " + request.subject.ToString() + " changed " + std::to_string(kMostChanges) +
                                       " times while a large payload was stored: try again"};
}

// The one transaction across round trips: lease locked and token raised, decided here, appended, committed. The lease stays free. nullopt:
// nothing was written, `stored` is what was decided, and its offloaded payloads are to be stored first.
Result<std::optional<CommitOutcome>> PgStore::CommandOnce(const CommandRequest& request, const CommandDecider& decide,
                                                          std::optional<CommandItem>& stored) {
  auto taken = pool_->Take();
  if (!taken) return taken.error();
  pg::Connection& connection = **taken;
  if (FailPoint("command.before")) connection.Cut();
  if (Status begun = connection.Begin(); !begun) return begun.error();
  auto view = OpenCommand(connection, request);
  if (!view) return view.error();  // giving the connection back rolls back
  if (FailPoint("command.opened")) connection.Cut();

  const Claimed& found = view->claimed;
  if (!stored || stored->item.token != found.token || stored->item.base_seq != found.head.seq) {
    auto decided = decide(*view);
    if (!decided) return decided.error();
    if (!*decided) return std::optional(CommitOutcome{});
    if ((*decided)->damage) return Quarantined(connection, found, *(*decided)->damage);
    if ((*decided)->item.subject != request.subject || (*decided)->item.token != found.token) {
      return Error{Code::kInternal, "command: the decision is for another subject or token"};
    }
    if (auto wrong = pg::Validate((*decided)->item)) return std::optional(CommitOutcome{Kind::kRejected, 0, *wrong});
    stored = std::move(**decided);
    bool large = false;
    for (Event& event : stored->item.events) {
      event.offloaded = event.offloaded || (event.payload && std::int64_t(event.payload->size()) > object_bytes_);
      large = large || event.offloaded;
    }
    if (large) return std::optional<CommitOutcome>();
  }
  std::span<const CommitItem> one(&stored->item, 1);
  pg::SqlError details;
  auto types = connection.SentTypes();
  if (!types) return types.error();
  const pg::CommitForm form = stored->item.begins_journal ? pg::CommitForm::kRolled : pg::CommitForm::kFull;
  auto rows = connection.Run(pg::CommitStatement(form), pg::BindCommit(one, form, true, **types), &details);
  if (!rows) {
    auto rejected = Rejected(details, rows.error());
    if (!rejected) return rejected.error();
    return std::optional(*rejected);
  }
  auto outcomes = pg::Decoded<Outcomes>("command", [&] { return pg::DecodeCommit(*rows, one); });
  if (!outcomes) return outcomes.error();
  if (outcomes->front().kind != Kind::kCommitted) return std::optional(outcomes->front());
  auto beside = WriteBeside(connection, request.subject, *stored);
  if (!beside) return beside.error();
  if (beside->kind != Kind::kCommitted) return std::optional(*beside);
  if (FailPoint("command.written")) connection.Cut();
  if (Status committed = connection.Commit(); !committed) return committed.error();
  // It is done, and nobody hears of it.
  if (FailPoint("command.committed")) return Error{Code::kOutcomeUnknown, "command: its answer was thrown away by a failpoint"};
  return std::optional(outcomes->front());
}

}  // namespace acl
