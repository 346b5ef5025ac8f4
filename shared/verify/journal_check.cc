#include "shared/verify/journal_check.h"

#include <fmt/format.h>

#include <algorithm>

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
  expected_ = first;
  if (first == 1) return;
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
  report_.Check("journal.apart", !event.apart || event.payload.has_value(), "event_rows", Key(event.seq), "a payload in the content store",
                "none");
  auto payload = VerifyAndParse(event, chain_);
  report_.Check("journal.hashes", payload.ok(), "event_rows", Key(event.seq), "checksum, content hash and chain that hold",
                payload ? "" : payload.message());
  chain_ = event.chain;
  report_.Check("journal.timestamps", event.timestamp >= last_timestamp_, "event_rows", Key(event.seq),
                fmt::format("not before {} (us)", MicrosOf(last_timestamp_)), std::to_string(MicrosOf(event.timestamp)));
  last_timestamp_ = std::max(last_timestamp_, event.timestamp);
  Segment(event);
  if (payload && *payload) {
    Replay(event, **payload);
  } else {
    state_.reset();
  }
  Compare(event);
  return payload ? std::move(*payload) : std::nullopt;
}

// A journal is one run of events: its id never comes back.
void JournalWalk::Segment(const Event& event) {
  const bool goes_on = !journals_.empty() && journals_.back() == event.journal;
  const bool came_back = !goes_on && std::find(journals_.begin(), journals_.end(), event.journal) != journals_.end();
  report_.Check("journal.segment", !came_back, "event_rows", Key(event.seq), "a journal that goes on or a new one",
                "journal " + event.journal.ToString() + " again");
  if (!goes_on) journals_.push_back(event.journal);
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
  report_.Check("snapshot.kept", rows_.snapshots.size() <= 2, "snapshot_rows", subject_, "the last two",
                std::to_string(rows_.snapshots.size()));
  report_.Check("head.exists", rows_.head.has_value(), "subject_head", subject_, "a row", "none");
  if (!rows_.head) return;
  const Head& head = *rows_.head;
  report_.Check("head.seq", head.seq == last, "subject_head", subject_, std::to_string(last), std::to_string(head.seq));
  report_.Check("head.chain", head.chain == chain_, "subject_head", subject_, ToHex(chain_), ToHex(head.chain));
  if (!journals_.empty()) {
    report_.Check("head.journal", head.journal == journals_.back(), "subject_head", subject_, journals_.back().ToString(),
                  head.journal.ToString());
    report_.Check("head.timestamp", head.last_timestamp >= last_timestamp_, "subject_head", subject_,
                  fmt::format("not before {} (us)", MicrosOf(last_timestamp_)), std::to_string(MicrosOf(head.last_timestamp)));
  }
  if (!state_) return;
  report_.Check("head.state_root", head.state_root == state_->Root(), "subject_head", subject_, ToHex(state_->Root()),
                ToHex(head.state_root));
}

}  // namespace acl::verify
