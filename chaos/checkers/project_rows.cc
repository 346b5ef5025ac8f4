#include "chaos/checkers/project_rows.h"

#include "chaos/checkers/row_lines.h"
#include "shared/journal/document.h"

namespace acl::chaos {
namespace {

using Kind = pg::Statement::Kind;

Json Stored(const std::string& text) {
  auto parsed = ParseJson(text, kStoredJson);
  return parsed ? std::move(*parsed) : Json();
}

const RowLines kHeads{"project_head",
                      {"projects.heads", Kind::kRead, R"(
SELECT p.project_id::text, p.name, h.head_seq::text, encode(h.chain, 'hex') FROM projects p JOIN subject_head h ON h.subject_id = p.project_id
WHERE starts_with(p.name, $prefix::text) ORDER BY p.project_id)"},
                      [](const pg::Rows& rows, int row) {
                        return Json{{"project", rows.Text(row, 0)},
                                    {"name", rows.Text(row, 1)},
                                    {"head_seq", std::stoll(rows.Text(row, 2))},
                                    {"chain", rows.Text(row, 3)}};
                      }};

const RowLines kEvents{"project_event",
                       {"projects.events", Kind::kRead, R"(
SELECT p.project_id::text, e.seq::text, e.type, ((extract(epoch FROM e.at) * 1000000)::bigint)::text, encode(e.chain, 'hex'),
       payload_text(e.payload, e.offloaded, e.content_hash)
FROM projects p JOIN event_rows e ON e.subject_id = p.project_id WHERE starts_with(p.name, $prefix::text) ORDER BY p.project_id, e.seq)"},
                       [](const pg::Rows& rows, int row) {
                         return Json{{"project", rows.Text(row, 0)}, {"seq", std::stoll(rows.Text(row, 1))},
                                     {"event", rows.Text(row, 2)},   {"at_us", std::stoll(rows.Text(row, 3))},
                                     {"chain", rows.Text(row, 4)},   {"facts", FactsIn(rows, row, 5)}};
                       }};

const RowLines kAnswers{"project_answer",
                        {"projects.answers", Kind::kRead, R"(
SELECT p.project_id::text, a.request_key, a.event_seq::text, a.answer FROM projects p JOIN command_answers a ON a.subject_id = p.project_id
WHERE starts_with(p.name, $prefix::text) ORDER BY p.project_id, a.request_key)"},
                        [](const pg::Rows& rows, int row) {
                          return Json{{"project", rows.Text(row, 0)},
                                      {"key", rows.Text(row, 1)},
                                      {"event_seq", std::stoll(rows.Text(row, 2))},
                                      {"answer", Stored(rows.Text(row, 3))}};
                        }};

const RowLines kTasks{"project_task",
                      {"projects.tasks", Kind::kRead, R"(
SELECT p.project_id::text, t.task_id, t.title, t.status, coalesce(t.holder, '') FROM projects p JOIN tasks t ON t.project_id = p.project_id
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

}  // namespace

Result<std::vector<Json>> ReadProjectRows(const std::string& conninfo, const std::string& name_prefix) {
  return ReadRowLines(conninfo, name_prefix, {&kHeads, &kEvents, &kAnswers, &kTasks});
}

Result<std::int64_t> CountOpenClaims(const std::string& conninfo, const std::string& name_prefix) {
  return CountRows(conninfo, name_prefix, kOpenClaims);
}

}  // namespace acl::chaos
