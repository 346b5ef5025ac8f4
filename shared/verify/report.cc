#include "shared/verify/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace acl::verify {

void Report::Check(const std::string& check, bool holds, const std::string& table, const std::string& key, const std::string& expected,
                   const std::string& found_there) {
  ++checked[check];
  if (!holds) Add({table, key, check, expected, found_there});
}

void Report::Add(Violation violation) {
  ++found;
  if (violations.size() < kKept) violations.push_back(std::move(violation));
}

void Report::Note(std::string note) {
  ++noted;
  if (notes.size() < kNotes) notes.push_back(std::move(note));
}

Json ToJson(const Report& report) {
  Json json = {{"clean", report.clean()}, {"checked", Json::object()}, {"violations_found", report.found}, {"violations", Json::array()}};
  for (const auto& [check, count] : report.checked) json["checked"][check] = count;
  for (const Violation& one : report.violations) {
    json["violations"].push_back(
        {{"table", one.table}, {"key", one.key}, {"check", one.check}, {"expected", one.expected}, {"found", one.found}});
  }
  json["notes"] = report.notes;
  json["noted"] = report.noted;
  return json;
}

std::string ToText(const Report& report) {
  std::map<std::string, std::int64_t> violated;
  for (const Violation& one : report.violations) ++violated[one.check];
  std::size_t width = 5;
  for (const auto& [check, count] : report.checked) width = std::max(width, check.size());
  std::string text = fmt::format("{:<{}}  {:>12}  {:>10}\n", "CHECK", width, "CHECKED", "VIOLATIONS");
  std::int64_t sum = 0;
  for (const auto& [check, count] : report.checked) {
    text += fmt::format("{:<{}}  {:>12}  {:>10}\n", check, width, count, violated[check]);
    sum += count;
  }
  for (const Violation& one : report.violations) {
    text += fmt::format("\n{} {}  [{}]\n  expected: {}\n  found:    {}\n", one.table, one.key, one.check, one.expected, one.found);
  }
  if (report.found > std::int64_t(report.violations.size())) {
    text += fmt::format("\n... and {} violations more\n", report.found - std::int64_t(report.violations.size()));
  }
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  if (report.noted > std::int64_t(report.notes.size()))
    text += fmt::format("... and {} notes more\n", report.noted - std::int64_t(report.notes.size()));
  return text + fmt::format("\n{} checks, {} {}\n", sum, report.found, report.found == 1 ? "violation" : "violations");
}

}  // namespace acl::verify
