#include <fmt/format.h>

#include "chaos/report/report.h"
#include "shared/base/html_text.h"

namespace acl::chaos {
namespace {

std::string Str(const Json& value) { return value.is_string() ? value.get<std::string>() : DumpJson(value); }

std::string Row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string row = "<tr>";
  for (const auto& cell : cells) row += fmt::format("<{0}>{1}</{0}>", tag, HtmlText(cell));
  return row + "</tr>\n";
}

std::string Table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::string table = "<table>\n" + Row(head, "th");
  for (const auto& row : rows) table += Row(row);
  return table + "</table>\n";
}

constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}th,td{border:1px solid #ccc;padding:.2rem "
    ".6rem;text-align:left;vertical-align:top}"
    "th{background:#f3f3f3}.passed{background:#dff2df}.failed{background:#f7d6d6}.invalid{background:#f8edc9}"
    ".verdict{padding:.6rem 1rem;font-size:1.2rem;border-radius:.3rem}"
    "@media(prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}th{background:#2a2a2a}th,td{border-color:#444}.verdict{color:#"
    "222}}";

std::vector<std::vector<std::string>> FaultRows(const Json& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& fault : report["faults"]) {
    rows.push_back({Str(fault["number"]), Str(fault["kind"]), Str(fault["what"]), Str(fault["injected"]), Str(fault["observed"]),
                    Str(fault["healed"]), fmt::format("{:.1f}", fault["seconds"].get<double>()),
                    fmt::format("{:.2f}", fault["slowest_recovery_s"].get<double>())});
  }
  return rows;
}

std::vector<std::vector<std::string>> CheckerRows(const Json& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& checker : report["checkers"]) {
    rows.push_back({Str(checker["id"]), Str(checker["what"]), fmt::format("{} of {}", Str(checker["anomalies"]), Str(checker["examined"])),
                    checker["examples"].empty() ? "" : DumpJson(checker["examples"])});
  }
  return rows;
}

std::vector<std::vector<std::string>> OperationRows(const Json& report) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [f, row] : report["operations"].items())
    rows.push_back({f, Str(row["ok"]), Str(row["fail"]), Str(row["info"]), Str(row["during_faults"])});
  return rows;
}

std::vector<std::vector<std::string>> FigureRows(const Json& report) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : report["leases"].items()) rows.push_back({"leases: " + name, Str(value)});
  rows.push_back({"stale commits refused", Str(report["stale_commits_refused"])});
  for (const auto& [name, value] : report["commits"].items()) rows.push_back({"commits: " + name, Str(value)});
  for (const auto& [name, value] : report["effects"].items()) rows.push_back({"effects: " + name, Str(value)});
  if (report.contains("agents"))
    for (const auto& [name, value] : report["agents"].items()) rows.push_back({"agents: " + name, Str(value)});
  return rows;
}

std::string List(const Json& items) {
  std::string list = "<ul>\n";
  for (const Json& item : items) list += "<li>" + HtmlText(Str(item)) + "</li>\n";
  return list + "</ul>\n";
}

}  // namespace

std::string ToText(const Json& report) {
  std::string out = fmt::format("seed {}  profile {}  {:.0f} s\n\n", Str(report["run"]["seed"]), Str(report["run"]["profile"]),
                                report["seconds"].get<double>());
  out += fmt::format("{:<5} {:<18} {:>8} {:>8} {:>7} {:>8} {:>12}\n", "fault", "", "injected", "observed", "healed", "seconds",
                     "recovered in");
  for (const auto& row : FaultRows(report))
    out += fmt::format("{:<5} {:<18} {:>8} {:>8} {:>7} {:>8} {:>10} s\n", row[0], row[1], row[3], row[4], row[5], row[6], row[7]);
  for (const Json& skipped : report["not_done"])
    out += fmt::format("{:<5} {:<18} not done: {}\n", Str(skipped["number"]), Str(skipped["kind"]), Str(skipped["why"]));
  out += fmt::format("\n{:<10} {:>7} {:>6} {:>6} {:>15}\n", "operation", "ok", "fail", "info", "during faults");
  for (const auto& row : OperationRows(report))
    out += fmt::format("{:<10} {:>7} {:>6} {:>6} {:>15}\n", row[0], row[1], row[2], row[3], row[4]);
  out += "\n";
  for (const auto& row : FigureRows(report)) out += fmt::format("{:<34} {}\n", row[0], row[1]);
  out += fmt::format("\n{:<24} {:<30}\n", "invariant", "anomalies of examined");
  for (const auto& row : CheckerRows(report))
    out += fmt::format("{:<24} {:<18} {}{}\n", row[0], row[2], row[1], row[3].empty() ? "" : "\n      " + row[3]);
  for (const Json& one : report["not_asked"]) out += fmt::format("{:<24} not asked: {}\n", Str(one["id"]), Str(one["why"]));
  out += "\n";
  for (const Json& why : report["why_invalid"]) out += "invalid: " + Str(why) + "\n";
  out += fmt::format("seed {}: {}; history: {}\n", Str(report["run"]["seed"]), Str(report["verdict"]), Str(report["history"]));
  return out;
}

std::string ToHtml(const Json& report) {
  const std::string verdict = Str(report["verdict"]);
  std::string page = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>airun chaos: " + verdict + "</title><style>" +
                     kStyle + "</style></head><body>\n<h1>airun chaos</h1>\n";
  page += fmt::format("<p class=\"verdict {0}\">{0}: seed {1}, profile {2}, {3:.0f} s</p>\n", HtmlText(verdict),
                      HtmlText(Str(report["run"]["seed"])), HtmlText(Str(report["run"]["profile"])), report["seconds"].get<double>());
  if (!report["why_invalid"].empty()) page += "<h2>Why it proves nothing</h2>\n" + List(report["why_invalid"]);
  page += "<h2>Faults</h2>\n" +
          Table({"no.", "fault", "what", "injected", "observed", "healed", "seconds", "slowest recovery, s"}, FaultRows(report));
  if (!report["not_done"].empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const Json& one : report["not_done"]) rows.push_back({Str(one["number"]), Str(one["kind"]), Str(one["why"])});
    page += "<h2>Not done here</h2>\n" + Table({"no.", "fault", "why"}, rows);
  }
  page += "<h2>Operations</h2>\n<p>info: nobody can know whether it happened; it was asked again under the same key.</p>\n" +
          Table({"operation", "ok", "fail", "info", "during faults"}, OperationRows(report));
  page += "<h2>Figures</h2>\n" + Table({"", ""}, FigureRows(report));
  page += "<h2>Invariants</h2>\n" + Table({"invariant", "what", "anomalies of examined", "examples"}, CheckerRows(report));
  if (!report["not_asked"].empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const Json& one : report["not_asked"]) rows.push_back({Str(one["id"]), Str(one["what"]), Str(one["why"])});
    page += "<h3>Not asked</h3>\n" + Table({"invariant", "what", "why"}, rows);
  }
  page += "<h2>What is not claimed</h2>\n" + List(report["not_claimed"]);
  std::vector<std::vector<std::string>> settings;
  for (const auto& [name, value] : report["run"].items()) settings.push_back({name, Str(value)});
  page += "<h2>What was tested</h2>\n" + Table({"", ""}, settings);
  page += "<p>History: <code>" + HtmlText(Str(report["history"])) + "</code>; check it again: <code>" +
          HtmlText(Str(report["check_again"])) + "</code></p>\n</body></html>\n";
  return page;
}

}  // namespace acl::chaos
