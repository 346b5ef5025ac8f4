#include "coordinator/commands/command_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/limits.h"
#include "shared/capability/inbox_inputs.h"
#include "shared/journal/segment.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/kernel/subject_part.h"
#include "shared/telemetry/log.h"

namespace acl::coordinator {
namespace {

constexpr int kTries = 5, kPage = 1'000;

Error NotDecided(const SubjectId& subject, const std::string& why) {
  return {Code::kUnavailable, fmt::format("{}: {}; ask again, under the same request key if it had one", subject.ToString(), why)};
}

}  // namespace

CommandService::CommandService(KernelStore& store, Queries& queries, const CommandKind& kind, Uuid7Maker& ids, Options options)
    : store_(store), queries_(queries), kind_(kind), ids_(ids), options_(options) {}

std::shared_ptr<CommandService::Room> CommandService::RoomOf(const SubjectId& subject) {
  std::lock_guard lock(mutex_);
  auto& room = rooms_[subject];
  if (!room) {
    room = std::make_shared<Room>();
    room->place = asked_last_.insert(asked_last_.begin(), subject);
    room->aid = kind_.MakeAid();
  } else {
    asked_last_.splice(asked_last_.begin(), asked_last_, room->place);
  }
  return room;
}

// The room's mutex is held. Whoever is forgotten here goes on with its room; the next who asks makes another.
void CommandService::Remember(const SubjectId& subject, Room& room, std::shared_ptr<const Known> known) {
  // The state, and as much again and more of what its kind keeps beside it.
  const std::size_t bytes = known ? 5 * known->restored.state.stored_bytes() + 1024 : 0;
  room.known = std::move(known);
  std::lock_guard lock(mutex_);
  const auto mine = rooms_.find(subject);
  if (mine == rooms_.end() || mine->second.get() != &room) return;
  bytes_ += bytes - room.bytes;
  room.bytes = bytes;
  while (bytes_ > options_.most_remembered_bytes && asked_last_.size() > 1) {
    const auto last = rooms_.find(asked_last_.back());
    if (last->second.get() == &room) break;
    bytes_ -= last->second->bytes;
    rooms_.erase(last);
    asked_last_.pop_back();
  }
}

Result<Reply> CommandService::Execute(const SubjectId& subject, CommandAsked asked) { return Ask(subject, &asked); }

Status CommandService::DecideInbox(const SubjectId& subject) {
  auto reply = Ask(subject, nullptr);
  return reply ? Status() : Status(reply.error());
}

// Whoever comes while nobody decides, decides for all who wait.
Result<Reply> CommandService::Ask(const SubjectId& subject, const CommandAsked* asked) {
  const std::shared_ptr<Room> room = RoomOf(subject);
  Pending mine;
  mine.asked = asked;
  std::unique_lock lock(room->mutex);
  room->waiting.push_back(&mine);
  room->tick.wait(lock, [&] { return mine.done || !room->busy; });
  while (!mine.done) {
    room->busy = true;
    std::vector<Pending*> together;
    while (!room->waiting.empty() && together.size() < options_.most_at_once) {
      together.push_back(room->waiting.front());
      room->waiting.pop_front();
    }
    lock.unlock();
    DecideTogether(subject, *room, together);
    lock.lock();
    for (Pending* one : together) one->done = true;
    room->busy = false;
  }
  room->tick.notify_all();
  if (mine.error) return *mine.error;
  return std::move(mine.reply);
}

void CommandService::DecideTogether(const SubjectId& subject, Room& room, std::span<Pending* const> together) {
  std::shared_ptr<const Known> known;
  {
    std::lock_guard lock(room.mutex);
    known = room.known;
  }
  std::vector<CommandAsked> asked;
  for (const Pending* one : together) {
    if (one->asked != nullptr) asked.push_back(*one->asked);
  }
  auto replies = Transact(subject, known, asked, room.aid.get());
  {
    std::lock_guard lock(room.mutex);
    Remember(subject, room, known);
  }
  if (!replies && replies.code() == Code::kInvalid && together.size() > 1) {  // one of them is bad: it is found alone
    for (Pending* one : together) DecideTogether(subject, room, std::span(&one, 1));
    return;
  }
  std::size_t n = 0;
  for (Pending* one : together) {
    if (!replies) {
      one->error = replies.error();
    } else if (one->asked != nullptr) {
      one->reply = std::move(replies->at(n++));
    }
  }
}

Result<std::vector<Reply>> CommandService::Transact(const SubjectId& subject, std::shared_ptr<const Known>& known,
                                                    std::span<const CommandAsked> asked, Aid* aid) {
  CommandRequest request;
  request.subject = subject;
  for (const CommandAsked& one : asked) {
    if (one.key) request.keys.push_back(*one.key);
  }
  std::optional<Sent> sent;
  std::string why = "it changes all the time";
  for (int tries = 0; tries < kTries; ++tries) {
    // A journal is closed by a snapshot of its head: what others did since is read first, else two coordinators in turn would each have one
    // of before it, for ever.
    if (!known || JournalEnds(known->restored.head_seq, known->journal_first)) {
      auto read = ReadOn(subject, known);
      if (!read) return read.error();
      known = std::move(*read);
    }
    auto snapshot = SnapshotOf(*known);
    if (!snapshot) return snapshot.error();
    request.known_seq = known->restored.head_seq;
    bool stale = false;
    std::shared_ptr<const Known> before;
    Round round;
    auto outcome = store_.Command(request, [&](const CommandView& view) -> Result<std::optional<CommandItem>> {
      Known working = *known;
      round = Round{};
      // Nothing is read here but what the transaction read: contents that are offloaded are read before it, the next time.
      Status sound = CatchUp(
          view,
          [](const Hash256&) -> Result<std::string> {
            return Error{Code::kUnavailable, "a payload is offloaded"};
          },
          working);
      stale = !sound || !view.claimed.sticky;
      if (stale) return Error{Code::kConflict, sound ? "the journal is shorter than what is remembered" : sound.message()};
      before = std::make_shared<const Known>(working);
      if (sent) {
        const auto is_sent = [&](const Event& event) { return event.chain == sent->chain; };
        if (view.claimed.head.chain == sent->chain || std::any_of(view.claimed.events.begin(), view.claimed.events.end(), is_sent)) {
          round.replies = sent->replies;
          return std::optional<CommandItem>();
        }
      }
      InboxRead inbox = ReadInbox(view.claimed.inbox);
      const Head& head = view.claimed.head;
      const bool ends = *snapshot && (**snapshot).last_event_seq == head.seq && JournalEnds(head.seq, head.journal_first);
      auto decided = DecideRound(kind_, view, std::move(inbox.inputs), working, asked, aid, ends ? *snapshot : std::optional<Snapshot>());
      if (!decided) return decided.error();
      round = std::move(*decided);
      if (round.item && *snapshot) round.item->item.snapshot = **snapshot;
      return round.item;
    });
    if (outcome && outcome->kind == CommitOutcome::Kind::kCommitted) {
      if (!round.item) {
        known = before;
        return std::move(round.replies);
      }
      Known after = std::move(round.after);
      if (*snapshot) {
        after.restored.replayed = after.restored.head_seq - (**snapshot).last_event_seq;
        after.restored.delta_bytes_since_snapshot = 0;
        after.newest = std::move(**snapshot);
        after.newest->inline_state.reset();
      }
      known = std::make_shared<const Known>(std::move(after));
      return std::move(round.replies);
    }
    if (outcome) {
      known = nullptr;
      const bool snapshot_went = *snapshot && tries == 0;  // its chunks may have been lost in a failover: all are put again
      if (outcome->kind == CommitOutcome::Kind::kRejected && !snapshot_went)
        return Error{Code::kInvalid, fmt::format("{}: it cannot be written: {}", subject.ToString(), outcome->error)};
      why = "somebody else wrote to it";
      continue;
    }
    const Error error = outcome.error();
    if (stale) {
      known = nullptr;
    } else if (error.code == Code::kConflict) {  // held, closed or quarantined
      auto looked = Look(subject);
      return looked ? NotDecided(subject, error.message) : looked.error();
    } else if (error.code == Code::kOutcomeUnknown && round.item) {
      sent = Sent{round.item->item.chain, round.replies};
      if (round.item->item.events.empty()) sent.reset();  // nothing in the journal would show it, and nothing is lost if it is done again
      known = before;
    } else {
      return error;
    }
    why = error.message;
  }
  return NotDecided(subject, why);
}

// Its chunks are stored when this returns.
Result<std::optional<Snapshot>> CommandService::SnapshotOf(const Known& known) {
  const Restored& restored = known.restored;
  const bool stored = known.newest && known.newest->last_event_seq == restored.head_seq;
  const bool due = (JournalEnds(restored.head_seq, known.journal_first) && !stored) ||
                   SnapshotDue(restored.replayed, restored.delta_bytes_since_snapshot, restored.state.stored_bytes());
  if (!due) return std::optional<Snapshot>();
  EncodedSnapshot encoded = EncodeSnapshot(restored.state, restored.head_seq, restored.chain, known.newest ? &*known.newest : nullptr);
  if (Status put = store_.PutContents(encoded.contents); !put) return put.error();
  encoded.snapshot.id = ids_.Make();
  encoded.snapshot.created_at = known.head_at;
  return std::optional(std::move(encoded.snapshot));
}

// The subject as it stands, if it may be asked.
Result<SubjectView> CommandService::Look(const SubjectId& subject) {
  auto found = queries_.GetSubject(subject);
  if (!found) return found;
  if (found->kind != kind_.Name()) return Error{Code::kNotFound, fmt::format("there is no {} {}", kind_.Name(), subject.ToString())};
  if (found->state != OpenState::kQuarantined) return found;
  auto all = queries_.Quarantined(false);
  if (!all) return all.error();
  const auto mine = std::find_if(all->begin(), all->end(), [&](const QuarantineView& one) { return one.subject == subject; });
  const std::string detail = mine == all->end() ? "" : fmt::format(" ({}: {})", mine->reason, mine->detail);
  return Error{
      Code::kCorrupt,
      fmt::format("{} {} is quarantined, and nothing is guessed of it{}. `airun workflow quarantine inspect {}` says more; restore "
                  "its journal from a backup, or release it if it is sound",
                  kind_.Name(), subject.ToString(), detail, subject.ToString())};
}

// Snapshot first, then the events after it: nothing here is locked, and what came in between belongs to the state.
Result<std::shared_ptr<const Known>> CommandService::ReadOn(const SubjectId& subject, std::shared_ptr<const Known> known) {
  auto head = Look(subject);
  if (!head) return head.error();
  const bool goes_on = known && known->restored.head_seq <= head->head.seq;
  if (goes_on && known->restored.head_seq == head->head.seq && known->restored.chain == head->head.chain) return known;
  Known next;
  if (goes_on) {
    next = *known;
  } else {
    auto snapshot = queries_.NewestSnapshot(subject);
    if (!snapshot) return snapshot.error();
    const std::vector<Event> none;
    auto restored = Restore(subject, *snapshot, none, ReaderOf(store_, *snapshot, none));
    if (!restored && restored.code() == Code::kCorrupt) return QuarantineFor(subject, head->head.seq, restored.error());
    if (!restored) return restored.error();
    next.restored = std::move(*restored);
    next.newest = std::move(*snapshot);
    if (next.newest) next.newest->inline_state.reset(), next.head_at = next.newest->created_at;
  }
  while (true) {
    auto page = queries_.Events(subject, next.restored.head_seq, kPage, limits::kPageBytes);
    if (!page) return page.error();
    if (page->empty()) break;
    Status more = GoOn(subject, *page, ReaderOf(store_, std::nullopt, *page), next);
    if (!more && more.code() == Code::kCorrupt && goes_on) return ReadOn(subject, nullptr);
    if (!more && more.code() == Code::kCorrupt) return QuarantineFor(subject, head->head.seq, more.error());
    if (!more) return more.error();
  }
  const Restored& restored = next.restored;
  const bool behind = restored.head_seq < head->head.seq || (restored.head_seq == head->head.seq && restored.chain != head->head.chain);
  if (behind && goes_on) return ReadOn(subject, nullptr);
  if (behind) {
    auto again = Look(subject);  // a failover between two statements looks the same
    if (!again) return again.error();
    if (again->head.seq >= head->head.seq && again->head.chain == head->head.chain) {
      Status matches = MatchesHead(restored, head->head.seq, head->head.chain, head->head.state_root);
      return QuarantineFor(subject, head->head.seq, matches ? Error{Code::kCorrupt, "the journal ends before its head"} : matches.error());
    }
    return NotDecided(subject, "its journal changed while it was read");
  }
  next.journal_first = head->head.journal_first;
  return std::make_shared<const Known>(std::move(next));
}

// Fail closed. Its journal is written once: what was read of it under no lock is what it is.
Error CommandService::QuarantineFor(const SubjectId& subject, std::int64_t head_seq, const Error& damage) {
  static const Logger log("commands");
  CommandRequest request;
  request.subject = subject;
  request.known_seq = head_seq;
  auto outcome = store_.Command(request, [&](const CommandView&) -> Result<std::optional<CommandItem>> {
    CommandItem item;
    item.damage = CommandItem::Damage{"restore failed", damage.message};
    return std::optional(std::move(item));
  });
  if (outcome || outcome.code() == Code::kCorrupt) {
    log.Error("quarantined; `airun workflow quarantine inspect` says more", {{"subject", subject}, {"reason", damage.message}});
  }
  auto looked = Look(subject);
  return looked ? Error{Code::kCorrupt, damage.message} : looked.error();
}

Result<CommandService::View> CommandService::Read(const SubjectId& subject) {
  const std::shared_ptr<Room> room = RoomOf(subject);
  std::unique_lock lock(room->mutex);
  std::shared_ptr<const Known> known = room->known;
  lock.unlock();
  auto read = ReadOn(subject, known);
  if (!read) return read.error();
  lock.lock();
  std::shared_ptr<const Known> newest = std::move(*read);
  if (room->known && room->known != known && room->known->restored.head_seq > newest->restored.head_seq) newest = room->known;
  View view{newest->restored.head_seq, newest->restored.chain, newest->head_at, newest->restored.state, room->aid};
  if (!room->busy || room->known != newest) Remember(subject, *room, std::move(newest));
  return view;
}

// From where a state of before is made again. None: from the beginning.
Result<std::optional<Snapshot>> CommandService::SnapshotBefore(const SubjectId& subject, std::int64_t seq, WallTime time) {
  if (time == WallTime::max()) return queries_.SnapshotUpTo(subject, seq);
  auto oldest = queries_.Events(subject, 0, 1);
  if (!oldest) return oldest.error();
  if (oldest->empty() || oldest->front().seq == 1) return std::optional<Snapshot>();
  const std::int64_t first = oldest->front().seq;
  auto before = queries_.SnapshotUpTo(subject, first - 1);
  if (before && (!*before || (**before).created_at > time))
    return Error{Code::kInvalid,
                 fmt::format("what it was at {} is not known any more: {}", FormatWallTime(time), DroppedText(subject, 0, first))};
  return before;
}

Result<CommandService::View> CommandService::ReadAt(const SubjectId& subject, std::int64_t seq, WallTime time) {
  auto head = Look(subject);
  if (!head) return head.error();
  if (seq < 1 || seq > head->head.seq)
    return Error{Code::kInvalid, fmt::format("event {} is not there: {} has events 1 to {}", seq, subject.ToString(), head->head.seq)};
  auto from = SnapshotBefore(subject, seq, time);
  if (!from) return from.error();
  const std::vector<Event> none;
  auto begun = Restore(subject, *from, none, ReaderOf(store_, *from, none));
  if (!begun) return begun.error();
  Restored restored = std::move(*begun);
  WallTime at = *from ? (**from).created_at : WallTime{};
  bool later = false;
  while (restored.head_seq < seq && !later) {
    auto page =
        queries_.Events(subject, restored.head_seq, int(std::min<std::int64_t>(kPage, seq - restored.head_seq)), limits::kPageBytes);
    if (!page) return page.error();
    if (!page->empty() && page->front().seq > restored.head_seq + 1)
      return Error{Code::kInvalid, DroppedText(subject, restored.head_seq, page->front().seq)};
    const auto first_later = std::find_if(page->begin(), page->end(), [&](const Event& event) { return event.timestamp > time; });
    later = first_later != page->end();
    page->erase(first_later, page->end());
    if (page->empty()) break;
    at = page->back().timestamp;
    Status more = GoOnRestoring(subject, *page, ReaderOf(store_, std::nullopt, *page), restored);
    if (!more && more.code() == Code::kNotFound) return Error{Code::kInvalid, "what led to it was removed: " + more.message()};
    if (!more) return more.error();
  }
  if (restored.head_seq == 0)
    return Error{Code::kInvalid, fmt::format("{} was not there yet at {}", subject.ToString(), FormatWallTime(time))};
  return View{restored.head_seq, restored.chain, at, std::move(restored.state), nullptr};
}

}  // namespace acl::coordinator
