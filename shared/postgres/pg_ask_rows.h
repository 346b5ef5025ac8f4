#pragma once
// AskRows on PostgreSQL (migrations/0012_ask.sql).

#include "shared/kernel/ask_rows.h"
#include "shared/postgres/pool.h"

namespace acl {

class PgAskRows final : public AskRows {
 public:
  explicit PgAskRows(pg::Pool& pool) : pool_(pool) {}  // outlives it

  Result<std::optional<SubjectId>> OpenSession(const ProjectId& project, const std::string& owner, const Json& binding) override;
  Result<std::vector<Json>> Sessions(const ProjectId& project, const std::string& before, int limit) override;
  Result<std::vector<Json>> Exchanges(const ProjectId& project, const SubjectId& session, const std::string& before, int limit) override;
  Result<Json> Exchange(const ProjectId& project, const std::string& exchange_id) override;
  Result<std::optional<std::string>> ExchangeOfKey(const ProjectId& project, const std::string& by, const std::string& key) override;
  Result<std::vector<Json>> Drift(const ProjectId& project, const std::string& status, int limit) override;
  Result<std::optional<Json>> OneDrift(const ProjectId& project, const std::string& id) override;
  Result<std::vector<SubjectId>> SessionsWithIntents(const ProjectId& project, int limit) override;
  Result<std::vector<Json>> Turns(const ProjectId& project, int limit) override;
  Result<std::vector<Json>> TurnsOf(const SubjectId& session, int limit) override;

 private:
  pg::Pool& pool_;
};

}  // namespace acl
