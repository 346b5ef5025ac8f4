#include "shared/journal/snapshot.h"

#include <fmt/format.h>

#include <set>

#include "shared/base/mutant.h"
#include "shared/base/sha256.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

std::string Name(const Snapshot& snapshot) {
  return fmt::format("snapshot {} (of event {})", snapshot.id.ToString(), snapshot.last_event_seq);
}

Error Corrupt(const Snapshot& snapshot, const std::string& what) { return {Code::kCorrupt, fmt::format("{}: {}", Name(snapshot), what)}; }

void AppendEntries(const Document::Node& node, std::string& out) {
  if (!node.is_leaf()) {
    if (const auto& left = trie::AsInner(node).left) AppendEntries(*left, out);
    if (const auto& right = trie::AsInner(node).right) AppendEntries(*right, out);
    return;
  }
  out += out.empty() ? '{' : ',';
  out += DumpJson(Json(trie::AsLeaf(node).key));
  out += ':';
  out += DumpJson(trie::AsLeaf(node).value());
}

// One chunk for a subtree that is small enough or a single entry, else those of its halves.
void AppendChunks(const Document::Node& node, std::vector<std::string>& chunks) {
  if (node.is_leaf() || node.Measured().bytes <= kChunkBytes) {
    std::string text;
    AppendEntries(node, text);
    chunks.push_back(text + '}');
    return;
  }
  if (const auto& left = trie::AsInner(node).left) AppendChunks(*left, chunks);
  if (const auto& right = trie::AsInner(node).right) AppendChunks(*right, chunks);
}

// The text is DumpJson's own, byte for byte: what only looks different (1e5, 1E5) was not written by us.
Result<Document> DecodeInline(const Snapshot& snapshot) {
  auto object = ParseJson(*snapshot.inline_state, kStoredJson);
  if (!object) return Corrupt(snapshot, object.message());
  auto document = Document::FromJson(*object);
  if (!document) return Corrupt(snapshot, document.message());
  if (Mutant("snapshot_unverified")) return document;
  if (DumpJson(document->ToJson()) != *snapshot.inline_state) return Corrupt(snapshot, "the stored text is not the text that was written");
  return document;
}

Result<Document> DecodeChunks(const Snapshot& snapshot, const ChunkReader& read_chunk) {
  Document document;
  for (const Hash256& hash : snapshot.chunks) {
    auto bytes = read_chunk(hash);
    if (!bytes && bytes.code() != Code::kNotFound && bytes.code() != Code::kCorrupt) return bytes.error();
    if (!bytes) return Corrupt(snapshot, fmt::format("chunk {}: {}", ToHex(hash), bytes.message()));
    if (const Hash256 found = Sha256(*bytes); found != hash && !Mutant("snapshot_unverified")) {
      return Corrupt(snapshot, fmt::format("chunk {}: its bytes hash to {}", ToHex(hash), ToHex(found)));
    }
    auto entries = ParseJson(*bytes, kStoredJson);
    if (!entries || !entries->is_object()) {
      return Corrupt(snapshot, fmt::format("chunk {}: {}", ToHex(hash), entries ? "not an object" : entries.message()));
    }
    for (auto it = entries->begin(); it != entries->end(); ++it) {
      if (document.Has(it.key())) return Corrupt(snapshot, fmt::format("entry {} stands in two chunks", DumpJson(Json(it.key()))));
      if (auto storable = CheckStorable(*it, kEntryLimits); !storable) {
        return Corrupt(snapshot, storable.message());
      }
      document.Set(it.key(), std::move(*it));
    }
  }
  return document;
}

}  // namespace

EncodedSnapshot EncodeSnapshot(const Document& document, std::int64_t last_event_seq, const Hash256& chain, const Snapshot* previous) {
  EncodedSnapshot encoded;
  encoded.snapshot.last_event_seq = last_event_seq;
  encoded.snapshot.chain = chain;
  encoded.snapshot.state_root = document.Root();
  if (document.stored_bytes() <= kInlineSnapshotBytes) {
    encoded.snapshot.inline_state = DumpJson(document.ToJson());
    return encoded;
  }
  std::set<Hash256> stored;
  if (previous != nullptr) stored.insert(previous->chunks.begin(), previous->chunks.end());
  std::vector<std::string> chunks;
  AppendChunks(*trie::Flattened(document.root_node()), chunks);
  for (std::string& chunk : chunks) {
    const Hash256 hash = Sha256(chunk);
    encoded.snapshot.chunks.push_back(hash);
    if (!stored.contains(hash)) encoded.contents.emplace_back(hash, std::move(chunk));
  }
  return encoded;
}

Result<Document> DecodeSnapshot(const Snapshot& snapshot, const ChunkReader& read_chunk) {
  if (snapshot.schema_version < 1 || snapshot.schema_version > kSnapshotSchemaVersion) {
    return Corrupt(snapshot, fmt::format("the schema version is {}, expected 1 to {} (a newer program wrote it; upgrade this one)",
                                         snapshot.schema_version, kSnapshotSchemaVersion));
  }
  if (snapshot.inline_state.has_value() == !snapshot.chunks.empty()) {
    return Corrupt(snapshot, "it has to hold either its state or a list of chunks");
  }
  auto document = snapshot.inline_state ? DecodeInline(snapshot) : DecodeChunks(snapshot, read_chunk);
  if (!document) return document;
  if (Mutant("snapshot_unverified")) return document;
  if (document->Root() != snapshot.state_root) {
    return Corrupt(snapshot, fmt::format("the state root is {}, expected {}", ToHex(document->Root()), ToHex(snapshot.state_root)));
  }
  return document;
}

bool SnapshotDue(std::int64_t events_since, std::size_t delta_bytes_since, std::size_t snapshot_bytes) {
  constexpr std::int64_t kAtTheEarliest = 32, kInAnyCase = 512;
  if (events_since < kAtTheEarliest) return false;
  return delta_bytes_since >= snapshot_bytes || events_since >= kInAnyCase;
}

}  // namespace acl
