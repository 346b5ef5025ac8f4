#pragma once
// ScheduleStore on PostgreSQL (migrations/0010_schedules.sql).

#include "shared/postgres/pool.h"
#include "shared/schedule/store.h"

namespace acl::schedule {

class PgScheduleStore final : public ScheduleStore {
 public:
  explicit PgScheduleStore(pg::Pool& pool) : pool_(pool) {}  // outlives it

  Result<WallTime> Now() override;
  Result<CreateAnswer> Create(const NewSchedule& schedule) override;
  Result<ScheduleRow> Get(const ProjectId& project, const std::string& name) override;
  Result<std::vector<ScheduleRow>> List(const ProjectId& project, const std::string& after_name, int limit) override;
  Result<ScheduleRow> Replace(const ScheduleRow& row, bool new_next_fire) override;
  Status Delete(const ProjectId& project, const std::string& name) override;
  Result<std::vector<FireRow>> Fires(const ScheduleId& id, int limit) override;
  Result<DueAnswer> Due(int max) override;
  Result<bool> Record(const Advance& advance) override;
  Status RecordTriggered(const ScheduleId& id, const SubjectId& run, const std::string& reason) override;

 private:
  pg::Pool& pool_;
};

}  // namespace acl::schedule
