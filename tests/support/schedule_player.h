#pragma once
// Random schedules of two sessions, played against a KernelStore: what a client of the store can see of each operation, as text, and of all
// subjects after it. The same schedule on two stores is compared by that text (tests/integration/kernel/schedules_test.cc).

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/store_conformance.h"

namespace acl::test {

struct ScheduledOp {
  enum class Kind {
    kCreate,
    kClaim,
    kClaimOne,
    kKeep,
    kRelease,
    kSleep,
    kRequeue,
    kClose,
    kReadInbox,
    kPost,
    kReap,
    kFire,
    kReleaseLease,
    kHeartbeat,
    kReopen,
    kQuarantine,
    kLetGo,  // of the quarantine
  };
  Kind kind = Kind::kCreate;
  std::size_t pick = 0;  // which of the holders, or of the subjects
  SubjectId fresh;       // of kCreate
  InboxId message;       // of kPost
};
std::string NameOf(const ScheduledOp& op);

// A schedule is rounds: time passes, then each session does something, both at once.
struct ScheduledRound {
  milliseconds pause{0};
  std::array<ScheduledOp, 2> ops;
};
std::vector<ScheduledRound> MakeSchedule(std::uint64_t seed, int rounds);

// Plays operations against one store. The two sessions' operations may be played from two threads.
class SchedulePlayer {
 public:
  SchedulePlayer(StoreHarness& harness, const std::vector<ScheduledRound>& schedule);

  std::string Play(int session, const ScheduledOp& op);
  // All subjects as anybody sees them.
  std::string Look();
  // The subject that the operation is about, by number; -1: none.
  int About(int session, const ScheduledOp& op) const;
  // Every subject that will ever be.
  const std::vector<SubjectId>& subjects() const { return subjects_; }
  const WorkerSessionId& session(int number) const { return sessions_[std::size_t(number)].id; }
  // The subjects of the session's last claim, by number.
  const std::set<int>& claimed(int session) const { return sessions_[std::size_t(session)].claimed; }

 private:
  struct Held {
    Holder holder;
    std::vector<InboxId> unread;
  };
  struct Session {
    WorkerSessionId id;
    int opened = 0;
    std::vector<Held> held;
    std::set<int> claimed;
    std::map<SubjectId, Token> tokens;  // the highest seen
  };
  void Open(int number);
  int NumberOf(const SubjectId& subject) const;
  std::string Claim(Session& session, int max);
  std::string Commit(Session& session, const ScheduledOp& op);

  StoreHarness& harness_;
  std::vector<SubjectId> subjects_;
  std::array<Session, 2> sessions_;
  std::mutex names_mutex_;
  std::map<WorkerSessionId, std::string> names_;
};

}  // namespace acl::test
