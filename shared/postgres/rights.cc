#include "shared/postgres/rights.h"

#include "shared/postgres/connection.h"

namespace acl::pg {

namespace {

const Statement kRoles("rights.roles", Statement::Kind::kRead,
                       "SELECT count(*) FROM pg_roles WHERE rolname IN ('acl_owner', 'acl_service')");
const Statement kLogin("rights.login", Statement::Kind::kRead, R"(
SELECT current_user::text, pg_has_role(current_user, 'acl_service', 'MEMBER'), pg_has_role(current_user, 'acl_owner', 'MEMBER'))");
// What is written once may be added to and read, nothing else (docs/architecture.md#invariant-1).
const Statement kTooMuch("rights.too_much", Statement::Kind::kRead, R"(
SELECT p.name || ' on ' || t.name
FROM unnest(ARRAY['journal_rows', 'event_rows', 'attempt_rows', 'completion_rows', 'other_attempts', 'other_completions']) AS t(name), unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS p(name)
WHERE to_regclass('public.' || t.name) IS NOT NULL AND has_table_privilege('acl_service', 'public.' || t.name, p.name)
ORDER BY 1)");

}  // namespace

Result<Rights> ReadRights(const std::string& conninfo) {
  ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "airun";
  auto connection = Connection::Open(settings);
  if (!connection) return connection.error();
  auto roles = (*connection)->Run(kRoles);
  if (!roles) return roles.error();
  if (roles->Int(0, 0) != 2) return Error{Code::kInvalid, "the roles acl_owner and acl_service do not exist; run: airun db migrate"};
  auto login = (*connection)->Run(kLogin);
  if (!login) return login.error();
  Rights out{login->Text(0, 0), login->Bool(0, 1), login->Bool(0, 2), {}};
  auto too_much = (*connection)->Run(kTooMuch);
  if (!too_much) return too_much.error();
  for (int row = 0; row < too_much->size(); ++row) out.too_much.push_back(too_much->Text(row, 0));
  return out;
}

}  // namespace acl::pg
