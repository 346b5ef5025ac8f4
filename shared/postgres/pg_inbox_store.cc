// Outside inputs, posts and timers (migrations/0006_queue.sql).
#include "shared/base/sha256.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

const Statement kPost("inbox.post", Statement::Kind::kWrite, R"(
SELECT replayed, holder, queue FROM post_inbox($subject::uuid, $inbox::uuid, $kind::text, $payload::text, $key::text, $hash::bytea))",
                      true);
// The counter comes from the same snapshot as the rows: it can be older than they are, never newer.
const Statement kReadInbox("inbox.read", Statement::Kind::kRead, R"(
SELECT l.wake, i.inbox_id, i.kind, i.payload, i.created_at
FROM leases l LEFT JOIN inbox i ON i.subject_id = l.subject_id
WHERE l.subject_id = $subject::uuid AND l.token = $token::bigint AND l.session_id IS NOT NULL ORDER BY i.arrival)",
                           true);
const Statement kFire("timers.fire", Statement::Kind::kWrite, "SELECT fired, next_fire, more FROM fire_timers($max::int)", true);

const Statement kAsked("subjects.asked", Statement::Kind::kRead, R"(
SELECT o.outbox_id, o.subject_id, o.key::uuid, s.project_id, substr(o.topic, 8), o.payload
FROM outbox o JOIN subjects s ON s.subject_id = o.subject_id WHERE o.topic LIKE 'create/%' ORDER BY o.outbox_id LIMIT $max::int)",
                       true);
const Statement kForgetAsked("subjects.forget_asked", Statement::Kind::kWrite,
                             "DELETE FROM outbox WHERE outbox_id = ANY ($ids::bigint[]) AND topic LIKE 'create/%'", true);

const Statement kDeliver("posts.deliver", Statement::Kind::kWrite,
                         "SELECT to_subject, holder, queue, dropped FROM deliver_posts($max::int)", true);

}  // namespace

Result<DeliverAnswer> PgStore::DeliverPosts(int max) {
  Params params;
  auto rows = pg::RunOne(*pool_, kDeliver, params.Int32("max", max));
  if (!rows) return rows.error();
  return pg::Decoded<DeliverAnswer>("posts.deliver", [&] {
    DeliverAnswer answer;
    answer.more = rows->size() >= max;
    for (int i = 0; i < rows->size(); ++i) {
      if (rows->Bool(i, 3)) {
        ++answer.dropped;
        continue;
      }
      PostAnswer posted;
      if (!rows->IsNull(i, 1)) posted.holder = WorkerSessionId{rows->Id(i, 1)};
      posted.queue = rows->Text(i, 2);
      answer.posted.emplace_back(SubjectId{rows->Id(i, 0)}, std::move(posted));
    }
    return answer;
  });
}

Result<std::vector<AskedSubject>> PgStore::AskedSubjects(int max) {
  Params params;
  auto rows = pg::RunOne(*pool_, kAsked, params.Int32("max", max));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<AskedSubject>>("subjects.asked", [&] {
    std::vector<AskedSubject> asked;
    for (int i = 0; i < rows->size(); ++i)
      asked.push_back({rows->Int(i, 0), SubjectId{rows->Id(i, 1)}, SubjectId{rows->Id(i, 2)}, ProjectId{rows->Id(i, 3)}, rows->Text(i, 4),
                       rows->Text(i, 5)});
    return asked;
  });
}

Status PgStore::ForgetAsked(std::span<const std::int64_t> outbox_ids) {
  Params params;
  pg::Array ids(pg::Oid::kInt8);
  for (const std::int64_t id : outbox_ids) ids.Int64(id);
  auto rows = pg::RunOne(*pool_, kForgetAsked, params.List("ids", ids));
  return rows ? Status() : Status(rows.error());
}

Result<PostAnswer> PgStore::Post(const InboxPost& post) {
  Params params;
  params.Id("subject", post.subject).Id("inbox", post.id).Text("kind", post.kind).Text("payload", post.payload);
  params.Text("key", post.request_key ? "key:" + *post.request_key : "inbox:" + post.id.ToString());
  params.Bytes("hash", Sha256({post.kind, std::string_view("\n"), post.payload}));
  auto rows = pg::RunOne(*pool_, kPost, params);
  if (!rows) return rows.error();
  return pg::Decoded<PostAnswer>("inbox.post", [&] {
    PostAnswer answer;
    answer.replayed = rows->Bool(0, 0);
    if (!rows->IsNull(0, 1)) answer.holder = WorkerSessionId{rows->Id(0, 1)};
    answer.queue = rows->Text(0, 2);
    return answer;
  });
}

Result<KernelStore::InboxView> PgStore::ReadInbox(const SubjectId& subject, Token token) {
  Params params;
  auto rows = pg::RunOne(*pool_, kReadInbox, params.Id("subject", subject).Int64("token", token.value));
  if (!rows) return rows.error();
  if (rows->size() == 0) {
    return Error{Code::kLeaseLost, "token " + std::to_string(token.value) + " does not hold subject " + subject.ToString()};
  }
  return pg::Decoded<InboxView>("inbox.read", [&] {
    InboxView view;
    view.wake = rows->Int(0, 0);
    for (int i = 0; i < rows->size(); ++i) {
      if (!rows->IsNull(i, 1)) view.rows.push_back({InboxId{rows->Id(i, 1)}, rows->Text(i, 2), rows->Text(i, 3), rows->Time(i, 4)});
    }
    return view;
  });
}

Result<FireAnswer> PgStore::FireTimers(int max) {
  Params params;
  auto rows = pg::RunOne(*pool_, kFire, params.Int32("max", max));
  if (!rows) return rows.error();
  return pg::Decoded<FireAnswer>("timers.fire", [&] { return FireAnswer{int(rows->Int(0, 0)), rows->MaybeTime(0, 1), rows->Bool(0, 2)}; });
}

}  // namespace acl
