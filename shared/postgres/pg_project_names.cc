#include "shared/postgres/pg_project_names.h"

#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

#define ACL_PROJECT_ROW                                                                                                                   \
  "p.project_id, p.name, p.created_at, EXISTS (SELECT FROM subjects s WHERE s.subject_id = p.project_id AND s.kind = 'project') AND NOT " \
  "unfinished_import(p.project_id)"
// Whoever reserves the same name at the same moment waits here for the other, and a later statement sees it.
const Statement kReserveName("projects.reserve", Statement::Kind::kWrite,
                             "INSERT INTO projects (project_id, name) VALUES ($id::uuid, $name::text) ON CONFLICT (name) DO NOTHING");
const Statement kProjectByName("projects.by_name", Statement::Kind::kRead,
                               "SELECT " ACL_PROJECT_ROW " FROM projects p WHERE p.name = $name::text");
const Statement kProjectById("projects.by_id", Statement::Kind::kRead,
                             "SELECT " ACL_PROJECT_ROW " FROM projects p WHERE p.project_id = $id::uuid");
const Statement kListProjects("projects.list", Statement::Kind::kRead, R"(
SELECT p.project_id, p.name, p.created_at, true FROM projects p JOIN subjects s ON s.subject_id = p.project_id AND s.kind = 'project'
WHERE p.name > $after::text COLLATE "C" AND NOT unfinished_import(p.project_id) ORDER BY p.name COLLATE "C" LIMIT $max::int)");
#undef ACL_PROJECT_ROW

ProjectName NameOfRow(const pg::Rows& rows, int i) { return {ProjectId{rows.Id(i, 0)}, rows.Text(i, 1), rows.Time(i, 2), rows.Bool(i, 3)}; }

Result<std::optional<ProjectName>> OneName(pg::Pool& pool, const Statement& statement, const Params& params) {
  auto rows = pg::RunOne(pool, statement, params);
  if (!rows) return rows.error();
  return pg::Decoded<std::optional<ProjectName>>("projects",
                                                 [&] { return rows->size() == 0 ? std::nullopt : std::optional(NameOfRow(*rows, 0)); });
}

}  // namespace

Result<ProjectName> PgProjectNames::Reserve(const std::string& name, const ProjectId& id) {
  Params mine;
  if (auto rows = pg::RunOne(pool_, kReserveName, mine.Id("id", id.uuid).Text("name", name)); !rows) return rows.error();
  Params by_name;
  auto found = OneName(pool_, kProjectByName, by_name.Text("name", name));
  if (!found) return found.error();
  if (!*found) return Error{Code::kUnavailable, "projects: the name was reserved and is gone: try again"};
  return std::move(**found);
}

Result<ProjectName> PgProjectNames::Find(const std::string& id_or_name) {
  Params params;
  const auto id = ProjectId::Parse(id_or_name);
  auto found =
      id ? OneName(pool_, kProjectById, params.Id("id", id->uuid)) : OneName(pool_, kProjectByName, params.Text("name", id_or_name));
  if (!found) return found.error();
  if (!*found || !(*found)->made) return Error{Code::kNotFound, "there is no project \"" + id_or_name + "\""};
  return std::move(**found);
}

Result<std::vector<ProjectName>> PgProjectNames::List(const std::string& after, int max) {
  Params params;
  auto rows = pg::RunOne(pool_, kListProjects, params.Text("after", after).Int32("max", max));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<ProjectName>>("projects.list", [&] {
    std::vector<ProjectName> names;
    for (int i = 0; i < rows->size(); ++i) names.push_back(NameOfRow(*rows, i));
    return names;
  });
}

}  // namespace acl
