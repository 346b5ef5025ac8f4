#include "shared/postgres/chaos_mark.h"

#include "shared/base/fail_point.h"
#include "shared/postgres/connection.h"

namespace acl::pg {
namespace {

constexpr const char* kComment =
    "SELECT coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE datname = current_database()";

Result<Rows> Ask(const std::string& conninfo, const std::string& sql) {
  ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "acl-chaos-mark";
  auto connection = Connection::Open(settings);
  if (!connection) return connection.error();
  return (*connection)->RunScript(sql);
}

}  // namespace

Status IsMarkedForChaos(const std::string& conninfo) {
  const auto rows = Ask(conninfo, kComment);
  if (!rows) return rows.error();
  if (rows->Text(0, 0).find("acl:chaos") != std::string::npos) return {};
  return Error{Code::kDenied,
               "this fleet is not marked for chaos, so nothing is done to it. Its owner marks it with: airun chaos mark --yes"};
}

Status MarkForChaos(const std::string& conninfo, bool marked) {
  const auto set = Ask(conninfo, std::string("DO $$ DECLARE v_comment text := replace((") + kComment +
                                     "), 'acl:chaos', ''); BEGIN EXECUTE format('COMMENT ON DATABASE %I IS %L', current_database(), "
                                     "trim(v_comment " +
                                     (marked ? "|| ' acl:chaos'" : "") + ")); END $$");
  return set ? Status() : Status(set.error());
}

Status ArmFailPoints(const std::string& folder, const std::string& conninfo) {
  if (folder.empty()) return {};
  if (Status marked = IsMarkedForChaos(conninfo); !marked) return Error{marked.code(), "failpoints are set: " + marked.message()};
  fail_point::Arm(folder);
  return {};
}

}  // namespace acl::pg
