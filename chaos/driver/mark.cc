#include "chaos/driver/mark.h"

#include "chaos/fleet/server.h"

namespace acl::chaos {
namespace {

constexpr const char* kComment =
    "SELECT coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE datname = current_database()";

}  // namespace

Status IsMarked(const std::string& conninfo) {
  const auto rows = Ask(conninfo, kComment);
  if (!rows) return rows.error();
  if (rows->front().front().find("acl:chaos") != std::string::npos) return {};
  return Error{Code::kDenied,
               "this fleet is not marked for chaos, so nothing is done to it. Its owner marks it with: airun chaos mark --yes"};
}

Status SetMark(const std::string& conninfo, bool marked) {
  const auto set =
      Ask(conninfo, std::string("DO $$ DECLARE v_comment text := replace((") + kComment +
                        "), 'acl:chaos', ''); BEGIN EXECUTE format('COMMENT ON DATABASE %I IS %L', current_database(), trim(v_comment " +
                        (marked ? "|| ' acl:chaos'" : "") + ")); END $$");
  return set ? Status() : Status(set.error());
}

}  // namespace acl::chaos
