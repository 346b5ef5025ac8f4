#include "shared/postgres/claim_rows.h"

#include <map>
#include <stdexcept>

#include "shared/postgres/packed_payload.h"

namespace acl::pg {
namespace {

// From kN5 on: of claims alone.
enum Column { kPart, kSubject, kN1, kN2, kN3, kN4, kU1, kU2, kT1, kT2, kB1, kB2, kB3, kAt1, kN5, kN6, kT3, kT4, kB4, kBegunWaits };
enum Part { kMeta = 0, kHead = 1, kSnapshot = 2, kEvent = 3, kAttempt = 4, kInbox = 5, kTimer = 6, kDispatch = 8, kGiven = 9 };

Snapshot ReadSnapshot(const Rows& rows, int i) {
  Snapshot snapshot;
  snapshot.id = rows.Id(i, kU1);
  snapshot.last_event_seq = rows.Int(i, kN1);
  snapshot.schema_version = int(rows.Int(i, kN2));
  snapshot.inline_state = rows.MaybeText(i, kT1);
  snapshot.state_root = rows.Hash(i, kB1);
  snapshot.chain = rows.Hash(i, kB2);
  if (!rows.IsNull(i, kB3)) snapshot.chunks = SplitHashes(rows.Bytes(i, kB3));
  snapshot.created_at = rows.Time(i, kAt1);
  return snapshot;
}

// t2 is "producer\n+payload", "producer\n-" if the content was removed, or "producer\n@" if it lies in the content store.
Event ReadEvent(const Rows& rows, int i, const SubjectId& subject) {
  Event event;
  event.subject = subject;
  event.seq = rows.Int(i, kN1);
  event.schema_version = int(rows.Int(i, kN2));
  event.token = Token{rows.Int(i, kN3)};
  event.journal = JournalId{rows.Id(i, kU1)};
  event.type = rows.Text(i, kT1);
  std::string_view both = rows.View(i, kT2);
  std::size_t line = both.find('\n');
  if (line == std::string_view::npos || line + 1 >= both.size()) throw std::invalid_argument("event without a producer version");
  event.producer_version = std::string(both.substr(0, line));
  event.offloaded = both[line + 1] == '@';
  event.checksum = rows.Hash(i, kB1);
  event.content_hash = rows.Hash(i, kB2);
  event.chain = rows.Hash(i, kB3);
  event.timestamp = rows.Time(i, kAt1);
  if (both[line + 1] == '+') {
    both.remove_prefix(line + 2);
    event.payload = rows.columns() > kN5 ? PayloadOf(rows, i, both, {kB4, event.timestamp, kT3, kT4}) : std::string(both);
  }
  return event;
}

void ReadHead(const Rows& rows, int i, Claimed& claimed) {
  claimed.token = Token{rows.Int(i, kN1)};
  claimed.wake = rows.Int(i, kN2);
  if (rows.columns() > kN5) {
    claimed.takeovers_without_progress = int(rows.Int(i, kN5));
    claimed.sticky = rows.Int(i, kN6) == 1;
  }
  claimed.unread = rows.IsNull(i, kN3);
  if (claimed.unread) return;
  if (rows.columns() > kN5 && !rows.IsNull(i, kT3)) claimed.died_alone = std::stoi(rows.Text(i, kT3));
  claimed.head.seq = rows.Int(i, kN3);
  claimed.priority = int(rows.Int(i, kN4));
  claimed.project = ProjectId{rows.Id(i, kU1)};
  claimed.head.journal = JournalId{rows.Id(i, kU2)};
  claimed.kind = rows.Text(i, kT1);
  claimed.queue = rows.Text(i, kT2);
  claimed.head.chain = rows.Hash(i, kB1);
  claimed.head.state_root = rows.Hash(i, kB2);
  claimed.head.last_timestamp = rows.Time(i, kAt1);
  if (rows.columns() > kN5 && !rows.IsNull(i, kT4)) claimed.head.journal_first = pg::DecodeInt(rows.View(i, kT4));
}

// t2 is "queue\npayload".
ClaimedDispatch ReadDispatch(const Rows& rows, int i, const SubjectId& subject) {
  ClaimedDispatch dispatch;
  dispatch.subject = subject;
  dispatch.row.attempt_id = int(rows.Int(i, kN1));
  dispatch.row.priority = int(rows.Int(i, kN2));
  dispatch.token = Token{rows.Int(i, kN3)};
  dispatch.id = DispatchId{rows.Id(i, kU1)};
  dispatch.project = ProjectId{rows.Id(i, kU2)};
  dispatch.row.step_id = rows.Text(i, kT1);
  std::string_view both = rows.View(i, kT2);
  const std::size_t line = both.find('\n');
  if (line == std::string_view::npos) throw std::invalid_argument("dispatch without a queue");
  dispatch.row.queue = std::string(both.substr(0, line));
  dispatch.row.payload = std::string(both.substr(line + 1));
  dispatch.row.deadline = rows.MaybeTime(i, kAt1);
  return dispatch;
}

}  // namespace

std::string PayloadOf(const Rows& rows, int i, std::string_view stored, const PackedWith& with) {
  if (rows.IsNull(i, with.root)) return std::string(stored);
  return Unpack({std::string(stored), rows.Hash(i, with.root)},
                {with.at, rows.IsNull(i, with.completed) ? "" : rows.View(i, with.completed),
                 rows.IsNull(i, with.begun) ? "" : rows.View(i, with.begun)});
}

std::vector<Hash256> SplitHashes(const std::string& joined) {
  std::vector<Hash256> hashes(joined.size() / sizeof(Hash256));
  if (!hashes.empty()) std::memcpy(hashes.data(), joined.data(), hashes.size() * sizeof(Hash256));
  return hashes;
}

std::string JoinHashes(const std::vector<Hash256>& hashes) {
  std::string joined;
  for (const Hash256& hash : hashes) joined.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  return joined;
}

ClaimAnswer DecodeClaim(const Rows& rows) {
  ClaimAnswer answer;
  std::map<SubjectId, Claimed> by_subject;
  std::vector<SubjectId> order;
  for (int i = 0; i < rows.size(); ++i) {
    int part = int(rows.Int(i, kPart));
    if (part == kMeta) {
      answer.dropped = int(rows.Int(i, kN1));
      answer.quarantined = int(rows.Int(i, kN2));
      if (!rows.IsNull(i, kN3)) answer.missing = int(rows.Int(i, kN3));
      answer.db_now = rows.Time(i, kAt1);
      answer.begun_waits = rows.columns() > kBegunWaits && rows.Bool(i, kBegunWaits);
      continue;
    }
    if (part == kGiven) continue;
    SubjectId subject{rows.Id(i, kSubject)};
    if (part == kDispatch) {
      answer.dispatches.push_back(ReadDispatch(rows, i, subject));
      continue;
    }
    Claimed& claimed = by_subject[subject];
    switch (part) {
      case kHead:
        claimed.subject = subject;
        order.push_back(subject);
        ReadHead(rows, i, claimed);
        break;
      case kSnapshot: claimed.snapshot = ReadSnapshot(rows, i); break;
      case kEvent: claimed.events.push_back(ReadEvent(rows, i, subject)); break;
      case kAttempt:
        claimed.attempts.push_back({rows.Text(i, kT1), int(rows.Int(i, kN1)), Token{rows.Int(i, kN2)}, rows.Time(i, kAt1)});
        break;
      case kInbox: claimed.inbox.push_back({InboxId{rows.Id(i, kU1)}, rows.Text(i, kT1), rows.Text(i, kT2), rows.Time(i, kAt1)}); break;
      case kTimer: claimed.timers.push_back({rows.Text(i, kT1), rows.Time(i, kAt1)}); break;
      default: throw std::invalid_argument("claim: unknown part " + std::to_string(part));
    }
  }
  for (const SubjectId& subject : order) {
    Claimed& claimed = by_subject[subject];
    claimed.db_now = answer.db_now;
    answer.claimed.push_back(std::move(claimed));
  }
  return answer;
}

std::vector<GivenAnswer> DecodeAnswers(const Rows& rows) {
  std::vector<GivenAnswer> answers;
  for (int i = 0; i < rows.size(); ++i) {
    if (rows.Int(i, kPart) == kGiven) answers.push_back({rows.Text(i, kT1), rows.Hash(i, kB1), rows.Int(i, kN1), rows.Text(i, kT2)});
  }
  return answers;
}

}  // namespace acl::pg
