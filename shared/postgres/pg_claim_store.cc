// Claim: one round trip; the function raises the token first and reads in later statements (migrations/0007_claim.sql).
#include "shared/postgres/claim_rows.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Statement;

const Statement kClaim("claim", Statement::Kind::kWrite,
                       "SELECT part, subject, n1, n2, n3, n4, u1, u2, t1, t2, b1, b2, b3, at1 FROM "
                       "claim_subjects($session::uuid, $queues::text[], $max::int, $version::int, $kinds::text[])",
                       true);

}  // namespace

Result<ClaimAnswer> PgStore::Claim(const ClaimRequest& request) {
  if (request.max <= 0) return Error{Code::kInvalid, "claim: max must be at least 1"};
  pg::Array queues(pg::Oid::kText), kinds(pg::Oid::kText);
  for (const std::string& queue : request.queues) queues.Text(queue);
  for (const std::string& kind : request.kinds) kinds.Text(kind);
  pg::Params params;
  params.Id("session", request.session).List("queues", queues).Int32("max", request.max).Int32("version", request.known_version);
  params.List("kinds", kinds);
  auto rows = pg::RunOne(*pool_, kClaim, params);
  if (!rows) return rows.error();
  return pg::Decoded<ClaimAnswer>("claim", [&] { return pg::DecodeClaim(*rows); });
}

}  // namespace acl
