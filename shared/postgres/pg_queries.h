#pragma once
// Queries on PostgreSQL: reading for people and for `verify`. Shares the store's connections, never its commit connections.

#include "shared/kernel/queries.h"
#include "shared/postgres/pg_store.h"

namespace acl {

class PgQueries final : public Queries {
 public:
  explicit PgQueries(PgStore& store) : store_(store), pool_(store.pool()) {}  // the store outlives it

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
  // As the rows have them: what is offloaded is not fetched.
  Result<std::vector<Event>> ReadEvents(const SubjectId& subject, std::int64_t after_seq, int limit);
  Status Exists(const SubjectId& subject);

  PgStore& store_;
  pg::Pool& pool_;
};

}  // namespace acl
