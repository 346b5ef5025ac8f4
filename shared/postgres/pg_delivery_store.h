#pragma once
// DeliveryStore on PostgreSQL (migrations/0011_approvals_and_deliveries.sql).

#include "shared/delivery/store.h"
#include "shared/postgres/pool.h"

namespace acl::delivery {

class PgDeliveryStore final : public DeliveryStore {
 public:
  explicit PgDeliveryStore(pg::Pool& pool) : pool_(pool) {}  // outlives it

  Result<ClaimAnswer> Claim(const ClaimRequest& request) override;
  Result<bool> Record(const Outcome& outcome) override;
  Result<std::vector<Delivery>> List(const ProjectId& project, std::optional<State> state, std::int64_t before, int limit) override;
  Result<Delivery> Get(const ProjectId& project, const std::string& message_id) override;
  Result<std::vector<Attempt>> Attempts(const std::string& message_id) override;
  Result<Delivery> Retry(const ProjectId& project, const std::string& message_id) override;
  Result<Delivery> Discard(const ProjectId& project, const std::string& message_id) override;
  Result<int> Prune(milliseconds older_than, int max) override;

 private:
  pg::Pool& pool_;
};

}  // namespace acl::delivery
