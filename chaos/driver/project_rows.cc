// The projects of the workload as the database holds them when all is over, as lines of the history (chaos/checkers/README.md, "Projects").
#include "chaos/driver/collect.h"
#include "chaos/fleet/server.h"
#include "chaos/load/agents.h"
#include "shared/journal/event.h"

namespace acl::chaos {
namespace {

constexpr milliseconds kLong{60'000};

std::string Mine(const std::string& label) { return "p.name LIKE '" + ProjectPrefix(label) + "%'"; }

Json ParsedOr(const std::string& text, Json otherwise) {
  auto parsed = ParseJson(text, kStoredJson);
  return parsed ? std::move(*parsed) : std::move(otherwise);
}

struct Rows {
  const char* what;
  std::string sql;
  std::function<Json(const std::vector<std::string>&)> line;
};

std::vector<Rows> All(const std::string& label) {
  const std::string mine = "JOIN projects p ON p.project_id = x.subject_id WHERE " + Mine(label);
  return {
      {"project_head", "SELECT x.subject_id, p.name, x.head_seq, encode(x.chain, 'hex') FROM subject_head x " + mine + " ORDER BY 1",
       [](const auto& row) {
         return Json{{"project", row[0]}, {"name", row[1]}, {"head_seq", std::stoll(row[2])}, {"chain", row[3]}};
       }},
      {"project_event",
       "SELECT x.subject_id, x.seq, x.type, (extract(epoch FROM x.at) * 1000000)::bigint, encode(x.chain, 'hex'), payload_text(x.payload, "
       "x.apart, x.content_hash) FROM event_rows x " +
           mine + " ORDER BY 1, 2",
       [](const auto& row) {
         Json facts = ParsedOr(row[5], Json::object());
         for (const auto& key : {kDeltaKey, kRootKey}) facts.erase(std::string(key));  // what happened, not what it did to the state
         return Json{{"project", row[0]},           {"seq", std::stoll(row[1])}, {"event", row[2]},
                     {"at_us", std::stoll(row[3])}, {"chain", row[4]},           {"facts", facts}};
       }},
      {"project_answer", "SELECT x.subject_id, x.request_key, x.event_seq, x.answer FROM command_answers x " + mine + " ORDER BY 1, 2",
       [](const auto& row) {
         return Json{{"project", row[0]}, {"key", row[1]}, {"event_seq", std::stoll(row[2])}, {"answer", ParsedOr(row[3], Json())}};
       }},
      {"project_task",
       "SELECT x.project_id, x.task_id, x.title, x.status, x.holder FROM project_tasks x JOIN projects p USING (project_id) WHERE " +
           Mine(label) + " ORDER BY 1, 2",
       [](const auto& row) {
         return Json{{"project", row[0]}, {"task", row[1]}, {"title", row[2]}, {"status", row[3]}, {"holder", row[4]}};
       }},
  };
}

}  // namespace

std::string OpenClaimsSql(const std::string& label) {
  const std::string mine = "JOIN projects p ON p.project_id = x.subject_id WHERE " + Mine(label);
  return "SELECT (SELECT count(*) FROM timers x " + mine + ") + (SELECT count(*) FROM inbox x " + mine + ")";
}

void WriteProjects(const CollectOptions& options, Recorder* history) {
  for (const Rows& rows : All(options.label)) {
    const auto found = Ask(options.conninfo, rows.sql, kLong);
    if (!found) {  // what could not be read is no proof of anything
      history->Write("checker", {{"id", rows.what},
                                 {"what", "could not be checked"},
                                 {"examined", 0},
                                 {"anomalies", 1},
                                 {"examples", Json::array({found.message()})}});
      continue;
    }
    for (const auto& row : *found) history->Write(rows.what, rows.line(row));
  }
}

}  // namespace acl::chaos
