#include "chaos/checkers/invariants.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/checkers/question.h"
#include "shared/postgres/connection.h"

namespace acl::chaos {
namespace {

// What the questions read: an event and what joined it (`also`) as rows of `fact`, where the events of a subject begin whose oldest
// journals were dropped as `kept`, the history as `hist`, the receiver's ledger as `ledger`.
constexpr const char* kTables = R"(
WITH raw AS (
  SELECT e.subject_id, e.seq, e.token, e.type, e.at, payload_text(e.payload, e.offloaded, e.content_hash)::json AS p FROM event_rows e),
fact AS MATERIALIZED (
  SELECT r.subject_id, r.seq, r.token, r.type, r.at, r.p ->> 'step_id' AS step, coalesce(r.p ->> 'attempt', r.p ->> 'attempt_id')::int AS attempt, r.p FROM raw r
  UNION ALL
  SELECT r.subject_id, r.seq, r.token, j.x ->> 'type', r.at, j.x ->> 'step_id', coalesce(j.x ->> 'attempt', j.x ->> 'attempt_id')::int, j.x
  FROM raw r CROSS JOIN LATERAL json_array_elements(CASE WHEN json_typeof(r.p -> 'also') = 'array' THEN r.p -> 'also' ELSE '[]' END) j(x)),
kept AS MATERIALIZED (SELECT g.subject_id, max(g.first_seq) AS first FROM journal_segments g WHERE g.dropped_at IS NOT NULL GROUP BY g.subject_id),
unreadable AS MATERIALIZED (SELECT f.subject_id FROM fact f WHERE f.p IS NULL UNION SELECT k.subject_id FROM kept k),
hist AS MATERIALIZED (
  SELECT h.*, CASE WHEN h.run ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN h.run::uuid END AS run_id FROM json_to_recordset($hist::json) AS h(op text, process text, f text, outcome text, phase text, run text, status text, key text,
    request_hash text, response_hash text, mark text, project text, saw json, target text, try int, at_ms bigint)),
ledger AS MATERIALIZED (
  SELECT * FROM json_to_recordset($ledger::json) AS e(n bigint, key text, run text, scope text, step text, token bigint, payload_hash text, outcome text)),
given AS (SELECT $drained::boolean, $canaries::text[], $history_text::text, $ledger_text::text, $key_prefix::text, $min_ok::bigint, $retry_permille::bigint),
looked AS MATERIALIZED (SELECT q.key, q.why FROM ()";

// What the project has not, or where another holds it.
struct NotAsked {
  const char *id, *what, *why;
};
constexpr NotAsked kNotAsked[] = {
    {"i22", "the queue's offset is never ahead of the database",
     "offsets are no evidence here: a message names a ready row, which only its claim deletes"},
    {"i30", "messages of a run are in its order", "messages are hints: any order, and none at all, must do"},
    {"i33", "the audit log is whole", "there is no audit table yet"},
};

std::string Wrap(const std::string& query) {
  return kTables + query +
         fmt::format(R"() AS q(key, why))
SELECT 0, (SELECT count(*) FROM looked)::text, (SELECT count(why) FROM looked)::text
UNION ALL (SELECT 1, l.key, l.why FROM looked l WHERE l.why IS NOT NULL ORDER BY l.key LIMIT {}) ORDER BY 1)",
                     InvariantResult::kKeptAnomalies);
}

// A secret also as what writes it would make of it.
std::vector<std::string> Spellings(const std::string& canary) {
  std::string hex;
  for (unsigned char c : canary) hex += fmt::format("{:02x}", c);
  std::string quoted = Json(canary).dump();
  std::vector<std::string> all = {canary, quoted.substr(1, quoted.size() - 2), hex};
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

pg::Params ParamsOf(const InvariantOptions& options) {
  pg::Array canaries(pg::Oid::kText);
  for (const std::string& canary : options.canaries) {
    for (const std::string& spelling : Spellings(canary)) canaries.Text(spelling);
  }
  pg::Params params;
  params.Text("hist", options.history ? DumpJson(options.history->operations) : "[]");
  params.Text("ledger", options.ledger ? DumpJson(options.ledger->effects) : "[]");
  params.Text("history_text", options.history ? options.history->text : "");
  params.Text("ledger_text", options.ledger ? options.ledger->text : "");
  params.Text("key_prefix", options.history ? options.history->key_prefix : "");
  params.Bool("drained", options.drained);
  params.Int64("min_ok", options.min_ok_during_faults);
  params.Int64("retry_permille", std::int64_t(options.retry_budget * 1000));
  params.List("canaries", canaries);
  return params;
}

std::string UnsupportedReason(const Question& question, const InvariantOptions& options) {
  switch (question.needs) {
    case Question::Needs::kHistory: return options.history ? "" : "needs a history";
    case Question::Needs::kLedger: return options.ledger ? "" : "needs the ledger of a receiver of effects";
    case Question::Needs::kCanaries: return options.canaries.empty() ? "needs a secret to look for" : "";
    case Question::Needs::kDrained: return options.drained ? "" : "only after a drain";
    case Question::Needs::kDatabase: break;
  }
  return "";
}

Status Ask(pg::Connection& connection, const Question& question, const pg::Params& params, InvariantResult& result) {
  auto rows = connection.Run(question.statement, params);
  if (!rows) return Error{rows.error().code, fmt::format("{}: {}", question.id, rows.message())};
  result.asked = true;
  result.examined = std::stoll(rows->Text(0, 1));
  result.found = std::stoll(rows->Text(0, 2));
  for (int i = 1; i < rows->size(); ++i) result.anomalies.push_back({rows->Text(i, 1), rows->Text(i, 2)});
  return {};
}

// Replay is C++'s: `airun verify` folds every journal and compares (shared/verify).
InvariantResult Replayed(const char* id, const char* what, const std::optional<verify::Report>& replay,
                         std::initializer_list<std::string_view> checks) {
  InvariantResult result{id, what, replay.has_value(), replay ? "" : "needs the replay of airun verify --all", 0, 0, {}};
  if (!replay) return result;
  auto ours = [&](const std::string& check) {
    return std::any_of(checks.begin(), checks.end(), [&](std::string_view one) { return check.starts_with(one); });
  };
  for (const auto& [check, times] : replay->checked) {
    if (ours(check)) result.examined += times;
  }
  for (const verify::Violation& violation : replay->violations) {
    if (!ours(violation.check)) continue;
    if (++result.found <= InvariantResult::kKeptAnomalies) {
      result.anomalies.push_back({violation.table + " " + violation.key, fmt::format("{}: {}", violation.check, violation.found)});
    }
  }
  return result;
}

}  // namespace

void InvariantResult::Examine(bool holds, const std::string& key, const std::string& why) {
  ++examined;
  if (holds) return;
  if (++found <= kKeptAnomalies) anomalies.push_back({key, why});
}

Question::Question(const char* name, const char* meaning, Needs needed, const std::string& query)
    : id(name),
      what(meaning),
      needs(needed),
      statement((std::string("invariant.") + name).c_str(), pg::Statement::Kind::kRead, Wrap(query)) {}

bool InvariantReport::clean() const {
  return std::all_of(results.begin(), results.end(), [](const InvariantResult& one) { return one.found == 0; });
}

const InvariantResult* InvariantReport::Find(std::string_view id) const {
  auto found = std::find_if(results.begin(), results.end(), [&](const InvariantResult& one) { return one.id == id; });
  return found == results.end() ? nullptr : &*found;
}

Result<InvariantReport> CheckInvariants(const InvariantOptions& options) {
  pg::ConnectionSettings settings;
  settings.conninfo = options.conninfo;
  settings.application_name = "acl-invariants";
  settings.role = options.role;
  settings.statement_timeout = std::chrono::hours(1);  // whole tables are read
  auto connection = pg::Connection::Open(settings);
  if (!connection) return connection.error();
  if (Status begun = (*connection)->Begin(); !begun) return begun.error();
  // Nothing is known of the size of what a WITH holds: a nested loop over two of them would be quadratic.
  for (const char* mode : {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET LOCAL enable_nestloop = off"}) {
    if (auto set = (*connection)->RunScript(mode); !set) return set.error();
  }
  const pg::Params params = ParamsOf(options);
  InvariantReport report;
  for (const auto& questions : {JournalQuestions(), HistoryQuestions(), StateQuestions()}) {
    for (const Question* question : questions) {
      InvariantResult result{question->id, question->what, false, UnsupportedReason(*question, options), 0, 0, {}};
      if (result.not_asked.empty()) {
        if (Status asked = Ask(**connection, *question, params, result); !asked) return asked.error();
      }
      report.results.push_back(std::move(result));
    }
  }
  (*connection)->Rollback();  // there is nothing to keep
  report.results.push_back(Replayed("i25", "snapshot, head and every replay of a journal give the same state", options.replay,
                                    {"state.root", "state.delta", "snapshot.", "head.state_root"}));
  report.results.push_back(Replayed("i26", "what a kind makes of its state agrees with its rows", options.replay,
                                    {"state.kind", "listing.status", "completion.result", "content.referred"}));
  for (const NotAsked& one : kNotAsked) report.results.push_back({one.id, one.what, false, one.why, 0, 0, {}});
  std::sort(report.results.begin(), report.results.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return report;
}

Json ToJson(const InvariantReport& report) {
  Json json = {{"clean", report.clean()}, {"invariants", Json::array()}};
  for (const InvariantResult& one : report.results) {
    Json line = {{"id", one.id}, {"what", one.what}};
    if (!one.asked) {
      line["not_asked"] = one.not_asked;
    } else {
      line.update(Json{{"examined", one.examined}, {"anomalies_found", one.found}, {"anomalies", Json::array()}});
      for (const Anomaly& anomaly : one.anomalies) line["anomalies"].push_back({{"key", anomaly.key}, {"why", anomaly.why}});
    }
    json["invariants"].push_back(std::move(line));
  }
  return json;
}

std::string ToText(const InvariantReport& report) {
  std::string text, anomalies;
  for (const InvariantResult& one : report.results) {
    std::string found = one.asked ? fmt::format("{} of {}", one.found, one.examined) : "not asked: " + one.not_asked;
    if (one.asked && one.examined == 0) found = "nothing to look at: proves nothing";
    text += fmt::format("{}  {:<76} {}\n", one.id, one.what, found);
    for (const Anomaly& anomaly : one.anomalies) anomalies += fmt::format("\n{} {}\n  {}\n", one.id, anomaly.key, anomaly.why);
    if (one.found > std::int64_t(one.anomalies.size())) anomalies += fmt::format("\n{} ... of {}\n", one.id, one.found);
  }
  return text + anomalies;
}

}  // namespace acl::chaos
