#include "coordinator/commands/commanded.h"

#include <algorithm>

#include "shared/base/mutant.h"
#include "shared/journal/difference.h"
#include "shared/kernel/item_builder.h"

namespace acl::coordinator {
namespace {

std::int64_t HeadOf(const ItemBuilder& made) { return made.item.base_seq + std::int64_t(made.item.events.size()) + (made.open() ? 1 : 0); }

// Answers what is known already. True if it is.
bool Replay(const CommandAsked& asked, std::span<const GivenAnswer> given, Reply& reply) {
  if (!asked.key) return false;
  const auto known = std::find_if(given.begin(), given.end(), [&](const GivenAnswer& one) { return one.key == *asked.key; });
  if (known == given.end()) return false;
  reply.head_seq = known->event_seq;
  reply.key_conflict = known->request_hash != asked.hash;
  reply.replayed = !reply.key_conflict;
  if (auto answer = ParseJson(known->answer, kStoredJson); answer && reply.replayed) reply.answer = std::move(*answer);
  return true;
}

}  // namespace

Status GoOn(const SubjectId& subject, const std::vector<Event>& events, const ChunkReader& read_chunk, Known& known) {
  if (events.empty()) return {};
  if (Status more = GoOnRestoring(subject, events, read_chunk, known.restored); !more) return more;
  known.head_at = events.back().timestamp;
  return {};
}

Status CatchUp(const CommandView& view, const ChunkReader& read_chunk, Known& known) {
  const Claimed& claimed = view.claimed;
  known.journal_first = claimed.head.journal_first;
  if (claimed.sticky) {
    Status more = GoOn(claimed.subject, claimed.events, read_chunk, known);
    if (more) more = MatchesHead(known.restored, claimed.head.seq, claimed.head.chain, claimed.head.state_root);
    if (!more && more.code() == Code::kCorrupt)
      return Error{Code::kConflict, "what was remembered is of another journal: " + more.message()};
    return more;
  }
  auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, read_chunk);
  if (!restored) return restored.error();
  known = Known{};
  known.journal_first = claimed.head.journal_first;
  known.restored = std::move(*restored);
  known.head_at = claimed.head.last_timestamp;
  known.newest = claimed.snapshot;
  if (known.newest) known.newest->inline_state.reset();
  return MatchesHead(known.restored, claimed.head.seq, claimed.head.chain, claimed.head.state_root);
}

Result<Round> DecideRound(const CommandKind& kind, const CommandView& view, std::vector<InboxInput> inbox, const Known& known,
                          std::span<const CommandAsked> asked, Aid* aid, const std::optional<Snapshot>& closing) {
  const WallTime now = std::max(view.claimed.db_now, view.claimed.head.last_timestamp);
  ItemBuilder made(kind, BaseOf(view.claimed, WorkerSessionId{}), known.restored.state);
  if (closing) made.Roll(*closing, now);
  for (InboxInput& one : inbox) {
    made.item.consumed_inbox.push_back(one.id);
    const Input input = std::move(one);
    if (auto decided = made.Decide(input, now); !decided) return decided.error();
  }
  Round round;
  CommandItem item;
  std::vector<GivenAnswer> given = view.answered;
  for (const CommandAsked& one : asked) {
    Reply& reply = round.replies.emplace_back();
    if (Replay(one, given, reply)) continue;
    Json command = one.command;
    command["head_seq"] = HeadOf(made);
    Answered answered = kind.Answer(made.state, command, now, aid);
    if (auto taken = made.Take(std::move(answered.decision), now); !taken) return taken.error();
    reply.answer = std::move(answered.answer);
    reply.head_seq = HeadOf(made);
    if (!one.key || Mutant("answers_forgotten")) continue;
    given.push_back({*one.key, one.hash, reply.head_seq, DumpJson(reply.answer)});
    item.answers.push_back(given.back());
  }
  made.Finish(now);
  if (made.drafts() == 0 && made.item.consumed_inbox.empty() && item.answers.empty()) return round;

  round.after = known;
  if (closing) round.after.journal_first = made.item.base_seq + 1;
  Restored& after = round.after.restored;
  for (const std::string& entry : Difference(known.restored.state, made.state)) {
    const Document& shown = Mutant("shown_a_command_late") ? known.restored.state : made.state;
    if (auto row = kind.Show(entry, shown.Find(entry))) item.rows.push_back(std::move(*row));
  }
  for (const Event& event : made.item.events) {
    for (ShownRow& row : RowsOf(kind, event)) item.rows.push_back(std::move(row));
  }
  after.head_seq = made.item.base_seq + std::int64_t(made.item.events.size());
  after.chain = made.item.chain;
  after.last_token = made.item.token;
  after.replayed += std::int64_t(made.item.events.size());
  after.delta_bytes_since_snapshot += made.delta_bytes();
  after.state = made.state;
  if (!made.item.events.empty()) round.after.head_at = made.item.events.back().timestamp;
  item.item = std::move(made.item);
  round.item = std::move(item);
  return round;
}

}  // namespace acl::coordinator
