// The parameters of the group commit: rows of the types of migrations/0013_statement_rows.sql, and for what few batches have an array a
// column. Children name their item by its number.
#include <algorithm>
#include <numeric>
#include <set>

#include "shared/kernel/dispatch.h"
#include "shared/postgres/claim_rows.h"
#include "shared/postgres/commit_statement.h"
#include "shared/postgres/packed_payload.h"

namespace acl::pg {
namespace {

// In the order of their subjects, each with its number in the batch.
void BindItems(std::span<const CommitItem> items, bool direct, const RowTypes& types, Params& params) {
  RowArray rows(types.at("commit_item"), 15);
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::size_t a, std::size_t b) { return items[a].subject < items[b].subject; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  for (const std::size_t i : order) {
    const CommitItem& item = items[i];
    rows.Row().Int32(int(i) + 1).Id(item.subject.uuid);
    if (direct) {
      rows.Null(Oid::kUuid);
    } else {
      rows.Id(item.session.uuid);
    }
    rows.Int64(item.token.value).Int64(item.base_seq).Int64(item.base_seq + std::int64_t(item.events.size()));
    rows.Bytes(item.chain).Bytes(item.state_root).Time(item.last_timestamp);
    rows.Int32(direct ? 0 : int(item.disposition)).Int64(item.expected_wake).MaybeInt32(item.required_version).MaybeTime(item.not_before);
    if (item.waiting) {
      rows.Text(item.waiting->reason).MaybeTime(item.waiting->next_wake);
    } else {
      rows.Null(Oid::kText).Null(Oid::kTimestamptz);
    }
  }
  params.List("items", rows).Bits("none", int(items.size()) + 1);
}

void BindOne(const CommitItem& item, Params& params) {
  params.Id("subject", item.subject).Id("session", item.session).Int64("token", item.token.value);
  params.Int64("base", item.base_seq).Int64("head", item.base_seq + std::int64_t(item.events.size()));
  params.Bytes("chain", item.chain).Bytes("root", item.state_root).Time("at", item.last_timestamp).Int64("wake", item.expected_wake);
}

bool IsOf(const AttemptRow& attempt, const CompletionRow& completion) {
  return attempt.step_id == completion.step_id && attempt.attempt_id == completion.attempt_id;
}

// Whether the attempt that completes is written by the same commit.
bool Fused(const CommitItem& item, const CompletionRow& completion) {
  return std::any_of(item.attempts.begin(), item.attempts.end(), [&](const AttemptRow& a) { return IsOf(a, completion); });
}

void AddEntry(RowArray& entries, int n, const CommitItem& item, const Event& e, const EventRoom& room) {
  entries.Row().Int32(n).Id(e.subject.uuid).Int64(e.token.value).Int64(e.seq).Id(e.journal.uuid).Text(e.type);
  entries.Int32(e.schema_version).Text(e.producer_version).Time(e.timestamp).Bytes(e.checksum);
  e.content_hash == e.checksum ? entries.Null(Oid::kBytea) : entries.Bytes(e.content_hash);
  entries.Bytes(e.chain);
  const CompletionRow* completion = room.completion >= 0 ? &item.completions[std::size_t(room.completion)] : nullptr;
  const AttemptRow* attempt = room.attempt >= 0 ? &item.attempts[std::size_t(room.attempt)] : nullptr;
  if (e.offloaded || !e.payload) {
    entries.Null(Oid::kText).Null(Oid::kBytea);
  } else if (const auto packed = Pack(*e.payload, {e.timestamp, completion ? completion->step_id : "", attempt ? attempt->step_id : ""})) {
    entries.Text(packed->text).Bytes(packed->root);
  } else {
    entries.Text(*e.payload).Null(Oid::kBytea);
  }
  entries.Bool(e.offloaded);
  if (completion != nullptr) {
    const CompletionRow& c = *completion;
    entries.Text(c.step_id).Int32(c.attempt_id).Bool(Fused(item, c)).Bytes(c.result_checksum);
  } else {
    entries.Null(Oid::kText).Null(Oid::kInt4).Null(Oid::kBool).Null(Oid::kBytea);
  }
  if (attempt != nullptr) {
    const AttemptRow& a = *attempt;
    entries.Text(a.step_id).Int32(a.attempt_id);
    a.started_at == e.timestamp ? entries.Null(Oid::kTimestamptz) : entries.Time(a.started_at);
  } else {
    entries.Null(Oid::kText).Null(Oid::kInt4).Null(Oid::kTimestamptz);
  }
}

void BindEvents(std::span<const CommitItem> items, CommitForm form, const RowTypes& types, Params& params) {
  RowArray entries(types.at("packed_entry"), 22);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    const std::vector<EventRoom> rooms = RoomInEvents(item);
    for (std::size_t i = 0; i < item.events.size(); ++i) AddEntry(entries, n, item, item.events[i], rooms[i]);
  }
  if (form == CommitForm::kOne || form == CommitForm::kFirst) {
    params.Set("event", entries.EncodeOne());
  } else {
    params.List("events", entries);
  }
}

// Attempts and completions that stand in no event.
void BindOtherRows(std::span<const CommitItem> items, const RowTypes& types, Params& params) {
  RowArray attempts(types.at("commit_attempt"), 6), completions(types.at("commit_completion"), 9);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    std::vector<bool> attempt_stands(item.attempts.size()), completion_stands(item.completions.size());
    for (const EventRoom& room : RoomInEvents(item)) {
      if (room.attempt >= 0) attempt_stands[std::size_t(room.attempt)] = true;
      if (room.completion >= 0) completion_stands[std::size_t(room.completion)] = true;
    }
    for (std::size_t i = 0; i < item.attempts.size(); ++i) {
      const AttemptRow& a = item.attempts[i];
      if (attempt_stands[i]) continue;
      attempts.Row().Int32(n).Id(item.subject.uuid).Int64(item.token.value).Text(a.step_id).Int32(a.attempt_id).Time(a.started_at);
    }
    for (std::size_t i = 0; i < item.completions.size(); ++i) {
      const CompletionRow& c = item.completions[i];
      if (completion_stands[i]) continue;
      completions.Row().Int32(n).Id(item.subject.uuid).Int64(item.token.value).Text(c.step_id).Int32(c.attempt_id).Bool(Fused(item, c));
      completions.Int64(c.event_seq).Time(c.completed_at).Bytes(c.result_checksum);
    }
  }
  params.List("attempts", attempts).List("completions", completions);
}

// What the parts for few batches look up by an item's number.
void BindByNumber(std::span<const CommitItem> items, Params& params) {
  Array subject(Oid::kUuid), token(Oid::kInt8), required(Oid::kInt4), not_before(Oid::kTimestamptz);
  for (const CommitItem& item : items) {
    subject.Id(item.subject.uuid), token.Int64(item.token.value), not_before.MaybeTime(item.not_before);
    if (item.required_version) {
      required.Int32(*item.required_version);
    } else {
      required.Null();
    }
  }
  params.List("subject", subject).List("token", token).List("required", required).List("not_before", not_before);
}

void BindRequeue(std::span<const CommitItem> items, bool direct, Params& params) {
  Array r_item(Oid::kInt4), r_begun(Oid::kBool);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    if (!item.requeue || (!direct && item.disposition != Disposition::kRelease)) continue;
    r_item.Int32(n);
    r_begun.Bool(item.base_seq + std::int64_t(item.events.size()) > 1);
  }
  params.List("r_item", r_item);
  params.List("r_begun", r_begun);
}

// One statement must not delete and insert the same timer: what is set again is not cleared. A closing item clears all and sets none.
void BindTimers(std::span<const CommitItem> items, bool direct, const RowTypes& types, Params& params) {
  RowArray cleared(types.at("commit_timer"), 4), timers(types.at("commit_timer"), 4);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    const auto clear = [&](const std::string* id) {
      cleared.Row().Int32(n).Id(item.subject.uuid);
      (id != nullptr ? cleared.Text(*id) : cleared.Null(Oid::kText)).Null(Oid::kTimestamptz);
    };
    if (!direct && item.disposition == Disposition::kClose) {
      clear(nullptr);
      continue;
    }
    std::map<std::string, WallTime> set;
    for (const TimerRow& timer : item.timers_set) set[timer.timer_id] = timer.fire_at;
    for (const std::string& id : std::set<std::string>(item.timers_cleared.begin(), item.timers_cleared.end())) {
      if (set.count(id) == 0) clear(&id);
    }
    for (const auto& [id, at] : set) timers.Row().Int32(n).Id(item.subject.uuid).Text(id).Time(at);
  }
  params.List("cleared", cleared).List("timers", timers);
}

void BindInbox(std::span<const CommitItem> items, Params& params) {
  Array i_item(Oid::kInt4), i_id(Oid::kUuid);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    for (const InboxId& id : item.consumed_inbox) i_item.Int32(n), i_id.Id(id.uuid);
  }
  params.List("i_item", i_item).List("i_id", i_id);
}

void BindDispatchesAndOutbox(std::span<const CommitItem> items, Params& params) {
  Array k_item(Oid::kInt4), k_step(Oid::kText), k_attempt(Oid::kInt4), k_queue(Oid::kText), k_priority(Oid::kInt4), k_payload(Oid::kText),
      k_deadline(Oid::kTimestamptz), k_dispatch(Oid::kUuid), k_unwanted(Oid::kBool), kc_item(Oid::kInt4), kc_step(Oid::kText),
      kc_attempt(Oid::kInt4);
  Array o_item(Oid::kInt4), o_topic(Oid::kText), o_key(Oid::kText), o_payload(Oid::kText);
  Array u_item(Oid::kInt4), u_step(Oid::kText), u_capability(Oid::kText), u_inputs(Oid::kText), u_status(Oid::kText), u_error(Oid::kText),
      u_at(Oid::kTimestamptz);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    for (const DispatchRow& k : item.dispatches) {
      k_item.Int32(n), k_step.Text(k.step_id), k_attempt.Int32(k.attempt_id), k_queue.Text(k.queue), k_priority.Int32(k.priority);
      k_payload.Text(k.payload), k_deadline.MaybeTime(k.deadline), k_unwanted.Bool(k.cancel_requested);
      k_dispatch.Id(DispatchIdOf(item.subject, k.step_id, k.attempt_id).uuid);
    }
    for (const DispatchKey& k : item.dispatches_cancelled) kc_item.Int32(n), kc_step.Text(k.step_id), kc_attempt.Int32(k.attempt_id);
    for (const OutboxRow& o : item.outbox) o_item.Int32(n), o_topic.Text(o.topic), o_key.Text(o.key), o_payload.Text(o.payload);
    for (const CompensationRow& u : item.compensations) {
      u_item.Int32(n), u_step.Text(u.step_id), u_capability.Text(u.capability), u_inputs.Text(u.inputs_json), u_status.Text(u.status);
      u_error.Text(u.error), u_at.Time(u.at);
    }
  }
  params.List("k_item", k_item).List("k_step", k_step).List("k_attempt", k_attempt).List("k_queue", k_queue).List("k_priority", k_priority);
  params.List("k_payload", k_payload).List("k_deadline", k_deadline);
  params.List("k_dispatch", k_dispatch).List("k_unwanted", k_unwanted).Int32("k_version", EventSchemaVersion());
  params.List("kc_item", kc_item).List("kc_step", kc_step).List("kc_attempt", kc_attempt);
  params.List("o_item", o_item).List("o_topic", o_topic).List("o_key", o_key).List("o_payload", o_payload);
  params.List("u_item", u_item).List("u_step", u_step).List("u_capability", u_capability).List("u_inputs", u_inputs);
  params.List("u_status", u_status).List("u_error", u_error).List("u_at", u_at);
}

// Everything in the content store that the items name: what their events say, offloaded payloads, chunks of snapshots.
void BindContents(std::span<const CommitItem> items, Params& params) {
  Array x_item(Oid::kInt4), x_hash(Oid::kBytea), x_snapshot(Oid::kBool);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    const auto refer = [&](const Hash256& hash, bool snapshot = false) { x_item.Int32(n), x_hash.Bytes(hash), x_snapshot.Bool(snapshot); };
    for (const Hash256& hash : item.contents) refer(hash);
    for (const Event& event : item.events) {
      if (event.offloaded) refer(event.content_hash);
    }
    if (!item.snapshot) continue;
    for (const Hash256& chunk : item.snapshot->chunks) refer(chunk, true);
  }
  params.List("x_item", x_item).List("x_hash", x_hash).List("x_snapshot", x_snapshot);
}

void BindListing(std::span<const CommitItem> items, const RowTypes& types, Params& params) {
  RowArray listings(types.at("commit_listing"), 7);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    if (!item.listing) continue;
    listings.Row().Int32(n).Id(item.subject.uuid).Text(item.listing->status).MaybeText(item.listing->error_message);
    listings.MaybeTime(item.listing->started_at).MaybeTime(item.listing->completed_at).Time(item.last_timestamp);
  }
  params.List("listings", listings);
}

void BindSnapshots(std::span<const CommitItem> items, Params& params) {
  Array s_item(Oid::kInt4), s_seq(Oid::kInt8), s_id(Oid::kUuid), s_schema(Oid::kInt4), s_root(Oid::kBytea), s_chain(Oid::kBytea),
      s_state(Oid::kText), s_chunks(Oid::kBytea), s_at(Oid::kTimestamptz);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    if (!item.snapshot) continue;
    const Snapshot& s = *item.snapshot;
    s_item.Int32(n), s_seq.Int64(s.last_event_seq), s_id.Id(s.id), s_schema.Int32(s.schema_version), s_root.Bytes(s.state_root);
    s_chain.Bytes(s.chain), s_state.MaybeText(s.inline_state), s_at.Time(s.created_at);
    if (s.inline_state) {
      s_chunks.Null();
    } else {
      s_chunks.Bytes(JoinHashes(s.chunks));
    }
  }
  params.List("s_item", s_item).List("s_seq", s_seq).List("s_id", s_id).List("s_schema", s_schema).List("s_root", s_root);
  params.List("s_chain", s_chain).List("s_state", s_state).List("s_chunks", s_chunks).List("s_at", s_at);
}

void BindSegments(std::span<const CommitItem> items, Params& params) {
  Array j_item(Oid::kInt4), j_id(Oid::kUuid), j_at(Oid::kTimestamptz);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    if (item.begins_journal) j_item.Int32(n), j_id.Id(item.begins_journal->uuid), j_at.Time(item.events.front().timestamp);
  }
  params.List("j_item", j_item).List("j_id", j_id).List("j_at", j_at);
}

}  // namespace

std::vector<EventRoom> RoomInEvents(const CommitItem& item) {
  std::vector<EventRoom> rooms(item.events.size());
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    const Event& event = item.events[i];
    const auto of_event = [&](const CompletionRow& c) { return c.event_seq == event.seq && c.completed_at == event.timestamp; };
    const auto completion = std::find_if(item.completions.begin(), item.completions.end(), of_event);
    if (completion != item.completions.end()) rooms[i].completion = int(completion - item.completions.begin());
    if (i < item.attempts.size()) rooms[i].attempt = int(i);
  }
  return rooms;
}

bool AllInEvents(const CommitItem& item) {
  if (item.attempts.size() > item.events.size()) return false;
  std::size_t stand = 0;
  for (const EventRoom& room : RoomInEvents(item)) stand += room.completion >= 0 ? 1 : 0;
  return stand == item.completions.size();
}

void AddEvent(RowArray& events, int item, const Event& e) {
  events.Row().Int32(item).Id(e.subject.uuid).Int64(e.token.value).Int64(e.seq).Id(e.journal.uuid).Text(e.type);
  events.Int32(e.schema_version).Text(e.producer_version).Time(e.timestamp).Bytes(e.checksum).Bytes(e.content_hash).Bytes(e.chain);
  if (e.offloaded || !e.payload) {
    events.Null(Oid::kText);
  } else {
    events.Text(*e.payload);
  }
  events.Bool(e.offloaded);
}

Params BindCommit(std::span<const CommitItem> items, CommitForm form, bool direct, const RowTypes& types) {
  Params params;
  if (form < CommitForm::kKeep) {
    BindOne(items.front(), params);
  } else {
    BindItems(items, direct, types, params);
  }
  BindEvents(items, form, types, params);
  if (form == CommitForm::kOne || form == CommitForm::kKeep) return params;
  BindTimers(items, direct, types, params);
  BindListing(items, types, params);
  if (form <= CommitForm::kRun) return params;
  BindByNumber(items, params);
  BindRequeue(items, direct, params);
  if (form == CommitForm::kReady) return params;
  BindOtherRows(items, types, params);
  if (form == CommitForm::kRows) return params;
  BindInbox(items, params);
  BindDispatchesAndOutbox(items, params);
  BindSnapshots(items, params);
  BindContents(items, params);
  if (form == CommitForm::kRolled) BindSegments(items, params);
  return params;
}

}  // namespace acl::pg
