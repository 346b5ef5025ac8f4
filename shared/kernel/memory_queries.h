#pragma once
// What people ask, answered from a MemoryStore: for unit tests and the simulator only.

#include "shared/kernel/memory_store.h"
#include "shared/kernel/queries.h"

namespace acl {

class MemoryQueries : public Queries {
 public:
  MemoryQueries(const MemoryStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  Result<SubjectView> GetSubject(const SubjectId& subject) override;
  Result<std::vector<SubjectId>> FindByPart(const std::string& part) override;
  Result<std::vector<SubjectView>> List(const ListFilter& filter) override;
  Result<std::vector<EndView>> Ends(std::span<const SubjectId> subjects) override;
  using Queries::Events;
  Result<std::vector<Event>> Events(const SubjectId& subject, std::int64_t after_seq, int limit, std::size_t most_bytes) override;
  Result<std::optional<Snapshot>> SnapshotUpTo(const SubjectId& subject, std::int64_t seq) override;
  Result<std::vector<AttemptView>> Attempts(const SubjectId& subject) override;
  Result<std::vector<DispatchView>> Dispatches(const SubjectId& subject) override;
  Result<std::vector<CompensationRow>> Compensations(const SubjectId& subject) override;
  Result<std::vector<GrantView>> Grants(const SubjectId& subject) override;
  Result<std::vector<LeaseView>> Leases(int limit) override;
  Result<std::vector<SessionRow>> Sessions(bool include_dead) override;
  Result<std::vector<QuarantineView>> Quarantined(bool include_released) override;
  Result<std::vector<TimerRow>> Timers(const SubjectId& subject) override;
  Result<std::vector<std::string>> ReadyQueues() override;
  Result<Backlog> ReadBacklog() override;
  Result<std::vector<std::string>> ServedQueues() override;
  Result<std::vector<Undecided>> FindUndecided(std::span<const std::string> queues, const std::string& kind, int max) override;

 private:
  SubjectView View(const MemorySubject& subject) const;
  Result<MemorySubject> Get(const SubjectId& subject) const;

  const MemoryStore& store_;
  const Clock& clock_;
};

}  // namespace acl
