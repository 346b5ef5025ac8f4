#pragma once
// Snapshots of a Document (document 000, 11.7.4; docs/architecture.md#invariant-5): inline up to 8 KB, else a list of chunks, each a
// subtree of the trie stored by the hash of its bytes, so that only changed chunks are written again.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/ids.h"
#include "shared/journal/document.h"
#include "shared/journal/event.h"

namespace acl {

struct Snapshot {
  Uuid id;
  std::int64_t last_event_seq = 0;
  int schema_version = kSnapshotSchemaVersion;
  Hash256 state_root{};
  Hash256 chain{};                          // the chain after last_event_seq: where later events go on
  std::optional<std::string> inline_state;  // JSON text of the document
  std::vector<Hash256> chunks;              // or these, in trie order
  WallTime created_at;
};

inline constexpr std::size_t kInlineSnapshotBytes = 8 * 1024;
// The largest subtree that is one chunk, unless it is one entry: one changed entry writes about this much again.
inline constexpr std::size_t kChunkBytes = 16 * 1024;

struct EncodedSnapshot {
  Snapshot snapshot;                                      // id and created_at are the caller's to fill
  std::vector<std::pair<Hash256, std::string>> contents;  // chunk bytes by their hash, to be stored first
};
// Contents that `previous` already refers to are left out of `contents`: they are stored.
EncodedSnapshot EncodeSnapshot(const Document& document, std::int64_t last_event_seq, const Hash256& chain,
                               const Snapshot* previous = nullptr);

// Reads chunk bytes by hash; kNotFound or kCorrupt if it cannot.
using ChunkReader = std::function<Result<std::string>(const Hash256&)>;
// kCorrupt if anything does not verify against state_root, a chunk is missing, or the schema version is newer. Errors of the reader
// that say nothing about the data (kUnavailable ...) are passed on.
Result<Document> DecodeSnapshot(const Snapshot& snapshot, const ChunkReader& read_chunk);

// Restore = newest snapshot + later events (document 000, 11.4, 11.6). Every event's checksum, content hash, chain, sequence,
// schema version and named state root are checked, and that tokens never fall; the first thing wrong is kCorrupt with the event and
// what was expected. Whether the journal ends where the head row says is MatchesHead's question.
struct Restored {
  Document state;
  std::int64_t head_seq = 0;
  Hash256 chain{};
  std::int64_t replayed = 0;                   // events after the snapshot
  std::size_t delta_bytes_since_snapshot = 0;  // payload text of those events
  Token last_token;                            // of the last of them
};
Result<Restored> Restore(const SubjectId& subject, const std::optional<Snapshot>& snapshot, const std::vector<Event>& later_events,
                         const ChunkReader& read_chunk);

// The same a page at a time: goes on with the events that follow what was restored. After an error what was restored is of no use.
Status GoOnRestoring(const SubjectId& subject, const std::vector<Event>& events, const ChunkReader& read_chunk, Restored& restored);

// The event schema that a reader must know, if what it does not know is what a newer program left at the journal's end: its newest
// snapshot, or its last events without a known one behind them. Such a journal is for a newer worker, nothing is wrong with it. nullopt:
// a version out of place (older programs never write behind newer ones) or no newer one at all.
std::optional<int> NewerVersionOf(const std::optional<Snapshot>& snapshot, const std::vector<Event>& later_events);

// kCorrupt if the head row's sequence, chain or state root are not those of the restored state: a truncated journal, or a snapshot of
// something else with no event after it.
Status MatchesHead(const Restored& restored, std::int64_t head_seq, const Hash256& chain, const Hash256& state_root);

// Due after 32 events when the deltas outweigh the snapshot, after 512 in any case.
bool SnapshotDue(std::int64_t events_since, std::size_t delta_bytes_since, std::size_t snapshot_bytes);

}  // namespace acl
