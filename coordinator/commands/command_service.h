#pragma once
// Commands on subjects of one kind, from any thread (docs/architecture.md#command). What is asked of one subject while a command of it is
// under way goes together with the next, in one transaction; subjects do not wait for each other. States are remembered: a command costs
// the same whatever the state's size, and what other coordinators did is read when it is met.

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "coordinator/commands/commanded.h"
#include "shared/base/uuid7.h"
#include "shared/kernel/queries.h"
#include "shared/kernel/roll.h"
#include "shared/kernel/store.h"

namespace acl::coordinator {

class CommandService {
 public:
  struct Options {
    std::size_t most_at_once = 64;                               // commands of one subject in a transaction
    std::size_t most_remembered_bytes = std::size_t(256) << 20;  // of states; what was not asked for the longest goes first
    std::int64_t segment_events = kSegmentEvents;                // of a journal; then the next one begins (shared/kernel/roll.h)
  };
  CommandService(KernelStore& store, Queries& queries, const CommandKind& kind, Uuid7Maker& ids, Options options);
  CommandService(KernelStore& store, Queries& queries, const CommandKind& kind, Uuid7Maker& ids)
      : CommandService(store, queries, kind, ids, Options{}) {}

  // kNotFound: no such subject of this kind. kCorrupt: it is quarantined, and why. kUnavailable: nothing was done, or it cannot be told:
  // asked again under the same key, it is done once.
  Result<Reply> Execute(const SubjectId& subject, CommandAsked asked);
  // Decides what is unread, if anything is.
  Status DecideInbox(const SubjectId& subject);

  struct View {
    std::int64_t head_seq = 0;
    Hash256 chain{};
    WallTime head_at;
    Document state;
    std::shared_ptr<Aid> aid;  // the kind's, of the subject as it is now; nullptr: none
  };
  // As it is now. Errors as of Execute.
  Result<View> Read(const SubjectId& subject);
  // As it was after that event, or after the last that is not later than `time`. kInvalid if it was not there yet, or what led to it was
  // removed or dropped. Reads the journal from the newest snapshot before it on; by a time, from its oldest event.
  Result<View> ReadAt(const SubjectId& subject, std::int64_t seq, WallTime time = WallTime::max());

 private:
  struct Pending {
    const CommandAsked* asked = nullptr;  // nullptr: settle
    bool done = false;
    std::optional<Error> error;
    Reply reply;
  };
  // All of one subject.
  struct Room {
    std::mutex mutex;
    std::condition_variable tick;
    std::deque<Pending*> waiting;
    bool busy = false;                   // somebody decides for all who wait
    std::shared_ptr<const Known> known;  // null: nothing is remembered
    std::shared_ptr<Aid> aid;            // never another
    std::size_t bytes = 0;               // as Remember counted them
    std::list<SubjectId>::iterator place;
  };
  // A commit whose answer was lost.
  struct Sent {
    Hash256 chain{};
    std::vector<Reply> replies;
  };

  std::shared_ptr<Room> RoomOf(const SubjectId& subject);
  void Remember(const SubjectId& subject, Room& room, std::shared_ptr<const Known> known);
  Result<Reply> Ask(const SubjectId& subject, const CommandAsked* asked);
  void DecideTogether(const SubjectId& subject, Room& room, std::span<Pending* const> together);
  // What was answered, and what is known after it.
  Result<std::vector<Reply>> Transact(const SubjectId& subject, std::shared_ptr<const Known>& known, std::span<const CommandAsked> asked,
                                      Aid* aid);
  Result<std::optional<Snapshot>> SnapshotOf(const Known& known);
  bool JournalEnds(std::int64_t head_seq, std::int64_t journal_first) const {
    return RollDue(head_seq, journal_first, options_.segment_events);
  }
  Result<std::shared_ptr<const Known>> ReadOn(const SubjectId& subject, std::shared_ptr<const Known> known);
  Error QuarantineFor(const SubjectId& subject, std::int64_t head_seq, const Error& damage);
  Result<SubjectView> Look(const SubjectId& subject);
  Result<std::optional<Snapshot>> SnapshotBefore(const SubjectId& subject, std::int64_t seq, WallTime time);

  KernelStore& store_;
  Queries& queries_;
  const CommandKind& kind_;
  Uuid7Maker& ids_;
  const Options options_;
  std::mutex mutex_;  // of what follows
  std::map<SubjectId, std::shared_ptr<Room>> rooms_;
  std::list<SubjectId> asked_last_;  // the latest first
  std::size_t bytes_ = 0;
};

}  // namespace acl::coordinator
