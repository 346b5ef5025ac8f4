#include "chaos/driver/collect.h"

#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "chaos/checkers/invariants.h"
#include "chaos/checkers/project_rows.h"
#include "chaos/checkers/session_rows.h"
#include "chaos/driver/evidence.h"
#include "chaos/fleet/server.h"
#include "chaos/http/client.h"
#include "chaos/load/agents.h"
#include "chaos/load/sessions.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"

namespace acl::chaos {
namespace {

constexpr milliseconds kLong{60'000};

std::string Mine(const std::string& label) { return "labels::jsonb ->> 'chaos' = '" + label + "'"; }

void WriteChecker(Recorder* history, const std::string& id, const std::string& what, std::int64_t examined, std::int64_t anomalies,
                  const Json& examples = Json::array()) {
  history->Write("checker", {{"id", id}, {"what", what}, {"examined", examined}, {"anomalies", anomalies}, {"examples", examples}});
}

// A checker that could not be made is no checker that found nothing.
void WriteFailure(Recorder* history, const std::string& id, const Error& error) {
  WriteChecker(history, id, "could not be checked", 0, 1, Json::array({error.message}));
}

// i01 to i36: the database, and the history and the ledger against it.
void WriteInvariants(const CollectOptions& options, bool drained, const verify::Report& replay, Recorder* history) {
  auto lines = LoadHistory(history->file());
  if (!lines) return WriteFailure(history, "invariants", lines.error());
  auto evidence = EvidenceOf(*lines);
  auto ledger = LedgerOf(*lines);
  if (!evidence || !ledger) return WriteFailure(history, "invariants", evidence ? ledger.error() : evidence.error());
  InvariantOptions asked;
  asked.conninfo = options.conninfo;
  if (options.own_fleet) asked.role = "";  // as its owner: other users' sessions are seen too
  asked.history = std::move(*evidence);
  if (options.own_fleet) asked.ledger = std::move(*ledger);
  asked.replay = replay;
  asked.canaries = options.canaries;
  asked.drained = drained && options.own_fleet;
  asked.retry_budget = 1e6;  // the clients' own tries are this driver's, which asks until it is answered
  const auto report = CheckInvariants(asked);
  if (!report) return WriteFailure(history, "invariants", report.error());
  for (const InvariantResult& one : report->results) {
    if (!one.asked) {
      history->Write("not_asked", {{"id", one.id}, {"what", one.what}, {"why", one.not_asked}});
      continue;
    }
    Json examples = Json::array();
    for (const Anomaly& anomaly : one.anomalies) {
      if (examples.size() < 5) examples.push_back(anomaly.key + ": " + anomaly.why);
    }
    WriteChecker(history, one.id, one.what, one.examined, one.found, examples);
  }
}

void WriteRows(const char* what, Result<std::vector<Json>> lines, Recorder* history) {
  if (!lines) return WriteFailure(history, what, lines.error());
  for (Json& line : *lines) {
    const std::string type = line["type"];
    line.erase("type");
    history->Write(type, std::move(line));
  }
}

}  // namespace

// Those that go on as another run have ended before that one is made: what they ask for is counted while it waits in the outbox.
std::string OpenRunsSql(const std::string& label) {
  return "SELECT (SELECT count(*) FROM workflows WHERE status NOT IN ('COMPLETED', 'FAILED', 'ROLLED_BACK') AND " + Mine(label) +
         ") + (SELECT count(*) FROM outbox o JOIN workflows w ON w.id = o.subject_id WHERE o.topic LIKE 'create/%' AND " + Mine(label) +
         ")";
}

void WriteFinals(const CollectOptions& options, Recorder* history) {
  const auto rows = Ask(options.conninfo,
                        "SELECT id, status, labels::jsonb ->> 'chaos_key', labels::jsonb ->> 'chaos_kind' FROM workflows WHERE " +
                            Mine(options.label) + " ORDER BY id",
                        kLong);
  if (!rows) return WriteFailure(history, "final", rows.error());
  for (const auto& row : *rows) history->Write("final", {{"run", row[0]}, {"status", row[1]}, {"key", row[2]}, {"kind", row[3]}});
}

void WriteProjects(const CollectOptions& options, Recorder* history) {
  WriteRows("projects", ReadProjectRows(options.conninfo, ProjectPrefix(options.label)), history);
}

void WriteSessions(const CollectOptions& options, Recorder* history) {
  WriteRows("sessions of agents", ReadSessionRows(options.conninfo, AgentPrefix(options.label)), history);
}

void WriteEffects(const EffectsServer& effects, Recorder* history) {
  for (const LedgerEntry& entry : effects.Entries()) {
    history->Write("effect", {{"at", entry.at_ns},
                              {"run", entry.call.run},
                              {"step", entry.call.step},
                              {"key", entry.call.key},
                              {"token", entry.call.token},
                              {"scope", entry.call.scope},
                              {"body", entry.call.body},
                              {"signature", entry.call.signature},
                              {"verdict", VerdictName(entry.verdict)}});
  }
}

void WriteGrants(const CollectOptions& options, Recorder* history) {
  // A reap raises the token and so does a grant: a gap of two or more is a takeover.
  const auto rows =
      Ask(options.conninfo,
          "SELECT s.pid, (extract(epoch FROM g.granted_at - s.heartbeat_at) * 1000)::bigint, (extract(epoch FROM g.granted_at) * "
          "1000000)::bigint FROM ("
          "SELECT subject_id, token, granted_at, lag(token) OVER w AS before, lag(session_id) OVER w AS owner FROM lease_history "
          "WINDOW w AS (PARTITION BY subject_id ORDER BY token)) g JOIN worker_sessions s ON s.session_id = g.owner "
          "WHERE g.token - g.before >= 2 AND s.dead_at IS NOT NULL AND s.dead_at >= s.expires_at ORDER BY 2",
          kLong);
  const auto granted = Ask(options.conninfo, "SELECT count(*), count(DISTINCT session_id) FROM lease_history", kLong);
  if (!rows || !granted) return WriteFailure(history, "grants", rows ? granted.error() : rows.error());
  int stolen = 0;
  for (const auto& row : *rows) {
    const auto ended = options.ended.find(pid_t(std::stol(row[0])));
    stolen += ended != options.ended.end() && ended->second < WallTimeFromMicros(std::stoll(row[2])) ? 0 : 1;
  }
  const auto at = [&](double share) {
    return rows->empty() ? 0 : std::stoll((*rows)[std::min(rows->size() - 1, std::size_t(share * double(rows->size())))][1]);
  };
  history->Write("grants", {{"granted", std::stoll(granted->front()[0])},
                            {"to_sessions", std::stoll(granted->front()[1])},
                            {"taken_over", rows->size()},
                            {"stolen_from_the_living", stolen},
                            {"takeover_ms_median", at(0.5)},
                            {"takeover_ms_p99", at(0.99)},
                            {"takeover_ms_longest", at(1)}});
}

void WriteCheckers(const CollectOptions& options, const Status& drained,
                   const std::function<Result<verify::Report>(const std::string&)>& verify, Recorder* history) {
  WriteChecker(history, "drained", "every run ended and every client was answered after the faults", 1, drained ? 0 : 1,
               drained ? Json::array() : Json::array({drained.message()}));
  if (!verify) return;
  const auto report = verify(options.conninfo);
  if (!report) return WriteFailure(history, "verify", report.error());
  std::map<std::string, Json> examples;
  std::map<std::string, std::int64_t> anomalies;
  for (const auto& one : report->violations) {
    ++anomalies[one.check];
    if (examples[one.check].size() < 5)
      examples[one.check].push_back(one.table + " " + one.key + ": expected " + one.expected + ", found " + one.found);
  }
  for (const auto& [check, count] : report->checked)
    WriteChecker(history, "verify " + check, "airun verify", count, anomalies[check],
                 examples.contains(check) ? examples[check] : Json::array());
  WriteInvariants(options, drained.ok(), *report, history);
}

Json ServerFacts(const std::string& conninfo) {
  Json facts = Json::object();
  const auto rows =
      Ask(conninfo,
          "SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', "
          "'synchronous_standby_names', 'max_connections') ORDER BY name");
  for (std::size_t i = 0; rows && i < rows->size(); ++i) facts[(*rows)[i][0]] = (*rows)[i][1];
  return facts;
}

Json ProgramFacts(const std::filesystem::path& folder) {
  Json facts = Json::object();
  for (const char* name : {"acl-coordinator", "acl-worker"}) {
    std::ifstream in(folder / name, std::ios::binary);
    Sha256Stream hash;
    std::string piece(1 << 20, '\0');
    while (in.read(piece.data(), std::streamsize(piece.size())) || in.gcount() > 0)
      hash.Add(std::string_view(piece).substr(0, std::size_t(in.gcount())));
    std::string hex;
    for (const auto byte : hash.Finish()) hex += fmt::format("{:02x}", byte);
    facts[name] = "sha256 " + hex;
  }
  return facts;
}

Status SameFleet(const std::string& api_url, const std::string& api_key, const std::string& conninfo) {
  const std::string key = "chaos-probe-" + NewUuid7().ToString();
  HttpAsk ask{
      "POST", api_url + "/v1/workflows", "", {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, milliseconds(10'000)};
  if (!api_key.empty()) ask.headers["Authorization"] = "Bearer " + api_key;
  ask.body =
      DumpJson({{"workflow", "name: chaos-probe\nsteps:\n  - {name: a, capability: test.echo}\n"}, {"labels", {{"chaos", "probe"}}}});
  const HttpAnswer answer = Http(ask);
  const Json body = answer.json();
  if (!answer.ok() || !body.is_object())
    return Error{Code::kUnavailable, api_url + " takes no run: " + std::to_string(answer.status) + " " + answer.error + answer.body};
  const std::string id = body.value("id", "");
  const auto rows = Ask(conninfo, "SELECT count(*) FROM workflows WHERE id = '" + id + "'");
  if (!rows) return rows.error();
  if (rows->front().front() != "1")
    return Error{Code::kConflict, "the fleet at " + api_url + " does not write to the database that was named"};
  return {};
}

}  // namespace acl::chaos
