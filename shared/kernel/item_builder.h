#pragma once
// What a kind decides, as one item to commit: events folded, joined, worded, numbered and chained, and the rows beside them. For whoever
// holds a lease: a worker (worker/leased_subject.h), a coordinator where no worker decides (coordinator/decide_alone.h). Pure: no clock, no
// I/O.
//
//   ItemBuilder builder(kind, base, state);
//   for each input: builder.Decide(input, now)
//   builder.Finish(now), and what becomes of the lease: item.disposition and what belongs to it

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/kernel/fold.h"
#include "shared/kernel/kind.h"
#include "shared/kernel/types.h"

namespace acl {

// The lease that an item is committed under, and the journal that it goes on from.
struct ItemBase {
  SubjectId subject;
  WorkerSessionId session;
  Token token;
  std::int64_t seq = 0;
  Hash256 chain{};
  JournalId journal;
  WallTime last_timestamp;
};
ItemBase BaseOf(const Claimed& claimed, const WorkerSessionId& session);

// An item that says nothing yet: it keeps the lease, and its state is that of before.
CommitItem BeginItem(const ItemBase& base, const Hash256& state_root);
// Gives the lease back at once, ready for the next holder, without a word in the journal.
CommitItem ReleaseOf(const Claimed& claimed, const WorkerSessionId& session);
// The same for a holder that must know `version` of the events.
CommitItem ReleaseFor(const Claimed& claimed, const WorkerSessionId& session, int version);
// The same, to be claimed a little later: each claim writes, and what keeps its contents away may last.
CommitItem ReleaseUntilLater(const Claimed& claimed, const WorkerSessionId& session);
// What a run waits before it is claimed again when its contents cannot be read now.
inline constexpr milliseconds kClaimAgainPause{3'000};

// The release of a run that does not fit into its worker's memory: the lease row says so (Waiting "memory"), for people to see.
CommitItem ReleaseForMemory(CommitItem release, WallTime now, int failures);
// The pause after so many failures in a row: it doubles from kClaimAgainPause up to a bound.
milliseconds MemoryPause(int failures);
inline constexpr milliseconds kMostMemoryPause{300'000};

class ItemBuilder {
 public:
  // `state`: as of the last event of `base`.
  ItemBuilder(const SubjectKind& kind, const ItemBase& base, Document state);

  // Which steps that run are wanted to stop: the holder's to do.
  struct Stops {
    std::vector<std::string> steps;
    bool all = false;
  };
  // Asks the kind and takes what it decides. kInternal: the kind contradicts itself; quarantine the subject.
  Result<Stops> Decide(const Input& input, WallTime now);
  Result<Stops> Take(Decision decision, WallTime now);  // what it decided already
  // The first of all: what follows stands in the next journal of the subject (roll.h). `closing` is of the state before, and goes with the
  // item.
  void Roll(Snapshot closing, WallTime now);
  // Nothing follows: seals the last event, says the state's root.
  void Finish(WallTime now);
  // Numbers and chains an event with type, payload and the payload's hashes.
  void Seal(Event event, WallTime now);

  bool open() const { return open_.has_value(); }
  int drafts() const { return drafts_; }  // folded so far; several may have joined one event
  std::size_t delta_bytes() const { return delta_bytes_; }
  // By timer: when it fires now; nullopt: cleared.
  const std::map<std::string, std::optional<WallTime>>& timer_changes() const { return timer_changes_; }
  void SetTimer(TimerRow timer);
  void ClearTimer(std::string timer);

  CommitItem item;
  Document state;  // after what was decided so far

 private:
  Status TakeDraft(EventDraft draft, WallTime now);
  void SealLast(WallTime now);  // no event joins it any more
  std::int64_t LastSeq() const { return item.base_seq + std::int64_t(item.events.size()) + (open_ ? 1 : 0); }
  void CancelDispatch(DispatchKey key);
  void List(ListingChange change);

  const SubjectKind* kind_;
  JournalId journal_;
  std::optional<Folded> open_;
  int drafts_ = 0;
  std::size_t delta_bytes_ = 0;
  std::map<std::string, std::optional<WallTime>> timer_changes_;
};

}  // namespace acl
