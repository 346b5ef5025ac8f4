// Create: many subjects in one transaction, sealed here, proved there (create_statement.h, else migrations/functions/create_and_grant.sql).
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/base/sha256.h"
#include "shared/postgres/create_statement.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/seal_cache.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Array;
using pg::Oid;
using pg::Params;
using pg::Statement;

const Statement kStamp("create.stamp", Statement::Kind::kRead, "SELECT (mint_tokens(ARRAY[0]::bigint[]))[1], clock_timestamp()");
const Statement kCreate("create", Statement::Kind::kWrite, R"(
SELECT item, outcome, subject, token, db_now, granted FROM create_and_grant($token::bigint,
  $subject::uuid[], $project::uuid[], $kind::text[], $queue::text[], $priority::int[], $version::int[], $key::text[], $hash::bytea[],
  $head::bigint[], $chain::bytea[], $root::bytea[], $journal::uuid[], $at::timestamptz[], $deadline::timestamptz[], $ready::boolean[],
  $name::text[], $name_version::text[], $owner::text[], $status::text[], $definition::text[], $labels::text[], $traceparent::text[],
  $e_item::int[], $e_seq::bigint[], $e_type::text[], $e_schema::int[], $e_producer::text[], $e_at::timestamptz[], $e_checksum::bytea[],
  $e_content::bytea[], $e_chain::bytea[], $e_payload::text[], $e_offloaded::boolean[], $t_item::int[], $t_id::text[], $t_at::timestamptz[],
  $x_item::int[], $x_hash::bytea[], $grant::uuid[]))",
                        true);
constexpr int kReseal = 9;  // the epoch moved: nothing was written

Params Bind(std::span<const pg::SealedItem> items, Token token, WallTime now) {
  Array subject(Oid::kUuid), project(Oid::kUuid), kind(Oid::kText), queue(Oid::kText), priority(Oid::kInt4), version(Oid::kInt4),
      key(Oid::kText), hash(Oid::kBytea), head(Oid::kInt8), chain(Oid::kBytea), root(Oid::kBytea), journal(Oid::kUuid),
      at(Oid::kTimestamptz), deadline(Oid::kTimestamptz), ready(Oid::kBool), grant(Oid::kUuid), name(Oid::kText), name_version(Oid::kText),
      owner(Oid::kText), status(Oid::kText), definition(Oid::kText), labels(Oid::kText), traceparent(Oid::kText);
  Array e_item(Oid::kInt4), e_seq(Oid::kInt8), e_type(Oid::kText), e_schema(Oid::kInt4), e_producer(Oid::kText), e_at(Oid::kTimestamptz),
      e_checksum(Oid::kBytea), e_content(Oid::kBytea), e_chain(Oid::kBytea), e_payload(Oid::kText), e_offloaded(Oid::kBool);
  Array x_item(Oid::kInt4), x_hash(Oid::kBytea);
  Array t_item(Oid::kInt4), t_id(Oid::kText), t_at(Oid::kTimestamptz);

  int number = 0;
  for (const pg::SealedItem& one : items) {
    const CreateItem& item = *one.item;
    ++number;
    for (const Event& event : one.events) {
      e_item.Int32(number), e_seq.Int64(event.seq), e_type.Text(event.type), e_schema.Int32(event.schema_version);
      e_producer.Text(event.producer_version), e_at.Time(now), e_checksum.Bytes(event.checksum), e_content.Bytes(event.content_hash);
      e_chain.Bytes(event.chain), e_offloaded.Bool(event.offloaded);
      if (event.offloaded) {
        e_payload.Null(), x_item.Int32(number), x_hash.Bytes(event.content_hash);
      } else {
        e_payload.MaybeText(event.payload);
      }
    }
    for (const Hash256& named : item.contents) x_item.Int32(number), x_hash.Bytes(named);
    for (const TimerRow& timer : item.timers) t_item.Int32(number), t_id.Text(timer.timer_id), t_at.Time(timer.fire_at);
    subject.Id(item.subject.uuid), project.Id(item.project.uuid), kind.Text(item.kind), queue.Text(item.queue),
        priority.Int32(item.priority);
    version.Int32(item.required_version), key.MaybeText(item.request_key), hash.Bytes(item.request_hash);
    head.Int64(std::int64_t(one.events.size())), chain.Bytes(one.chain), root.Bytes(item.state_root), journal.Id(one.journal.uuid),
        at.Time(now);
    deadline.MaybeTime(pg::DeadlineOf(item, now)), ready.Bool(item.make_ready);
    if (item.grant_to) {
      grant.Id(item.grant_to->uuid);
    } else {
      grant.Null();
    }
    traceparent.MaybeText(item.traceparent.empty() ? std::nullopt : std::optional(item.traceparent));
    if (item.listing) {
      const ListingRow& row = *item.listing;
      name.Text(row.name), name_version.Text(row.version), owner.Text(row.owner), status.Text(row.status),
          definition.Text(row.definition_text);
      labels.Text(row.labels_json);
    } else {
      name.Null(), name_version.Null(), owner.Null(), status.Null(), definition.Null(), labels.Null();
    }
  }

  Params params;
  params.Int64("token", token.value).List("subject", subject).List("project", project).List("kind", kind).List("queue", queue);
  params.List("priority", priority).List("version", version).List("key", key).List("hash", hash).List("head", head).List("chain", chain);
  params.List("root", root).List("journal", journal).List("at", at).List("deadline", deadline).List("ready", ready).List("name", name);
  params.List("name_version", name_version)
      .List("owner", owner)
      .List("status", status)
      .List("definition", definition)
      .List("labels", labels);
  params.List("traceparent", traceparent).List("grant", grant);
  params.List("e_item", e_item).List("e_seq", e_seq).List("e_type", e_type).List("e_schema", e_schema).List("e_producer", e_producer);
  params.List("e_at", e_at)
      .List("e_checksum", e_checksum)
      .List("e_content", e_content)
      .List("e_chain", e_chain)
      .List("e_payload", e_payload)
      .List("e_offloaded", e_offloaded);
  params.List("x_item", x_item).List("x_hash", x_hash);
  params.List("t_item", t_item).List("t_id", t_id).List("t_at", t_at);
  return params;
}

}  // namespace

// Payloads that are too large for a row go to the content store first. Items are copied only then.
Result<std::span<const CreateItem>> PgStore::Offload(std::span<const CreateItem> items, std::vector<CreateItem>& copies) {
  const auto large = [&](const Event& event) { return event.payload && std::int64_t(event.payload->size()) > object_bytes_; };
  const auto has_large = [&](const CreateItem& item) { return std::any_of(item.events.begin(), item.events.end(), large); };
  if (std::none_of(items.begin(), items.end(), has_large)) return items;
  copies.assign(items.begin(), items.end());
  for (CreateItem& item : copies) {
    for (Event& event : item.events) {
      if (!large(event)) continue;
      const Content content(Sha256(*event.payload), *event.payload);
      if (Status put = PutContents({&content, 1}); !put) return put.error();
      event.offloaded = true;
    }
  }
  return std::span<const CreateItem>(copies);
}

Result<std::vector<CreateOutcome>> PgStore::Create(std::span<const CreateItem> given) {
  if (given.empty()) return std::vector<CreateOutcome>();
  std::vector<CreateItem> copies;
  auto offloaded = Offload(given, copies);
  if (!offloaded) return offloaded.error();
  const std::span<const CreateItem> items = *offloaded;
  constexpr int kResealLimit = 5;  // an epoch moves at failovers only
  bool at_once = pg::FitsOneStatement(items);
  for (int attempt = 0; attempt < kResealLimit; ++attempt) {
    auto stamp = seal_->Now();
    if (!stamp) {
      auto rows = pg::RunOne(*pool_, kStamp, {});
      if (!rows) return rows.error();
      stamp = seal_->Learn(Token{rows->Int(0, 0)}, rows->Time(0, 1));
    }
    const std::vector<pg::SealedItem> sealed = pg::SealItems(items, stamp->token, stamp->now);
    if (std::exchange(at_once, false)) {  // what it refuses was not written: the function says why
      auto outcomes = CreateAtOnce(sealed, stamp->token, stamp->now);
      if (!outcomes || !outcomes->empty()) return outcomes;
    }
    auto outcomes = CreateAny(sealed, stamp->token, stamp->now);
    if (!outcomes || !outcomes->empty()) return outcomes;
  }
  return Error{Code::kUnavailable, "create: the fleet epoch changed " + std::to_string(kResealLimit) + " times in a row"};
}

// In one statement. No outcomes: it was refused for the epoch, a request key or what an item says, and nothing was written.
Result<std::vector<CreateOutcome>> PgStore::CreateAtOnce(std::span<const pg::SealedItem> items, Token token, WallTime now) {
  pg::SqlError details;
  Result<pg::Rows> rows = Error{};
  for (int attempt = 1;; ++attempt) {
    auto taken = pool_->Take();
    if (!taken) return taken.error();
    auto types = (*taken)->SentTypes();
    if (!types) return types.error();
    const pg::BoundCreate bound = pg::BindCreate(items, token, now, **types);
    rows = (*taken)->Run(*bound.statement, bound.params, &details);
    if (rows || !details.retry_at_once() || attempt == pg::kImmediateRetries) break;
  }
  if (!rows && details.item_is_bad()) return std::vector<CreateOutcome>();
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<CreateOutcome>>("create", [&] {
    std::vector<CreateOutcome> out(std::size_t(rows->size()));
    if (out.empty()) return out;
    if (out.size() != items.size()) throw std::invalid_argument("not one answer for each item");
    seal_->Learn(token, rows->Time(0, 2));
    for (int i = 0; i < rows->size(); ++i) {
      const auto n = std::size_t(rows->Int(i, 0)) - 1;
      const CreateItem& item = *items[n].item;
      const bool granted = rows->Bool(i, 1), ready = item.make_ready && !granted;
      out.at(n) = {CreateOutcome::Kind::kCreated, item.subject, token, granted, ready ? rows->Time(i, 3) : WallTime{}};
    }
    return out;
  });
}

Result<std::vector<CreateOutcome>> PgStore::CreateAny(std::span<const pg::SealedItem> items, Token token, WallTime now) {
  auto rows = pg::RunOne(*pool_, kCreate, Bind(items, token, now));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<CreateOutcome>>("create", [&] {
    std::vector<CreateOutcome> out;
    if (rows->Int(0, 1) == kReseal) {
      seal_->Forget();
      return out;
    }
    seal_->Learn(token, rows->Time(0, 4));
    for (int i = 0; i < rows->size(); ++i) {
      CreateOutcome outcome;
      outcome.kind = CreateOutcome::Kind(rows->Int(i, 1));
      outcome.subject = SubjectId{rows->Id(i, 2)};
      outcome.token = Token{rows->Int(i, 3)};
      outcome.granted = rows->Bool(i, 5);
      out.push_back(outcome);
    }
    return out;
  });
}

}  // namespace acl
