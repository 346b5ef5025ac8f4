// The parameters of the group commit: one array per column, children name their item by its number.
#include <algorithm>
#include <set>

#include "shared/kernel/task.h"
#include "shared/postgres/claim_rows.h"
#include "shared/postgres/commit_statement.h"

namespace acl::pg {
namespace {

void BindItems(std::span<const CommitItem> items, bool direct, Params& params) {
  Array subject(Oid::kUuid), session(Oid::kUuid), token(Oid::kInt8), base(Oid::kInt8), head(Oid::kInt8), chain(Oid::kBytea),
      root(Oid::kBytea), at(Oid::kTimestamptz), disposition(Oid::kInt4), wake(Oid::kInt8);
  for (const CommitItem& item : items) {
    subject.Id(item.subject.uuid);
    if (direct) {
      session.Null();
    } else {
      session.Id(item.session.uuid);
    }
    token.Int64(item.token.value), base.Int64(item.base_seq), head.Int64(item.base_seq + std::int64_t(item.events.size()));
    chain.Bytes(item.chain), root.Bytes(item.state_root), at.Time(item.last_timestamp);
    disposition.Int32(direct ? 0 : int(item.disposition)), wake.Int64(item.expected_wake);
  }
  params.List("subject", subject).List("session", session).List("token", token).List("base", base).List("head", head).List("chain", chain);
  params.List("root", root).List("at", at).List("disposition", disposition).List("wake", wake);
}

void BindJournal(std::span<const CommitItem> items, Params& params) {
  Array e_item(Oid::kInt4), e_seq(Oid::kInt8), e_journal(Oid::kUuid), e_type(Oid::kText), e_schema(Oid::kInt4), e_producer(Oid::kText),
      e_at(Oid::kTimestamptz), e_checksum(Oid::kBytea), e_content(Oid::kBytea), e_chain(Oid::kBytea), e_payload(Oid::kText),
      e_apart(Oid::kBool);
  Array a_item(Oid::kInt4), a_step(Oid::kText), a_attempt(Oid::kInt4), a_at(Oid::kTimestamptz);
  Array c_item(Oid::kInt4), c_step(Oid::kText), c_attempt(Oid::kInt4), c_fused(Oid::kBool), c_seq(Oid::kInt8), c_at(Oid::kTimestamptz),
      c_checksum(Oid::kBytea);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    for (const Event& e : item.events) {
      e_item.Int32(n), e_seq.Int64(e.seq), e_journal.Id(e.journal.uuid), e_type.Text(e.type), e_schema.Int32(e.schema_version);
      e_producer.Text(e.producer_version), e_at.Time(e.timestamp), e_checksum.Bytes(e.checksum), e_content.Bytes(e.content_hash);
      e_chain.Bytes(e.chain), e_apart.Bool(e.apart);
      if (e.apart) {
        e_payload.Null();
      } else {
        e_payload.MaybeText(e.payload);
      }
    }
    for (const AttemptRow& a : item.attempts)
      a_item.Int32(n), a_step.Text(a.step_id), a_attempt.Int32(a.attempt_id), a_at.Time(a.started_at);
    for (const CompletionRow& c : item.completions) {
      bool fused = std::any_of(item.attempts.begin(), item.attempts.end(),
                               [&](const AttemptRow& a) { return a.step_id == c.step_id && a.attempt_id == c.attempt_id; });
      c_item.Int32(n), c_step.Text(c.step_id), c_attempt.Int32(c.attempt_id), c_fused.Bool(fused), c_seq.Int64(c.event_seq);
      c_at.Time(c.completed_at), c_checksum.Bytes(c.result_checksum);
    }
  }
  params.List("e_item", e_item).List("e_seq", e_seq).List("e_journal", e_journal).List("e_type", e_type).List("e_schema", e_schema);
  params.List("e_producer", e_producer).List("e_at", e_at).List("e_checksum", e_checksum).List("e_content", e_content);
  params.List("e_chain", e_chain).List("e_payload", e_payload).List("e_apart", e_apart);
  params.List("a_item", a_item).List("a_step", a_step).List("a_attempt", a_attempt).List("a_at", a_at);
  params.List("c_item", c_item).List("c_step", c_step).List("c_attempt", c_attempt).List("c_fused", c_fused).List("c_seq", c_seq);
  params.List("c_at", c_at).List("c_checksum", c_checksum);
}

void BindGiving(std::span<const CommitItem> items, Params& params) {
  Array required(Oid::kInt4), not_before(Oid::kTimestamptz), reason(Oid::kText), next_wake(Oid::kTimestamptz);
  for (const CommitItem& item : items) {
    if (item.required_version) {
      required.Int32(*item.required_version);
    } else {
      required.Null();
    }
    not_before.MaybeTime(item.not_before);
    if (item.waiting) {
      reason.Text(item.waiting->reason), next_wake.MaybeTime(item.waiting->next_wake);
    } else {
      reason.Null(), next_wake.Null();
    }
  }
  params.List("required", required).List("not_before", not_before).List("reason", reason).List("next_wake", next_wake);
}

void BindRequeue(std::span<const CommitItem> items, bool direct, Params& params) {
  Array r_item(Oid::kInt4);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    if (item.requeue && (direct || item.disposition == Disposition::kRelease)) r_item.Int32(n);
  }
  params.List("r_item", r_item);
}

// One statement must not delete and insert the same timer: what is set again is not cleared. A closing item clears all and sets none.
void BindTimers(std::span<const CommitItem> items, bool direct, Params& params) {
  Array tc_item(Oid::kInt4), tc_id(Oid::kText), t_item(Oid::kInt4), t_id(Oid::kText), t_at(Oid::kTimestamptz);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    if (!direct && item.disposition == Disposition::kClose) {
      tc_item.Int32(n), tc_id.Null();
      continue;
    }
    std::map<std::string, WallTime> set;
    for (const TimerRow& timer : item.timers_set) set[timer.timer_id] = timer.fire_at;
    for (const std::string& id : std::set<std::string>(item.timers_cleared.begin(), item.timers_cleared.end())) {
      if (set.count(id) == 0) tc_item.Int32(n), tc_id.Text(id);
    }
    for (const auto& [id, at] : set) t_item.Int32(n), t_id.Text(id), t_at.Time(at);
  }
  params.List("tc_item", tc_item).List("tc_id", tc_id).List("t_item", t_item).List("t_id", t_id).List("t_at", t_at);
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

void BindTasksAndOutbox(std::span<const CommitItem> items, Params& params) {
  Array k_item(Oid::kInt4), k_step(Oid::kText), k_attempt(Oid::kInt4), k_queue(Oid::kText), k_band(Oid::kInt4), k_payload(Oid::kText),
      k_deadline(Oid::kTimestamptz), k_task(Oid::kUuid), k_unwanted(Oid::kBool), kc_item(Oid::kInt4), kc_step(Oid::kText),
      kc_attempt(Oid::kInt4);
  Array o_item(Oid::kInt4), o_topic(Oid::kText), o_key(Oid::kText), o_payload(Oid::kText);
  Array u_item(Oid::kInt4), u_step(Oid::kText), u_capability(Oid::kText), u_inputs(Oid::kText), u_status(Oid::kText), u_error(Oid::kText),
      u_at(Oid::kTimestamptz);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    for (const TaskRow& k : item.tasks) {
      k_item.Int32(n), k_step.Text(k.step_id), k_attempt.Int32(k.attempt_id), k_queue.Text(k.queue), k_band.Int32(k.band);
      k_payload.Text(k.payload), k_deadline.MaybeTime(k.deadline), k_unwanted.Bool(k.cancel_requested);
      k_task.Id(TaskIdOf(item.subject, k.step_id, k.attempt_id).uuid);
    }
    for (const TaskKey& k : item.tasks_cancelled) kc_item.Int32(n), kc_step.Text(k.step_id), kc_attempt.Int32(k.attempt_id);
    for (const OutboxRow& o : item.outbox) o_item.Int32(n), o_topic.Text(o.topic), o_key.Text(o.key), o_payload.Text(o.payload);
    for (const CompensationRow& u : item.compensations) {
      u_item.Int32(n), u_step.Text(u.step_id), u_capability.Text(u.capability), u_inputs.Text(u.inputs_json), u_status.Text(u.status);
      u_error.Text(u.error), u_at.Time(u.at);
    }
  }
  params.List("k_item", k_item).List("k_step", k_step).List("k_attempt", k_attempt).List("k_queue", k_queue).List("k_band", k_band);
  params.List("k_payload", k_payload).List("k_deadline", k_deadline);
  params.List("k_task", k_task).List("k_unwanted", k_unwanted).Int32("k_version", EventSchemaVersion());
  params.List("kc_item", kc_item).List("kc_step", kc_step).List("kc_attempt", kc_attempt);
  params.List("o_item", o_item).List("o_topic", o_topic).List("o_key", o_key).List("o_payload", o_payload);
  params.List("u_item", u_item).List("u_step", u_step).List("u_capability", u_capability).List("u_inputs", u_inputs);
  params.List("u_status", u_status).List("u_error", u_error).List("u_at", u_at);
}

// Everything in the content store that the items name: what their events say, payloads apart, chunks of snapshots.
void BindContents(std::span<const CommitItem> items, Params& params) {
  Array x_item(Oid::kInt4), x_hash(Oid::kBytea), x_snapshot(Oid::kBool);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    const auto refer = [&](const Hash256& hash, bool snapshot = false) { x_item.Int32(n), x_hash.Bytes(hash), x_snapshot.Bool(snapshot); };
    for (const Hash256& hash : item.contents) refer(hash);
    for (const Event& event : item.events) {
      if (event.apart) refer(event.content_hash);
    }
    if (!item.snapshot) continue;
    for (const Hash256& chunk : item.snapshot->chunks) refer(chunk, true);
  }
  params.List("x_item", x_item).List("x_hash", x_hash).List("x_snapshot", x_snapshot);
}

void BindListing(std::span<const CommitItem> items, Params& params) {
  Array l_item(Oid::kInt4), l_status(Oid::kText), l_error(Oid::kText), l_started(Oid::kTimestamptz), l_completed(Oid::kTimestamptz);
  int n = 0;
  for (const CommitItem& item : items) {
    ++n;
    if (!item.listing) continue;
    l_item.Int32(n), l_status.Text(item.listing->status), l_error.MaybeText(item.listing->error_message);
    l_started.MaybeTime(item.listing->started_at), l_completed.MaybeTime(item.listing->completed_at);
  }
  params.List("l_item", l_item).List("l_status", l_status).List("l_error", l_error);
  params.List("l_started", l_started).List("l_completed", l_completed);
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

}  // namespace

Params BindCommit(std::span<const CommitItem> items, CommitForm form, bool direct) {
  Params params;
  BindItems(items, direct, params);
  BindJournal(items, params);
  if (form == CommitForm::kKeep) return params;
  BindGiving(items, params);
  BindTimers(items, direct, params);
  BindListing(items, params);
  if (form == CommitForm::kRun) return params;
  BindRequeue(items, direct, params);
  BindInbox(items, params);
  BindTasksAndOutbox(items, params);
  BindSnapshots(items, params);
  BindContents(items, params);
  return params;
}

}  // namespace acl::pg
