#pragma once
// States of runs that this process gave back and may soon hold again ("sticky execution"): a run that waits for a timer, a person or,
// without local continuation, for its own next message. Who claims one of them names the token under which it was released. If the lease
// still has that token, nobody has held the run since, and nothing but its inbox and timers is read (ClaimRequest::released_token); else
// the journal says what it is, as ever. A state is a hint: it must end where the head row says, or it is forgotten and the journal read.
//
// Bounded in bytes of stored state; who was used longest ago goes first. Any thread.

#include <list>
#include <map>
#include <mutex>
#include <optional>

#include "shared/journal/snapshot.h"
#include "shared/kernel/types.h"

namespace acl {

class StickyCache {
 public:
  struct State {
    Token token;                       // under which it was released
    Restored restored;                 // `replayed`: events since the snapshot
    std::optional<Snapshot> snapshot;  // the newest that is stored, without its text
  };
  // 0: keeps nothing.
  explicit StickyCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  void Put(const SubjectId& subject, State state);
  // Token{} if it is not here.
  Token ReleasedToken(const SubjectId& subject) const;
  // It is not here any more.
  std::optional<State> Take(const SubjectId& subject);
  void Forget(const SubjectId& subject) { (void)Take(subject); }

  std::size_t size() const;
  std::size_t bytes() const;

 private:
  struct Kept {
    State state;
    std::size_t bytes = 0;
    std::list<SubjectId>::iterator place;
  };
  std::optional<State> TakeLocked(const SubjectId& subject);

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::map<SubjectId, Kept> kept_;
  std::list<SubjectId> in_turn_;  // the longest kept first
  std::size_t bytes_ = 0;
};

}  // namespace acl
