// Who may execute what runs with its owner's rights. PostgreSQL lets everybody execute a new function, so each such function needs a line
// here.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/test_database.h"

namespace acl {
namespace {

class GrantsTest : public test::DatabaseTest {};

// Trigger functions cannot be called at all, but are listed too: one kind of rule.
const std::map<std::string, std::set<std::string>> kDefiners{
    {"remove_contents", {"acl_owner"}},
    {"new_epoch", {"acl_owner"}},
    {"collect_contents", {"acl_owner", "acl_service"}},
    {"release_chunks", {"acl_owner"}},
    {"drop_segments", {"acl_owner", "acl_service"}},
};

TEST_F(GrantsTest, WhatRunsWithItsOwnersRightsIsExecutedByThoseWhoNeedIt) {
  std::map<std::string, std::set<std::string>> found;
  const auto rows = db().Query(R"(
SELECT p.proname, coalesce(r.rolname, 'PUBLIC')
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.prosecdef AND g.privilege_type = 'EXECUTE')");
  for (const auto& row : rows) found[*row[0]].insert(*row[1]);
  EXPECT_EQ(found, kDefiners);
}

TEST_F(GrantsTest, TheyFindTheirTablesInOnePlaceOnly) {
  // Without a search path of its own such a function could be led to a caller's tables.
  EXPECT_EQ(db().Count(R"(
SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.prosecdef
  AND NOT coalesce(p.proconfig @> ARRAY['search_path=public, pg_temp'], false))"),
            0);
}

TEST_F(GrantsTest, NobodyElseReachesATable) {
  EXPECT_EQ(db().Count(R"(
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) g
LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE n.nspname = 'public' AND coalesce(r.rolname, 'PUBLIC') NOT IN ('acl_owner', 'acl_service') AND g.grantee <> c.relowner
  -- which migrations were applied: a program asks before it knows its rights
  AND NOT (c.relname IN ('schema_migrations', 'migration_checksums', 'schema_objects') AND g.privilege_type = 'SELECT'))"),
            0);
}

}  // namespace
}  // namespace acl
