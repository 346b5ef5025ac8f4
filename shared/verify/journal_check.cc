#include "shared/verify/journal_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/journal/segment.h"

namespace acl::verify {

JournalWalk::JournalWalk(const SubjectRows& rows, const ChunkReader& read_chunk, Report& report)
    : rows_(rows), report_(report), subject_(rows.subject.ToString()), chain_(ChainStart(rows.subject)), state_(Document()) {
  for (const Snapshot& snapshot : rows.snapshots) {
    auto state = DecodeSnapshot(snapshot, read_chunk);
    report_.Check("snapshot.decodes", state.ok(), "snapshot_rows", Key(snapshot.last_event_seq), "a state that verifies",
                  state ? "" : state.message());
    if (state) snapshots_.emplace(snapshot.last_event_seq, std::move(*state));
  }
}

std::string JournalWalk::Key(std::int64_t seq) const { return fmt::format("{}/{}", subject_, seq); }

// The oldest kept journal starts on a snapshot.
void JournalWalk::Begin(std::int64_t first) {
  begun_ = true;
  expected_ = first_ = last_start_ = first;
  std::int64_t kept_from = 1;
  for (const SegmentRow& segment : rows_.segments) {
    if (segment.dropped) kept_from = std::max(kept_from, segment.first_seq);
  }
  report_.Check("journal.dropped", first == kept_from, "event_rows", Key(first),
                kept_from == 1 ? "event 1: no journal of it was dropped" : fmt::format("event {}: those before were dropped", kept_from),
                fmt::format("event {}", first));
  if (first == 1) return;
  report_.Note(DroppedText(rows_.subject, 0, first) + "; checked from its snapshot on");
  const std::int64_t before = first - 1;
  auto it = std::find_if(rows_.snapshots.begin(), rows_.snapshots.end(), [&](const Snapshot& s) { return s.last_event_seq == before; });
  report_.Check("journal.start", it != rows_.snapshots.end(), "event_rows", Key(first),
                "a snapshot of the event before the oldest kept one", "none");
  state_.reset();
  if (it == rows_.snapshots.end()) return;
  chain_ = it->chain;
  if (auto found = snapshots_.find(before); found != snapshots_.end()) state_ = found->second;
}

std::optional<Json> JournalWalk::Step(const Event& event) {
  if (!begun_) Begin(event.seq);
  report_.Check("journal.sequence", event.seq == expected_, "event_rows", Key(event.seq), fmt::format("seq {}", expected_),
                std::to_string(event.seq));
  expected_ = event.seq + 1;
  report_.Check("journal.offloaded", !event.offloaded || event.payload.has_value(), "event_rows", Key(event.seq),
                "a payload in the content store", "none");
  const Hash256 chain_before = chain_;
  auto payload = VerifyAndParse(event, chain_);
  report_.Check("journal.hashes", payload.ok(), "event_rows", Key(event.seq), "checksum, content hash and chain that hold",
                payload ? "" : payload.message());
  chain_ = event.chain;
  report_.Check("journal.timestamps", event.timestamp >= last_timestamp_, "event_rows", Key(event.seq),
                fmt::format("not before {} (us)", MicrosOf(last_timestamp_)), std::to_string(MicrosOf(event.timestamp)));
  last_timestamp_ = std::max(last_timestamp_, event.timestamp);
  Segment(event, payload && *payload ? &**payload : nullptr, chain_before);
  if (payload && *payload) {
    Replay(event, **payload);
  } else {
    state_.reset();
  }
  Compare(event);
  return payload ? std::move(*payload) : std::nullopt;
}

const SegmentRow* JournalWalk::SegmentAt(std::int64_t first_seq) const {
  const auto it = std::find_if(rows_.segments.begin(), rows_.segments.end(), [&](const SegmentRow& s) { return s.first_seq == first_seq; });
  return it == rows_.segments.end() ? nullptr : &*it;
}

// A journal is one run of events: its id never comes back. Each but the subject's first begins with an event that says so, and no other
// event does.
void JournalWalk::Segment(const Event& event, const Json* payload, const Hash256& chain_before) {
  const bool goes_on = !journals_.empty() && journals_.back() == event.journal;
  const bool came_back = !goes_on && std::find(journals_.begin(), journals_.end(), event.journal) != journals_.end();
  report_.Check("journal.segment", !came_back, "event_rows", Key(event.seq), "a journal that goes on or a new one",
                "journal " + event.journal.ToString() + " again");
  const bool begins = !goes_on && event.seq > 1;
  if (begins || event.type == kJournalRolled) {
    report_.Check("segment.first", begins && event.type == kJournalRolled, "event_rows", Key(event.seq),
                  begins ? std::string(kJournalRolled) + ": it is the first of a journal" : "another journal than that of the event before",
                  begins ? event.type : event.journal.ToString());
  }
  if (begins) BeginsSegment(event, payload, chain_before);
  if (!goes_on) journals_.push_back(event.journal);
}

void JournalWalk::BeginsSegment(const Event& event, const Json* payload, const Hash256& chain_before) {
  last_start_ = event.seq;
  starts_.insert(event.seq);
  const SegmentRow* row = SegmentAt(event.seq);
  report_.Check("segment.row", row != nullptr && row->journal == event.journal, "journal_segments", Key(event.seq),
                "a row for journal " + event.journal.ToString(), row == nullptr ? "none" : "one for " + row->journal.ToString());
  if (row != nullptr) {
    report_.Check("segment.token", row->token == event.token, "journal_segments", Key(event.seq), std::to_string(event.token.value),
                  std::to_string(row->token.value));
  }
  const auto closing = std::find_if(rows_.snapshots.begin(), rows_.snapshots.end(),
                                    [&](const Snapshot& snapshot) { return snapshot.last_event_seq == event.seq - 1; });
  report_.Check("segment.snapshot", closing != rows_.snapshots.end(), "snapshot_rows", Key(event.seq - 1),
                "the snapshot that ends the journal before event " + std::to_string(event.seq), "none");
  if (payload == nullptr) return;
  const auto start = ParseSegmentStart(*payload);
  report_.Check("segment.form", start.ok(), "event_rows", Key(event.seq), "what a journal stands on", start ? "" : start.message());
  if (!start) return;
  report_.Check("segment.chain", start->chain == chain_before, "event_rows", Key(event.seq),
                fmt::format("chain {} of the event before", ToHex(chain_before)), ToHex(start->chain));
  report_.Check("segment.place", start->last_seq == event.seq - 1, "event_rows", Key(event.seq),
                fmt::format("a snapshot of event {}", event.seq - 1), std::to_string(start->last_seq));
  if (!journals_.empty()) {
    report_.Check("segment.closed", start->closed == journals_.back(), "event_rows", Key(event.seq),
                  "journal " + journals_.back().ToString() + " before it", start->closed.ToString());
  }
  if (closing == rows_.snapshots.end()) return;
  report_.Check("segment.root", start->state_root == closing->state_root, "event_rows", Key(event.seq),
                fmt::format("root {} of the snapshot", ToHex(closing->state_root)), ToHex(start->state_root));
}

void JournalWalk::Replay(const Event& event, const Json& payload) {
  auto delta = payload.find(kDeltaKey), root = payload.find(kRootKey);
  if (!state_ || (delta == payload.end() && root == payload.end())) return;
  if (delta != payload.end()) {
    Status applied = state_->Apply(*delta);
    report_.Check("state.delta", applied.ok(), "event_rows", Key(event.seq), "a delta that applies", applied ? "" : applied.message());
    if (!applied) return state_.reset();
  }
  const std::string now = ToHex(state_->Root());
  const std::string named = root == payload.end() ? "none" : root->is_string() ? root->get<std::string>() : "";
  report_.Check("state.root", named == now, "event_rows", Key(event.seq), fmt::format("state_root {} (by replay)", now), named);
}

void JournalWalk::Compare(const Event& event) {
  for (const Snapshot& snapshot : rows_.snapshots) {
    if (snapshot.last_event_seq != event.seq) continue;
    report_.Check("snapshot.chain", snapshot.chain == event.chain, "snapshot_rows", Key(event.seq), ToHex(event.chain),
                  ToHex(snapshot.chain));
    if (state_) {
      report_.Check("snapshot.root", snapshot.state_root == state_->Root(), "snapshot_rows", Key(event.seq),
                    ToHex(state_->Root()) + " (by replay)", ToHex(snapshot.state_root));
    } else if (auto found = snapshots_.find(event.seq); found != snapshots_.end()) {
      state_ = found->second;
    }
  }
}

void JournalWalk::Finish() {
  const std::int64_t last = expected_ - 1;
  for (const Snapshot& snapshot : rows_.snapshots) {
    report_.Check("snapshot.event", snapshot.last_event_seq <= last, "snapshot_rows", Key(snapshot.last_event_seq),
                  fmt::format("an event that exists, up to {}", last), std::to_string(snapshot.last_event_seq));
  }
  const auto others = std::count_if(rows_.snapshots.begin(), rows_.snapshots.end(),
                                    [&](const Snapshot& snapshot) { return !starts_.contains(snapshot.last_event_seq + 1); });
  report_.Check("snapshot.kept", others <= 2, "snapshot_rows", subject_, "the last two, and those that end journals",
                fmt::format("{} others", others));
  for (const SegmentRow& row : rows_.segments) {
    if (row.first_seq < first_) continue;  // of before what is kept
    report_.Check("segment.event", starts_.contains(row.first_seq), "journal_segments", Key(row.first_seq),
                  "an event that begins its journal", "none");
  }
  report_.Check("head.exists", rows_.head.has_value(), "subject_head", subject_, "a row", "none");
  if (!rows_.head) return;
  const Head& head = *rows_.head;
  report_.Check("head.seq", head.seq == last, "subject_head", subject_, std::to_string(last), std::to_string(head.seq));
  report_.Check("head.chain", head.chain == chain_, "subject_head", subject_, ToHex(chain_), ToHex(head.chain));
  if (!journals_.empty()) {
    report_.Check("head.journal", head.journal == journals_.back(), "subject_head", subject_, journals_.back().ToString(),
                  head.journal.ToString());
    report_.Check("head.journal_first", head.journal_first == last_start_, "subject_head", subject_,
                  fmt::format("event {}, which begins its journal", last_start_), std::to_string(head.journal_first));
    report_.Check("head.timestamp", head.last_timestamp >= last_timestamp_, "subject_head", subject_,
                  fmt::format("not before {} (us)", MicrosOf(last_timestamp_)), std::to_string(MicrosOf(head.last_timestamp)));
  }
  if (!state_) return;
  report_.Check("head.state_root", head.state_root == state_->Root(), "subject_head", subject_, ToHex(state_->Root()),
                ToHex(head.state_root));
}

}  // namespace acl::verify
