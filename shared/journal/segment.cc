#include "shared/journal/segment.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"

namespace acl {

namespace {

constexpr std::string_view kJournalIdMark = "acl-journal-id-v1";
constexpr const char *kChainFact = "chain", *kJournalFact = "journal", *kSnapshotFact = "snapshot";

Error NotAStart(const std::string& what) { return {Code::kCorrupt, fmt::format("{}: {}", kJournalRolled, what)}; }

std::string TextFact(const Json& payload, std::string_view name) {
  const auto found = payload.is_object() ? payload.find(name) : payload.end();
  return found != payload.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

JournalId JournalIdAt(const SubjectId& subject, std::int64_t first_seq) {
  std::string seq;
  for (int shift = 56; shift >= 0; shift -= 8) seq += char(std::uint64_t(first_seq) >> shift & 0xff);
  const std::string_view id(reinterpret_cast<const char*>(subject.uuid.bytes.data()), subject.uuid.bytes.size());
  const Hash256 hash = Sha256({kJournalIdMark, id, seq});
  JournalId journal;
  std::copy_n(hash.begin(), journal.uuid.bytes.size(), journal.uuid.bytes.begin());
  journal.uuid.bytes[6] = std::uint8_t((journal.uuid.bytes[6] & 0x0f) | 0x80);
  journal.uuid.bytes[8] = std::uint8_t((journal.uuid.bytes[8] & 0x3f) | 0x80);
  return journal;
}

Event MakeSegmentEvent(const SegmentStart& start) {
  const Json payload{{kChainFact, ToHex(start.chain)},
                     {kJournalFact, start.closed.ToString()},
                     {kSnapshotFact, start.last_seq},
                     {std::string(kRootKey), ToHex(start.state_root)}};
  Event event;
  event.type = kJournalRolled;
  event.payload = DumpJson(payload);
  HashPayload(event, payload);
  return event;
}

Result<SegmentStart> ParseSegmentStart(const Json& payload) {
  SegmentStart start;
  const auto chain = HashFromHex(TextFact(payload, kChainFact)), root = HashFromHex(TextFact(payload, kRootKey));
  const auto journal = JournalId::Parse(TextFact(payload, kJournalFact));
  const auto seq = payload.is_object() ? payload.find(kSnapshotFact) : payload.end();
  if (!chain || !root) return NotAStart("\"chain\" and \"state_root\" are to be 64 hex digits each");
  if (!journal) return NotAStart("\"journal\" is to be the id of the journal before");
  if (seq == payload.end() || !seq->is_number_integer()) return NotAStart("\"snapshot\" is to be the number of the event before");
  start.closed = *journal;
  start.chain = *chain;
  start.last_seq = seq->get<std::int64_t>();
  start.state_root = *root;
  return start;
}

Status CheckSegmentStart(const Json& payload, std::int64_t seq, const Hash256& chain_before) {
  auto start = ParseSegmentStart(payload);
  if (!start) return start.error();
  if (start->chain != chain_before)
    return NotAStart(fmt::format("it names the chain head {}, the event before it has {}", ToHex(start->chain), ToHex(chain_before)));
  if (start->last_seq != seq - 1)
    return NotAStart(fmt::format("it names a snapshot of event {}, and stands behind event {}", start->last_seq, seq - 1));
  return {};
}

std::string DroppedText(const SubjectId& subject, std::int64_t after, std::int64_t first_kept) {
  if (first_kept <= after + 1) return {};
  return fmt::format("events {} to {} of {} were dropped by retention (journal_retention_days): its journal begins with event {} now",
                     after + 1, first_kept - 1, subject.ToString(), first_kept);
}

}  // namespace acl
