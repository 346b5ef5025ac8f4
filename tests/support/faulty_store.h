#pragma once
// A store that fails as networks and databases do, seeded: refuses before anything happened, or does what was asked and then reports
// kOutcomeUnknown. Over any KernelStore. The same seed and the same calls give the same faults.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "shared/base/random.h"
#include "shared/kernel/store.h"

namespace acl::test {

class FaultyStore : public KernelStore {
 public:
  struct Rates {              // chance of each call, 0 to 1
    double unavailable = 0;   // kUnavailable, nothing happened
    double lost_request = 0;  // kOutcomeUnknown, nothing happened
    double lost_answer = 0;   // kOutcomeUnknown, and it did happen (calls that change something only)
  };
  enum class Fault { kNone, kUnavailable, kLostRequest, kLostAnswer };

  FaultyStore(KernelStore& inner, std::uint64_t seed, Rates rates) : inner_(inner), random_(seed), rates_(rates) {}

  // From here on: for "first faults, then healing".
  void SetRates(Rates rates) { rates_ = rates; }
  // Everything is kUnavailable until it is up again.
  void SetDown(bool down) { down_ = down; }
  // The next call of this function (its name, "Commit") fails so, whatever the rates; queued calls come one after another.
  void FailNext(const std::string& function, Fault fault) { scripted_[function].push_back(fault); }
  // Asked of every fault that the rates bring: false, and it does not happen.
  using Strikes = std::function<bool(Fault fault)>;
  void SetStrikes(Strikes strikes) { strikes_ = std::move(strikes); }
  // Called before (false) and after (true) the inner call, also when a fault follows: where a test runs something in between.
  using Hook = std::function<void(std::string_view function, bool done)>;
  void SetHook(Hook hook) { hook_ = std::move(hook); }
  // What was injected so far, by "Function/fault".
  const std::map<std::string, int>& injected() const { return injected_; }

  Result<SessionGrant> OpenSession(const SessionRequest& request) override;
  Result<HeartbeatAnswer> Heartbeat(const WorkerSessionId& session, milliseconds ttl) override;
  Status CloseSession(const WorkerSessionId& session) override;
  Result<std::vector<CreateOutcome>> Create(std::span<const CreateItem> items) override;
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override;
  Status ReadClaimed(std::vector<Claimed>& granted) override;
  Result<std::vector<Claimed>> ReadGrants(const WorkerSessionId& session, std::span<const SubjectId> subjects) override;
  Result<DueAnswer> DueReady(std::span<const DueLook> looks, int max) override;
  Result<std::vector<CommitOutcome>> Commit(std::span<const CommitItem> items) override;
  Result<std::vector<CommitOutcome>> ReadBack(std::span<const CommitItem> items) override;
  Result<InboxView> ReadInbox(const SubjectId& subject, Token token) override;
  Result<PostAnswer> Post(const InboxPost& post) override;
  Result<DeliverAnswer> DeliverPosts(int max) override;
  Result<std::vector<AskedSubject>> AskedSubjects(int max) override;
  Status ForgetAsked(std::span<const std::int64_t> outbox_ids) override;
  Result<CommitOutcome> Command(const CommandRequest& request, const CommandDecider& decide) override;
  Result<PostAnswer> FinishDispatch(const DispatchReport& report) override;
  Result<ReapedDispatches> ReapDispatches(const std::optional<SubjectId>& subject, int max) override;
  Result<std::vector<HeldDispatch>> DispatchesOf(const WorkerSessionId& session, milliseconds older_than) override;
  Result<ReapAnswer> Reap(int max_leases) override;
  Result<FireAnswer> FireTimers(int max) override;
  Result<std::vector<std::pair<SubjectId, Token>>> HeldBy(const WorkerSessionId& session, milliseconds older_than) override;
  Status ReleaseLease(const SubjectId& subject, const WorkerSessionId& session, Token token) override;
  Status Quarantine(const SubjectId& subject, const WorkerSessionId& session, Token token, const std::string& reason,
                    const std::string& detail) override;
  Status ReleaseQuarantine(const SubjectId& subject, const std::string& by) override;
  Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) override;
  Result<std::string> GetContent(const Hash256& hash) override;
  Result<CollectAnswer> CollectContents(milliseconds grace, const ContentMark& from, int max) override;
  Result<RetainAnswer> Retain(milliseconds sessions, milliseconds request_keys, int max) override;
  Result<DropAnswer> DropSegments(milliseconds keep, int max) override;
  Result<std::vector<std::optional<LeaderLease>>> HoldLeaderLeases(std::span<const std::string> names, const WorkerSessionId& session,
                                                                   milliseconds ttl) override;

 private:
  Fault Draw(const std::string& function, bool changes);
  Fault DrawByRates(bool changes);
  template <class Answer, class Call>
  Answer Through(const char* function, bool changes, Call call);

  KernelStore& inner_;
  SeededRandom random_;
  Rates rates_;
  bool down_ = false;
  Hook hook_;
  Strikes strikes_;
  std::map<std::string, std::vector<Fault>> scripted_;
  std::map<std::string, int> injected_;
};

}  // namespace acl::test
