#include "tests/support/faulty_store.h"

namespace acl::test {

namespace {

const char* FaultName(FaultyStore::Fault fault) {
  switch (fault) {
    case FaultyStore::Fault::kNone: return "none";
    case FaultyStore::Fault::kUnavailable: return "unavailable";
    case FaultyStore::Fault::kLostRequest: return "lost_request";
    case FaultyStore::Fault::kLostAnswer: return "lost_answer";
  }
  return "?";
}

}  // namespace

FaultyStore::Fault FaultyStore::Draw(const std::string& function, bool changes) {
  if (down_) return Fault::kUnavailable;
  auto& script = scripted_[function];
  if (!script.empty()) {
    Fault fault = script.front();
    script.erase(script.begin());
    return fault;
  }
  const Fault fault = DrawByRates(changes);
  return fault == Fault::kNone || !strikes_ || strikes_(fault) ? fault : Fault::kNone;
}

FaultyStore::Fault FaultyStore::DrawByRates(bool changes) {
  double draw = random_.Unit();
  if (draw < rates_.unavailable) return Fault::kUnavailable;
  if (!changes) return Fault::kNone;
  draw -= rates_.unavailable;
  if (draw < rates_.lost_request) return Fault::kLostRequest;
  draw -= rates_.lost_request;
  return draw < rates_.lost_answer ? Fault::kLostAnswer : Fault::kNone;
}

template <class Answer, class Call>
Answer FaultyStore::Through(const char* function, bool changes, Call call) {
  Fault fault = Draw(function, changes);
  if (fault != Fault::kNone) ++injected_[std::string(function) + "/" + FaultName(fault)];
  if (fault == Fault::kUnavailable) return Error{Code::kUnavailable, std::string(function) + ": injected: the database cannot be reached"};
  if (hook_) hook_(function, false);
  Error unknown{Code::kOutcomeUnknown, std::string(function) + ": injected: the answer was lost"};
  if (fault == Fault::kLostRequest) return unknown;
  Answer answer = call();
  if (hook_) hook_(function, true);
  if (fault == Fault::kLostAnswer) return unknown;
  return answer;
}

Result<SessionGrant> FaultyStore::OpenSession(const SessionRequest& request) {
  return Through<Result<SessionGrant>>("OpenSession", true, [&] { return inner_.OpenSession(request); });
}
Result<HeartbeatAnswer> FaultyStore::Heartbeat(const WorkerSessionId& session, milliseconds ttl) {
  return Through<Result<HeartbeatAnswer>>("Heartbeat", true, [&] { return inner_.Heartbeat(session, ttl); });
}
Status FaultyStore::CloseSession(const WorkerSessionId& session) {
  return Through<Status>("CloseSession", true, [&] { return inner_.CloseSession(session); });
}
Result<std::vector<CreateOutcome>> FaultyStore::Create(std::span<const CreateItem> items) {
  return Through<Result<std::vector<CreateOutcome>>>("Create", true, [&] { return inner_.Create(items); });
}
Result<ClaimAnswer> FaultyStore::Claim(const ClaimRequest& request) {
  return Through<Result<ClaimAnswer>>("Claim", true, [&] { return inner_.Claim(request); });
}
Status FaultyStore::ReadClaimed(std::vector<Claimed>& granted) {
  return Through<Status>("ReadClaimed", false, [&] { return inner_.ReadClaimed(granted); });
}

Result<std::vector<Claimed>> FaultyStore::ReadGrants(const WorkerSessionId& session, std::span<const SubjectId> subjects) {
  return Through<Result<std::vector<Claimed>>>("ReadGrants", false, [&] { return inner_.ReadGrants(session, subjects); });
}
Result<DueAnswer> FaultyStore::DueReady(std::span<const DueLook> looks, int max) {
  return Through<Result<DueAnswer>>("DueReady", false, [&] { return inner_.DueReady(looks, max); });
}
Result<std::vector<CommitOutcome>> FaultyStore::Commit(std::span<const CommitItem> items) {
  return Through<Result<std::vector<CommitOutcome>>>("Commit", true, [&] { return inner_.Commit(items); });
}
Result<std::vector<CommitOutcome>> FaultyStore::ReadBack(std::span<const CommitItem> items) {
  return Through<Result<std::vector<CommitOutcome>>>("ReadBack", false, [&] { return inner_.ReadBack(items); });
}
Result<KernelStore::InboxView> FaultyStore::ReadInbox(const SubjectId& subject, Token token) {
  return Through<Result<InboxView>>("ReadInbox", false, [&] { return inner_.ReadInbox(subject, token); });
}
Result<PostAnswer> FaultyStore::Post(const InboxPost& post) {
  return Through<Result<PostAnswer>>("Post", true, [&] { return inner_.Post(post); });
}
Result<std::vector<AskedSubject>> FaultyStore::AskedSubjects(int max) {
  return Through<Result<std::vector<AskedSubject>>>("AskedSubjects", false, [&] { return inner_.AskedSubjects(max); });
}

Status FaultyStore::ForgetAsked(std::span<const std::int64_t> outbox_ids) {
  return Through<Status>("ForgetAsked", true, [&] { return inner_.ForgetAsked(outbox_ids); });
}

Result<DeliverAnswer> FaultyStore::DeliverPosts(int max) {
  return Through<Result<DeliverAnswer>>("DeliverPosts", true, [&] { return inner_.DeliverPosts(max); });
}
Result<CommitOutcome> FaultyStore::Command(const CommandRequest& request, const CommandDecider& decide) {
  return Through<Result<CommitOutcome>>("Command", true, [&] { return inner_.Command(request, decide); });
}
Result<PostAnswer> FaultyStore::FinishDispatch(const DispatchReport& report) {
  return Through<Result<PostAnswer>>("FinishDispatch", true, [&] { return inner_.FinishDispatch(report); });
}
Result<ReapedDispatches> FaultyStore::ReapDispatches(const std::optional<SubjectId>& subject, int max) {
  return Through<Result<ReapedDispatches>>("ReapDispatches", true, [&] { return inner_.ReapDispatches(subject, max); });
}
Result<std::vector<HeldDispatch>> FaultyStore::DispatchesOf(const WorkerSessionId& session, milliseconds older_than) {
  return Through<Result<std::vector<HeldDispatch>>>("DispatchesOf", false, [&] { return inner_.DispatchesOf(session, older_than); });
}
Result<ReapAnswer> FaultyStore::Reap(int max_leases) {
  return Through<Result<ReapAnswer>>("Reap", true, [&] { return inner_.Reap(max_leases); });
}
Result<FireAnswer> FaultyStore::FireTimers(int max) {
  return Through<Result<FireAnswer>>("FireTimers", true, [&] { return inner_.FireTimers(max); });
}
Result<std::vector<std::pair<SubjectId, Token>>> FaultyStore::HeldBy(const WorkerSessionId& session, milliseconds older_than) {
  return Through<Result<std::vector<std::pair<SubjectId, Token>>>>("HeldBy", false, [&] { return inner_.HeldBy(session, older_than); });
}
Status FaultyStore::ReleaseLease(const SubjectId& subject, const WorkerSessionId& session, Token token) {
  return Through<Status>("ReleaseLease", true, [&] { return inner_.ReleaseLease(subject, session, token); });
}
Status FaultyStore::Quarantine(const SubjectId& subject, const WorkerSessionId& session, Token token, const std::string& reason,
                               const std::string& detail) {
  return Through<Status>("Quarantine", true, [&] { return inner_.Quarantine(subject, session, token, reason, detail); });
}
Status FaultyStore::ReleaseQuarantine(const SubjectId& subject, const std::string& by) {
  return Through<Status>("ReleaseQuarantine", true, [&] { return inner_.ReleaseQuarantine(subject, by); });
}
Status FaultyStore::PutContents(std::span<const std::pair<Hash256, std::string>> contents) {
  return Through<Status>("PutContents", true, [&] { return inner_.PutContents(contents); });
}
Result<CollectAnswer> FaultyStore::CollectContents(milliseconds grace, const ContentMark& from, int max) {
  return Through<Result<CollectAnswer>>("CollectContents", true, [&] { return inner_.CollectContents(grace, from, max); });
}
Result<std::string> FaultyStore::GetContent(const Hash256& hash) {
  return Through<Result<std::string>>("GetContent", false, [&] { return inner_.GetContent(hash); });
}
Result<DropAnswer> FaultyStore::DropSegments(milliseconds keep, int max) {
  return Through<Result<DropAnswer>>("DropSegments", true, [&] { return inner_.DropSegments(keep, max); });
}
Result<RetainAnswer> FaultyStore::Retain(milliseconds sessions, milliseconds request_keys, int max) {
  return Through<Result<RetainAnswer>>("Retain", true, [&] { return inner_.Retain(sessions, request_keys, max); });
}
Result<std::vector<std::optional<LeaderLease>>> FaultyStore::HoldLeaderLeases(std::span<const std::string> names,
                                                                              const WorkerSessionId& session, milliseconds ttl) {
  return Through<Result<std::vector<std::optional<LeaderLease>>>>("HoldLeaderLeases", true,
                                                                  [&] { return inner_.HoldLeaderLeases(names, session, ttl); });
}

}  // namespace acl::test
