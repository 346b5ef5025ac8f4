#include "tests/support/schedule_player.h"

#include <fmt/format.h>

#include "shared/base/random.h"
#include "shared/base/uuid7.h"

namespace acl::test {
namespace {

using Kind = ScheduledOp::Kind;
constexpr milliseconds kTtl{60'000}, kNap{10'000};
constexpr const char* kQueue = "schedules";

const char* OutcomeName(CommitOutcome::Kind kind) {
  const char* names[] = {"committed", "fenced", "busy", "moved", "rejected"};
  return names[int(kind)];
}

// What both stores call alike; their words are their own.
std::string Said(const Error& error) { return "error " + std::string(CodeName(error.code)); }
std::string Said(const Status& status) { return status ? "ok" : Said(status.error()); }

bool IsAboutAHolder(Kind kind) {
  return kind == Kind::kKeep || kind == Kind::kRelease || kind == Kind::kSleep || kind == Kind::kRequeue || kind == Kind::kClose ||
         kind == Kind::kReadInbox || kind == Kind::kReleaseLease || kind == Kind::kQuarantine;
}

}  // namespace

std::string NameOf(const ScheduledOp& op) {
  static const char* const names[] = {"create",    "claim", "claim-one",   "keep",       "release", "sleep",
                                      "requeue",   "close", "read-inbox",  "post",       "reap",    "fire",
                                      "give-back", "beat",  "new-session", "quarantine", "let-go"};
  return fmt::format("{}({})", names[int(op.kind)], op.pick);
}

std::vector<ScheduledRound> MakeSchedule(std::uint64_t seed, int rounds) {
  // How often each kind comes; commits and claims are what it is about.
  static const std::vector<std::pair<Kind, int>> weights{
      {Kind::kCreate, 2},     {Kind::kClaim, 6},   {Kind::kClaimOne, 3},     {Kind::kKeep, 8},      {Kind::kRelease, 5},
      {Kind::kSleep, 3},      {Kind::kRequeue, 3}, {Kind::kClose, 2},        {Kind::kReadInbox, 5}, {Kind::kPost, 6},
      {Kind::kReap, 5},       {Kind::kFire, 3},    {Kind::kReleaseLease, 2}, {Kind::kHeartbeat, 3}, {Kind::kReopen, 3},
      {Kind::kQuarantine, 1}, {Kind::kLetGo, 2}};
  int all = 0;
  for (const auto& [kind, weight] : weights) all += weight;
  SeededRandom random(seed);
  const auto op = [&] {
    ScheduledOp made;
    auto at = int(random.Below(std::uint64_t(all)));
    for (const auto& [kind, weight] : weights) {
      made.kind = kind;
      if ((at -= weight) < 0) break;
    }
    made.pick = std::size_t(random.Below(8));
    made.fresh = SubjectId{NewUuid7()};
    made.message = InboxId{NewUuid7()};
    return made;
  };
  std::vector<ScheduledRound> schedule(std::size_t(rounds), ScheduledRound{});
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto pause = random.Below(10);
    schedule[i].pause = pause == 0 ? kTtl + milliseconds(1'000) : pause < 3 ? kNap * 2 : milliseconds(0);
    for (ScheduledOp& each : schedule[i].ops) each = op();
    // Subjects to begin with, and the end of a session is soon heard of.
    if (i < 2) schedule[i].ops[0].kind = schedule[i].ops[1].kind = Kind::kCreate;
    if (pause == 0) schedule[i].ops[random.Below(2)].kind = Kind::kReap;
  }
  return schedule;
}

SchedulePlayer::SchedulePlayer(StoreHarness& harness, const std::vector<ScheduledRound>& schedule) : harness_(harness) {
  for (const ScheduledRound& round : schedule) {
    for (const ScheduledOp& op : round.ops) {
      if (op.kind == Kind::kCreate) subjects_.push_back(op.fresh);
    }
  }
  Open(0);
  Open(1);
}

int SchedulePlayer::NumberOf(const SubjectId& subject) const {
  return int(std::find(subjects_.begin(), subjects_.end(), subject) - subjects_.begin());
}

void SchedulePlayer::Open(int number) {
  Session& session = sessions_[std::size_t(number)];
  SessionRequest request;
  request.worker_name = fmt::format("w{}", number);
  request.host = "here";
  request.pid = 1;
  request.slots = 100;
  request.queues = {kQueue};
  request.version = "test";
  request.ttl = kTtl;
  auto grant = harness_.store().OpenSession(request);
  ASSERT_TRUE(grant.ok()) << grant.error();
  session.id = grant->session;
  std::lock_guard lock(names_mutex_);
  names_[session.id] = fmt::format("w{}.{}", number, ++session.opened);
}

int SchedulePlayer::About(int number, const ScheduledOp& op) const {
  const Session& session = sessions_[std::size_t(number)];
  if (IsAboutAHolder(op.kind)) return session.held.empty() ? -1 : NumberOf(session.held[op.pick % session.held.size()].holder.subject());
  if (op.kind == Kind::kCreate) return NumberOf(op.fresh);
  if (op.kind == Kind::kPost || op.kind == Kind::kLetGo) return int(op.pick % subjects_.size());
  return -1;
}

std::string SchedulePlayer::Claim(Session& session, int max) {
  ClaimRequest request;
  request.session = session.id;
  request.queues = {kQueue};
  request.max = max;
  session.claimed.clear();
  auto answer = harness_.store().Claim(request);
  if (!answer) return Said(answer.error());
  // In which order they were ready is the store's affair.
  std::sort(answer->claimed.begin(), answer->claimed.end(),
            [this](const Claimed& a, const Claimed& b) { return NumberOf(a.subject) < NumberOf(b.subject); });
  std::string said = fmt::format("quarantined {}", answer->quarantined);
  for (Claimed& claimed : answer->claimed) {
    const int number = NumberOf(claimed.subject);
    const bool higher = session.tokens[claimed.subject] < claimed.token;
    session.tokens[claimed.subject] = claimed.token;
    std::vector<InboxId> unread;
    for (const InboxRow& row : claimed.inbox) unread.push_back(row.id);
    said += fmt::format(" s{} seq {} events {} wake {} inbox {} timers {} without progress {}{}", number, claimed.head.seq,
                        claimed.events.size(), claimed.wake, unread.size(), claimed.timers.size(), claimed.takeovers_without_progress,
                        higher ? "" : " TOKEN NOT HIGHER");
    session.claimed.insert(number);
    session.held.push_back({Holder(std::move(claimed), session.id), std::move(unread)});
  }
  return said;
}

std::string SchedulePlayer::Commit(Session& session, const ScheduledOp& op) {
  Held& held = session.held[op.pick % session.held.size()];
  const bool keeps = op.kind == Kind::kKeep;
  CommitItem item = held.holder.Item(1, keeps ? Disposition::kKeep : op.kind == Kind::kClose ? Disposition::kClose : Disposition::kRelease);
  item.consumed_inbox = held.unread;
  item.requeue = op.kind == Kind::kRequeue;
  if (op.kind == Kind::kRelease) item.waiting = Waiting{"person", std::nullopt};
  if (op.kind == Kind::kSleep) {
    const WallTime wake = held.holder.claimed().db_now + kNap;
    item.waiting = Waiting{"timer", wake};
    item.timers_set = {{"nap", wake}};
  }
  auto outcomes = harness_.store().Commit({&item, 1});
  if (!outcomes) return Said(outcomes.error());
  const CommitOutcome& outcome = outcomes->at(0);
  if (outcome.kind == CommitOutcome::Kind::kCommitted) {
    held.holder.Landed(item);
    held.unread.clear();
    if (keeps) return fmt::format("committed wake {}", outcome.wake);
  }
  return OutcomeName(outcome.kind);
}

std::string SchedulePlayer::Play(int number, const ScheduledOp& op) {
  Session& session = sessions_[std::size_t(number)];
  KernelStore& store = harness_.store();
  if (IsAboutAHolder(op.kind) && session.held.empty()) return "nothing held";
  Held* held = IsAboutAHolder(op.kind) ? &session.held[op.pick % session.held.size()] : nullptr;
  switch (op.kind) {
    case Kind::kCreate: {
      CreateItem item;
      item.subject = op.fresh;
      item.kind = "counter";
      item.queue = kQueue;
      Event event;
      event.type = "test.created";
      event.payload = "{\"n\":1}";
      item.events.push_back(std::move(event));
      auto created = store.Create({&item, 1});
      return created ? fmt::format("outcome {}", int(created->at(0).kind)) : Said(created.error());
    }
    case Kind::kClaim: return Claim(session, 100);
    case Kind::kClaimOne: return Claim(session, 1);
    case Kind::kKeep:
    case Kind::kRelease:
    case Kind::kSleep:
    case Kind::kRequeue:
    case Kind::kClose: return Commit(session, op);
    case Kind::kReadInbox: {
      auto view = store.ReadInbox(held->holder.subject(), held->holder.token());
      if (!view) return Said(view.error());
      held->unread.clear();
      for (const InboxRow& row : view->rows) held->unread.push_back(row.id);
      held->holder.wake = view->wake;
      return fmt::format("{} unread, wake {}", view->rows.size(), view->wake);
    }
    case Kind::kPost: {
      auto posted = store.Post({subjects_[op.pick % subjects_.size()], op.message, "signal", "{}", std::nullopt});
      if (!posted) return Said(posted.error());
      std::lock_guard lock(names_mutex_);
      return "posted, rings " + (posted->holder ? names_[*posted->holder] : "nobody");
    }
    case Kind::kReap: {
      auto reaped = store.Reap(1'000);
      return reaped ? fmt::format("{} sessions, {} leases", reaped->sessions_died, reaped->leases_freed) : Said(reaped.error());
    }
    case Kind::kFire: {
      auto fired = store.FireTimers(1'000);
      return fired ? fmt::format("fired {}", fired->fired) : Said(fired.error());
    }
    case Kind::kReleaseLease: return Said(store.ReleaseLease(held->holder.subject(), session.id, held->holder.token()));
    case Kind::kHeartbeat: {
      auto beat = store.Heartbeat(session.id, kTtl);
      if (!beat) return Said(beat.error());
      std::set<int> woken;
      for (const SubjectId& subject : beat->woken) woken.insert(NumberOf(subject));
      return fmt::format("woken [{}]", fmt::join(woken, " "));
    }
    case Kind::kReopen: {
      Status closed = store.CloseSession(session.id);
      Open(number);
      return Said(closed);
    }
    case Kind::kQuarantine: return Said(store.Quarantine(held->holder.subject(), session.id, held->holder.token(), "a test", "a detail"));
    case Kind::kLetGo: return Said(store.ReleaseQuarantine(subjects_[op.pick % subjects_.size()], "a person"));
  }
  return "?";
}

std::string SchedulePlayer::Look() {
  std::string all;
  for (std::size_t i = 0; i < subjects_.size(); ++i) {
    auto view = harness_.queries().GetSubject(subjects_[i]);
    if (!view) {
      if (view.code() != Code::kNotFound) all += fmt::format("s{} {}; ", i, Said(view.error()));
      continue;
    }
    all +=
        fmt::format("s{} {} seq {} {}{}{}; ", i, OpenStateName(view->state), view->head.seq, view->holder ? names_[*view->holder] : "free",
                    view->waiting_reason.empty() ? "" : " waits for " + view->waiting_reason, view->next_wake ? " until" : "");
  }
  return all;
}

}  // namespace acl::test
