#include "chaos/checkers/project_rows.h"

#include <functional>

#include "shared/journal/document.h"
#include "shared/journal/event.h"
#include "shared/postgres/connection.h"
#include "shared/postgres/statement.h"

namespace acl::chaos {
namespace {

using Kind = pg::Statement::Kind;

// All as text: `line` makes a line of a row.
struct Rows {
  const char* type;
  pg::Statement statement;
  std::function<Json(const pg::Rows& rows, int row)> line;
};

Json Stored(const std::string& text) {
  auto parsed = ParseJson(text, kStoredJson);
  return parsed ? std::move(*parsed) : Json();
}

const Rows kHeads{"project_head",
                  {"projects.heads", Kind::kRead, R"(
SELECT p.project_id::text, p.name, h.head_seq::text, encode(h.chain, 'hex') FROM projects p JOIN subject_head h ON h.subject_id = p.project_id
WHERE starts_with(p.name, $prefix::text) ORDER BY p.project_id)"},
                  [](const pg::Rows& rows, int row) {
                    return Json{{"project", rows.Text(row, 0)},
                                {"name", rows.Text(row, 1)},
                                {"head_seq", std::stoll(rows.Text(row, 2))},
                                {"chain", rows.Text(row, 3)}};
                  }};

const Rows kEvents{"project_event",
                   {"projects.events", Kind::kRead, R"(
SELECT p.project_id::text, e.seq::text, e.type, ((extract(epoch FROM e.at) * 1000000)::bigint)::text, encode(e.chain, 'hex'),
       payload_text(e.payload, e.apart, e.content_hash)
FROM projects p JOIN event_rows e ON e.subject_id = p.project_id WHERE starts_with(p.name, $prefix::text) ORDER BY p.project_id, e.seq)"},
                   [](const pg::Rows& rows, int row) {
                     Json facts = Stored(rows.IsNull(row, 5) ? "{}" : rows.Text(row, 5));
                     if (!facts.is_object()) facts = Json::object();  // it cannot be read: the journal's own checks say so
                     for (const auto& key : {kDeltaKey, kRootKey})
                       facts.erase(std::string(key));  // what happened, not what it did to the state
                     return Json{{"project", rows.Text(row, 0)}, {"seq", std::stoll(rows.Text(row, 1))},
                                 {"event", rows.Text(row, 2)},   {"at_us", std::stoll(rows.Text(row, 3))},
                                 {"chain", rows.Text(row, 4)},   {"facts", std::move(facts)}};
                   }};

const Rows kAnswers{"project_answer",
                    {"projects.answers", Kind::kRead, R"(
SELECT p.project_id::text, a.request_key, a.event_seq::text, a.answer FROM projects p JOIN command_answers a ON a.subject_id = p.project_id
WHERE starts_with(p.name, $prefix::text) ORDER BY p.project_id, a.request_key)"},
                    [](const pg::Rows& rows, int row) {
                      return Json{{"project", rows.Text(row, 0)},
                                  {"key", rows.Text(row, 1)},
                                  {"event_seq", std::stoll(rows.Text(row, 2))},
                                  {"answer", Stored(rows.Text(row, 3))}};
                    }};

const Rows kTasks{"project_task",
                  {"projects.tasks", Kind::kRead, R"(
SELECT p.project_id::text, t.task_id, t.title, t.status, coalesce(t.holder, '') FROM projects p JOIN project_tasks t ON t.project_id = p.project_id
WHERE starts_with(p.name, $prefix::text) ORDER BY p.project_id, t.task_id)"},
                  [](const pg::Rows& rows, int row) {
                    return Json{{"project", rows.Text(row, 0)},
                                {"task", rows.Text(row, 1)},
                                {"title", rows.Text(row, 2)},
                                {"status", rows.Text(row, 3)},
                                {"holder", rows.Text(row, 4)}};
                  }};

const pg::Statement kOpenClaims("projects.open_claims", Kind::kRead, R"(
SELECT (SELECT count(*) FROM projects p JOIN timers t ON t.subject_id = p.project_id WHERE starts_with(p.name, $prefix::text))
     + (SELECT count(*) FROM projects p JOIN inbox i ON i.subject_id = p.project_id WHERE starts_with(p.name, $prefix::text)))");

Result<std::unique_ptr<pg::Connection>> Open(const std::string& conninfo) {
  pg::ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "acl-invariants";
  settings.statement_timeout = std::chrono::minutes(5);  // whole tables are read
  return pg::Connection::Open(settings);
}

pg::Params ParamsOf(const std::string& name_prefix) {
  pg::Params params;
  params.Text("prefix", name_prefix);
  return params;
}

}  // namespace

Result<std::vector<Json>> ReadProjectRows(const std::string& conninfo, const std::string& name_prefix) {
  auto connection = Open(conninfo);
  if (!connection) return connection.error();
  if (Status begun = (*connection)->Begin(); !begun) return begun.error();
  if (auto set = (*connection)->RunScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"); !set) return set.error();
  std::vector<Json> lines;
  for (const Rows* what : {&kHeads, &kEvents, &kAnswers, &kTasks}) {
    auto rows = (*connection)->Run(what->statement, ParamsOf(name_prefix));
    if (!rows) return Error{rows.error().code, std::string(what->type) + ": " + rows.message()};
    for (int row = 0; row < rows->size(); ++row) {
      Json line = what->line(*rows, row);
      line["type"] = what->type;
      lines.push_back(std::move(line));
    }
  }
  (*connection)->Rollback();  // there is nothing to keep
  return lines;
}

Result<std::int64_t> CountOpenClaims(const std::string& conninfo, const std::string& name_prefix) {
  auto connection = Open(conninfo);
  if (!connection) return connection.error();
  auto rows = (*connection)->Run(kOpenClaims, ParamsOf(name_prefix));
  if (!rows) return rows.error();
  return rows->Int(0, 0);
}

}  // namespace acl::chaos
