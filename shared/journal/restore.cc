// Restore = newest snapshot + later events, every one of them verified before it is believed.

#include <fmt/format.h>

#include "shared/journal/entry_cache.h"
#include "shared/journal/segment.h"
#include "shared/journal/snapshot.h"

namespace acl {

namespace {

Error Corrupt(const Event& event, const std::string& what) {
  return {Code::kCorrupt, fmt::format("event {} of {}: {}", event.seq, event.subject.ToString(), what)};
}

Status CheckPlace(const Event& event, const SubjectId& subject, std::int64_t expected_seq, Token last_token) {
  if (event.subject != subject) return Corrupt(event, fmt::format("it stands in the journal of {}", subject.ToString()));
  if (event.seq != expected_seq)
    return Corrupt(event, fmt::format("the next sequence number is {}: an event is missing or twice", expected_seq));
  if (event.token < last_token)
    return Corrupt(event, fmt::format("its token {} is below the last writer's {}", event.token.value, last_token.value));
  return {};
}

Status Replay(const Event& event, Json& payload, Document& state) {
  auto delta = payload.find(kDeltaKey), root = payload.find(kRootKey);
  if (delta != payload.end()) {
    if (root == payload.end()) return Corrupt(event, fmt::format("it changes the state but names no \"{}\"", kRootKey));
    if (auto applied = state.Apply(std::move(*delta)); !applied) return Corrupt(event, applied.message());
  }
  if (root == payload.end()) return {};
  const std::string now = ToHex(state.Root());
  if (!root->is_string() || root->get_ref<const std::string&>() != now) {
    return Corrupt(event, fmt::format("the state root after it is {}, it names {}", now, DumpJson(*root)));
  }
  return {};
}

// The event's seal holds on `chain_before`.
Status ReadAndReplay(const Event& event, const Hash256& chain_before, Document& state) {
  static EntryCache known;
  const bool first = event.seq == 1;
  if (auto after = first ? known.Replay(event, state) : std::nullopt) {
    state = std::move(*after);
    return {};
  }
  auto payload = ParseAndCheck(event);
  if (!payload) return payload.error();
  if (!*payload) return Corrupt(event, "its content was removed and no later snapshot is there: the state cannot be rebuilt");
  if (event.type == kJournalRolled) {
    if (Status starts = CheckSegmentStart(**payload, event.seq, chain_before); !starts) return Corrupt(event, starts.message());
  }
  if (auto replayed = Replay(event, **payload, state); !replayed) return replayed.error();
  if (first) known.Learn(event, state);
  return {};
}

}  // namespace

Result<Restored> Restore(const SubjectId& subject, const std::optional<Snapshot>& snapshot, const std::vector<Event>& later_events,
                         const ChunkReader& read_chunk) {
  Restored restored;
  restored.chain = ChainStart(subject);
  if (snapshot) {
    auto state = DecodeSnapshot(*snapshot, read_chunk);
    if (!state) return state.error();
    restored.state = std::move(*state);
    restored.head_seq = snapshot->last_event_seq;
    restored.chain = snapshot->chain;
  }
  if (Status rest = GoOnRestoring(subject, later_events, read_chunk, restored); !rest) return rest.error();
  return restored;
}

Status GoOnRestoring(const SubjectId& subject, const std::vector<Event>& events, const ChunkReader& read_chunk, Restored& restored) {
  for (const Event& given : events) {
    std::optional<Event> fetched;
    if (given.offloaded && !given.payload) {
      auto bytes = read_chunk(given.content_hash);
      if (!bytes && bytes.code() != Code::kNotFound && bytes.code() != Code::kCorrupt) return bytes.error();
      if (!bytes) return Corrupt(given, "its payload is offloaded: " + bytes.message());
      fetched = given;
      fetched->payload = std::move(*bytes);
    }
    const Event& event = fetched ? *fetched : given;
    if (auto place = CheckPlace(event, subject, restored.head_seq + 1, restored.last_token); !place) return place;
    if (Status sealed = VerifySeal(event, restored.chain); !sealed) return sealed;
    if (Status replayed = ReadAndReplay(event, restored.chain, restored.state); !replayed) return replayed;
    restored.head_seq = event.seq;
    restored.chain = event.chain;
    restored.delta_bytes_since_snapshot += event.payload->size();
    ++restored.replayed;
    restored.last_token = event.token;
  }
  return {};
}

std::optional<int> NewerVersionOf(const std::optional<Snapshot>& snapshot, const std::vector<Event>& later_events) {
  // One number for both: whoever changes the format of snapshots also raises the version of events.
  int newest = snapshot && snapshot->schema_version > kSnapshotSchemaVersion ? snapshot->schema_version : EventSchemaVersion();
  bool newer_begun = newest > EventSchemaVersion();
  for (const Event& event : later_events) {
    if (event.schema_version < 1) return std::nullopt;
    const bool newer = event.schema_version > EventSchemaVersion();
    if (newer_begun && !newer) return std::nullopt;
    newer_begun = newer_begun || newer;
    newest = std::max(newest, event.schema_version);
  }
  return newer_begun ? std::optional(newest) : std::nullopt;
}

Status MatchesHead(const Restored& restored, std::int64_t head_seq, const Hash256& chain, const Hash256& state_root) {
  auto differs = [](std::string_view what, const std::string& found, const std::string& expected) {
    return Error{Code::kCorrupt, fmt::format("the journal ends with {} {}, the head row says {}", what, found, expected)};
  };
  if (restored.head_seq != head_seq) return differs("event", std::to_string(restored.head_seq), std::to_string(head_seq));
  if (restored.chain != chain) return differs("chain", ToHex(restored.chain), ToHex(chain));
  if (restored.state.Root() != state_root) return differs("state root", ToHex(restored.state.Root()), ToHex(state_root));
  return {};
}

}  // namespace acl
