#include "chaos/report/report.h"

#include <algorithm>
#include <map>
#include <set>

#include "chaos/checkers/sessions.h"
#include "chaos/faults/fault.h"
#include "chaos/history/checks.h"

namespace acl::chaos {
namespace {

std::string Text(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it == line.end() ? "" : it->is_string() ? it->get<std::string>() : DumpJson(*it);
}

Json ToJson(const Finding& finding) {
  return {{"id", finding.id},
          {"what", finding.what},
          {"examined", finding.examined},
          {"anomalies", finding.anomalies},
          {"examples", finding.examples}};
}

struct FaultRow {
  std::string number, kind;
  int injected = 0, observed = 0, well = 0;
  double seconds = 0, slowest_recovery_s = 0;
  Json facts = Json::array();
};

// From the end of the fault to the first submission that was asked after it and answered.
double RecoverySeconds(const std::vector<Json>& lines, std::int64_t healed_at) {
  std::set<std::int64_t> asked;
  for (const Json& line : lines) {
    const std::int64_t at = line["t"];
    if (at < healed_at) continue;
    if (line["type"] == "invoke" && line["f"] == "submit") asked.insert(line["op"].get<std::int64_t>());
    if (line["type"] == "ok" && line["f"] == "submit" && asked.contains(line["op"])) return double(at - healed_at) / 1e9;
  }
  return -1;
}

Json Faults(const std::vector<Json>& lines) {
  std::map<std::string, FaultRow> rows;
  std::map<std::int64_t, std::int64_t> began;
  std::vector<std::string> order;
  for (const Json& line : lines) {
    if (line["type"] != "fault") continue;
    const std::string kind = Text(line, "kind"), event = Text(line, "event");
    if (!rows.contains(kind)) order.push_back(kind);
    FaultRow& row = rows[kind];
    row.kind = kind;
    row.number = Text(line, "number");
    const std::int64_t at = line["t"];
    if (event == "inject") ++row.injected, began[line["n"]] = at;
    if (event == "observed") ++row.observed;
    if (event == "healed") {
      row.seconds += double(at - began[line["n"]]) / 1e9;
      row.slowest_recovery_s = std::max(row.slowest_recovery_s, RecoverySeconds(lines, at));
    }
    if (event == "well") {
      ++row.well;
      row.facts.push_back(line.value("facts", Json::object()));
    }
  }
  Json all = Json::array();
  for (const auto& kind : order) {
    const FaultRow& row = rows[kind];
    const FaultKind* known = FindFaultKind(kind);
    all.push_back({{"number", row.number},
                   {"kind", row.kind},
                   {"what", known == nullptr ? "" : known->what},
                   {"injected", row.injected},
                   {"observed", row.observed},
                   {"healed", row.well},
                   {"seconds", row.seconds},
                   {"slowest_recovery_s", row.slowest_recovery_s},
                   {"facts", row.facts}});
  }
  return all;
}

Json Operations(const std::vector<Json>& lines) {
  std::int64_t first = 0, last = 0;
  for (const Json& line : lines) {
    if (line["type"] != "fault") continue;
    if (first == 0) first = line["t"];
    last = line["t"];
  }
  std::map<std::string, Json> by;
  for (const Json& line : lines) {
    const std::string outcome = Text(line, "type");
    if (outcome != "ok" && outcome != "fail" && outcome != "info") continue;
    Json& row = by[Text(line, "f")];
    if (row.is_null()) row = {{"ok", 0}, {"fail", 0}, {"info", 0}, {"during_faults", 0}};
    row[outcome] = row[outcome].get<int>() + 1;
    const std::int64_t at = line["t"];
    if (at >= first && at <= last) row["during_faults"] = row["during_faults"].get<int>() + 1;
  }
  Json all = Json::object();
  for (auto& [f, row] : by) all[f] = std::move(row);
  return all;
}

Json Effects(const std::vector<Json>& lines) {
  Json counts = {{"applied", 0}, {"replayed", 0}, {"stale", 0}, {"reused", 0}, {"unfenced", 0}};
  for (const Json& line : lines) {
    if (line["type"] == "effect") counts[Text(line, "verdict")] = counts.value(Text(line, "verdict"), 0) + 1;
  }
  return counts;
}

const Json* Find(const std::vector<Json>& lines, const char* type) {
  for (const Json& line : lines) {
    if (line["type"] == type) return &line;
  }
  return nullptr;
}

const std::vector<std::string> kNotClaimed = {
    "Nothing about bit rot, a PostgreSQL that lies about its disk, or machines that act against the protocol.",
    "A tool that takes no idempotency key is called at least once: the engine asks a person (UNCERTAIN) rather than guess.",
    "With asynchronous replication a failover may lose the last acknowledged commits; this run had no standby.",
    "Faults were those listed, on one machine, in the order of this seed; the same seed gives the same schedule, not the same "
    "interleaving.",
};

}  // namespace

Report MakeReport(const std::vector<Json>& lines, const std::string& history) {
  Report report;
  Json& json = report.json;
  const auto findings = CheckHistory(lines);
  const auto invalid = WhyInvalid(lines);
  bool anomalies = false;
  Json checkers = Json::array(), skipped = Json::array(), not_asked = Json::array();
  for (const auto& finding : findings) {
    anomalies = anomalies || finding.anomalies > 0;
    checkers.push_back(ToJson(finding));
  }
  for (const Json& line : lines) {
    if (line["type"] == "skipped") skipped.push_back({{"number", line["number"]}, {"kind", line["kind"]}, {"why", line["why"]}});
    if (line["type"] == "not_asked") not_asked.push_back({{"id", line["id"]}, {"what", line["what"]}, {"why", line["why"]}});
    if (line["type"] != "checker") continue;
    anomalies = anomalies || line.value("anomalies", 0) > 0;
    checkers.push_back({{"id", line["id"]},
                        {"what", line["what"]},
                        {"examined", line["examined"]},
                        {"anomalies", line["anomalies"]},
                        {"examples", line.value("examples", Json::array())}});
  }
  report.outcome = anomalies ? Outcome::kFailed : invalid.empty() ? Outcome::kPassed : Outcome::kInvalid;
  json["verdict"] = anomalies ? "failed" : invalid.empty() ? "passed" : "invalid";
  json["why_invalid"] = invalid;
  Json run = lines.front();
  run.erase("type");
  run.erase("t");
  json["run"] = std::move(run);
  json["seconds"] = double(lines.back()["t"].get<std::int64_t>() - lines.front()["t"].get<std::int64_t>()) / 1e9;
  json["faults"] = Faults(lines);
  json["not_done"] = skipped;
  json["operations"] = Operations(lines);
  const Json* grants = Find(lines, "grants");
  const Json* metrics = Find(lines, "metrics");
  Json leases = grants == nullptr ? Json::object() : *grants;
  leases.erase("type");
  leases.erase("t");
  json["leases"] = std::move(leases);
  const auto counted = [&](const char* field) { return metrics == nullptr ? 0.0 : metrics->value(field, 0.0); };
  json["stale_commits_refused"] = counted("fence_refusals");
  json["commits"] = {{"committed", counted("commits_committed")},
                     {"unknown_and_read_back", counted("commits_unknown")},
                     {"fenced", counted("commits_fenced")}};
  json["effects"] = Effects(lines);
  if (const Json* run_line = Find(lines, "run"); run_line != nullptr && run_line->value("sessions", 0) > 0) {
    const SessionFigures figures = FiguresOfSessions(lines);
    json["agents"] = {{"sessions", figures.sessions},
                      {"moves", figures.moves},
                      {"turns", figures.turns},
                      {"turns_per_second", figures.turns_per_second},
                      {"stimuli", figures.stimuli},
                      {"heard_ms_median", figures.heard_ms_median},
                      {"heard_ms_p99", figures.heard_ms_p99},
                      {"actions", figures.actions},
                      {"actions_uncertain", figures.uncertain},
                      {"actions_approved", figures.approved},
                      {"attempts_lost", figures.attempts_lost}};
  }
  json["checkers"] = std::move(checkers);
  json["not_asked"] = std::move(not_asked);
  json["not_claimed"] = kNotClaimed;
  json["history"] = history;
  json["check_again"] = "airun chaos check " + history;
  return report;
}

}  // namespace acl::chaos
