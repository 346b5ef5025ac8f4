// What must hold after a simulated run: invariants 1-7 (docs/architecture.md#invariants) over the in-memory store.

#include <fmt/format.h>

#include "shared/journal/segment.h"
#include "tests/sim/test_bed.h"

namespace acl::test {

void SimTestBed::CheckAll() {
  std::map<SubjectId, bool> was_closed;
  for (const MemoryRecord& record : store_.Records()) {
    if (record.what == MemoryRecord::What::kReaped && record.held)
      report_.violations.push_back(fmt::format("{}: its lease was taken from a session that lived", record.subject.ToString()));
    if (record.what != MemoryRecord::What::kCommit) continue;
    if (record.outcome == CommitOutcome::Kind::kFenced && record.held) {
      report_.violations.push_back(fmt::format("{}: the holder of token {} decided on another head: its claim read too early",
                                               record.subject.ToString(), record.token.value));
    }
    if (record.outcome != CommitOutcome::Kind::kCommitted) continue;
    if (record.token != record.lease_token) {
      report_.violations.push_back(fmt::format("invariant 4: {} took a commit of token {} while the lease had {}",
                                               record.subject.ToString(), record.token.value, record.lease_token.value));
    }
    if (was_closed[record.subject])
      report_.violations.push_back(fmt::format("{} took a commit after it was closed", record.subject.ToString()));
    was_closed[record.subject] = record.disposition == Disposition::kClose;
  }
  for (const SubjectId& id : store_.Subjects()) {
    auto subject = store_.Inspect(id);
    ++report_.subjects;
    CheckSubject(*subject);
  }
}

// 1: a journal is a run of events that begins behind a snapshot, on the chain and root of what was before; what is kept can be read alone.
void SimTestBed::CheckJournals(const MemorySubject& subject, const std::vector<Event>& all) {
  const auto violated = [&](std::int64_t seq, const std::string& what) {
    report_.violations.push_back(fmt::format("{}: journals: event {}: {}", subject.id.ToString(), seq, what));
  };
  const std::int64_t kept_from = subject.events.front().seq;
  std::set<JournalId> met;
  std::int64_t begins_at = 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Event& event = all[i];
    const bool begins = i > 0 && event.journal != all[i - 1].journal;
    if (begins != (event.type == kJournalRolled)) violated(event.seq, begins ? "a journal begins without a word" : "no journal begins");
    if ((begins || i == 0) && !met.insert(event.journal).second) violated(event.seq, "its journal was there before");
    if (!begins) continue;
    ++report_.rolls;
    begins_at = event.seq;
    const auto payload = ParsePayload(event);
    const auto start = payload ? ParseSegmentStart(*payload) : Result<SegmentStart>(payload.error());
    if (!start || start->chain != all[i - 1].chain || start->last_seq != all[i - 1].seq || start->closed != all[i - 1].journal)
      violated(event.seq, "it stands on something else");
    const auto closing = std::find_if(subject.snapshots.begin(), subject.snapshots.end(),
                                      [&](const Snapshot& snapshot) { return snapshot.last_event_seq == event.seq - 1; });
    if (event.seq < kept_from) continue;
    if (closing == subject.snapshots.end()) {
      violated(event.seq, "the snapshot that ends the journal before it is gone");
    } else if (start && start->state_root != closing->state_root) {
      violated(event.seq, "it names another root than the snapshot before it");
    }
  }
  if (subject.head.journal != all.back().journal || subject.head.journal_first != begins_at)
    violated(begins_at, "the head names another journal");
  const bool starts = kept_from == 1 || subject.events.front().type == kJournalRolled;
  if (!starts) violated(kept_from, "what is kept begins in the middle of a journal");
}

void SimTestBed::CheckSubject(const MemorySubject& subject) {
  auto violated = [&](const std::string& what) { report_.violations.push_back(subject.id.ToString() + ": " + what); };
  if (!subject.closed && !(subject.quarantined() && load_.MayEndQuarantined(subject.id))) {
    std::string waits = subject.waiting ? subject.waiting->reason : "nothing";
    const auto ready = store_.Ready();
    const auto row = std::find_if(ready.begin(), ready.end(), [&](const auto& one) { return one.subject == subject.id; });
    const std::string queued = row == ready.end() ? "in no queue" : fmt::format("in queue {} after {} deaths", row->queue, row->deaths);
    violated(fmt::format("not closed after healing: held {} quarantined {} waits for {}, {}, events {}", subject.holder.has_value(),
                         subject.quarantined(), waits, queued, subject.events.size()));
  } else if (subject.closed) {
    ++report_.closed;
  }
  // 1, 2, 4: gapless, chained, written under granted tokens that only grow.
  Hash256 chain = ChainStart(subject.id);
  std::set<std::int64_t> granted;
  for (const GrantView& grant : subject.grants) granted.insert(grant.token.value);
  Token last;
  std::map<std::string, int> inbox_events, completions;
  Document state;
  std::int64_t expected = 0;
  std::vector<Event> all = subject.AllEvents();
  CheckJournals(subject, all);
  report_.dropped += std::int64_t(subject.dropped.size());
  for (const Event& event : all) {
    ++report_.events;
    Trace(std::uint64_t(event.checksum[0]) << 8 | event.checksum[1]);
    if (event.seq != ++expected) violated(fmt::format("invariant 1: event {} where {} belongs", event.seq, expected));
    if (Status sound = Verify(event, chain); !sound) violated("invariant 2: " + sound.message());
    chain = event.chain;
    if (event.token < last) violated(fmt::format("invariant 4: token falls at event {}", event.seq));
    if (event.seq > 1 && !granted.contains(event.token.value))
      violated(fmt::format("invariant 4: event {} has a token nobody was granted", event.seq));
    last = event.token;
    auto payload = ParseJson(*event.payload);
    if (!payload) {
      violated("a stored payload does not parse");
      continue;
    }
    if (payload->contains("inbox_id")) ++inbox_events[payload->at("inbox_id").get<std::string>()];
    if (event.type == "step.completed") ++completions[payload->at("step_id").get<std::string>()];
    if (payload->contains(kDeltaKey)) {
      if (Status applied = state.Apply(payload->at(std::string(kDeltaKey))); !applied) violated("replay: " + applied.message());
      if (ToHex(state.Root()) != payload->at(std::string(kRootKey)))
        violated(fmt::format("invariant 5: another root at event {}", event.seq));
    }
  }
  if (subject.head.seq != expected || subject.head.chain != chain || subject.head.state_root != state.Root())
    violated("the head row is not the last event's");
  // 5: every kept snapshot and what came after it give the same state.
  for (const Snapshot& snapshot : subject.snapshots) {
    std::vector<Event> later;
    for (const Event& event : subject.events) {
      if (event.seq > snapshot.last_event_seq) later.push_back(event);
    }
    auto restored = Restore(subject.id, snapshot, later, [&](const Hash256& hash) { return store_.GetContent(hash); });
    if (!restored) {
      violated("invariant 5: " + restored.message());
    } else if (restored->state.Root() != state.Root()) {
      violated("invariant 5: a snapshot gives another state");
    }
  }
  // 3: each step once, as the completion rows say, of an attempt that exists.
  for (const auto& [step_id, times] : completions) {
    if (times != 1) violated(fmt::format("invariant 3: step {} completed {} times", step_id, times));
    auto row = subject.completions.find(step_id);
    if (row == subject.completions.end()) {
      violated("invariant 3: no completion row of " + step_id);
      continue;
    }
    bool attempt = false;
    for (const AttemptRow& candidate : subject.attempts)
      attempt |= candidate.step_id == step_id && candidate.attempt_id == row->second.attempt_id;
    if (!attempt) violated("invariant 3: the completion of " + step_id + " names no attempt");
  }
  // A dispatch that ended is in the journal once, one of a closed run has ended, and its end names an attempt that exists.
  for (const MemoryDispatch& dispatch : subject.dispatches) {
    ++report_.dispatches_offered;
    if (dispatch.state == "lost") ++report_.dispatches_lost;
    if (dispatch.state == "cancelled" && dispatch.token == Token{}) ++report_.dispatches_withdrawn;
    const bool ended = dispatch.state != "queued" && dispatch.state != "started";
    const std::string name = fmt::format("dispatch of attempt {} of {}", dispatch.attempt_id, dispatch.step_id);
    if (subject.closed && !ended) violated(fmt::format("{} is {} though the run is closed", name, dispatch.state));
    if (const int times = inbox_events[dispatch.id.ToString()]; times != (ended ? 1 : 0))
      violated(fmt::format("{} is {} and stands {} times in the journal", name, dispatch.state, times));
    const bool attempt = std::any_of(subject.attempts.begin(), subject.attempts.end(), [&](const AttemptRow& row) {
      return row.step_id == dispatch.step_id && row.attempt_id == dispatch.attempt_id;
    });
    if (!attempt) violated(name + " has no attempt");
  }
  // An acknowledged signal is in the journal exactly once; nothing else came in.
  for (const std::string& id : acked_signals_[subject.id]) {
    if (inbox_events[id] != 1) violated(fmt::format("acknowledged signal {} stands {} times in the journal", id, inbox_events[id]));
  }
  if (subject.closed && !subject.inbox.empty()) violated("closed with unread inbox rows");
  // An effect whose receiver honours no key: once for its completion, once more for each time a person said "again".
  int resolved = 0;
  for (const Event& event : all) resolved += event.type == "step.resolved";
  for (const auto& [key, times] : unkeyed_effects_) {
    if (key.first == subject.id && times > 1 + resolved) violated(fmt::format("step {} acted {} times on the outside", key.second, times));
  }
  for (const auto& [key, asked] : keys_) {
    if (key.first == subject.id && asked.size() > 1)
      violated(fmt::format("step {} asked for its effect under {} keys", key.second, asked.size()));
  }
  MemorySubject whole = subject;
  whole.events = std::move(all);
  load_.Check(whole, state, report_.violations);
}

}  // namespace acl::test
