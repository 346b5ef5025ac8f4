#pragma once
// The contents that a restore reads, as a ChunkReader (shared/journal/snapshot.h).

#include <optional>
#include <vector>

#include "shared/journal/snapshot.h"
#include "shared/kernel/store.h"

namespace acl {

// Chunks of the snapshot and payloads that are offloaded: read at once when the first is asked for. The store, snapshot and events must
// outlive the reader.
ChunkReader ReaderOf(KernelStore& store, const std::optional<Snapshot>& snapshot, const std::vector<Event>& events);

}  // namespace acl
