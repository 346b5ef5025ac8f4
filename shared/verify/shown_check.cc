// What a kind shows of its state in tables that people read (shared/kernel/command.h, ShownRow), and the answers kept with it.
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "shared/verify/row_checks.h"

namespace acl::verify {

namespace {

using Place = std::pair<std::string, std::string>;  // table and id

// Columns of both that differ.
void CompareColumns(const Place& place, const std::string& key, const Json& expected, const Json& found, Report& report) {
  std::set<std::string> columns;
  for (const Json* row : {&expected, &found}) {
    for (const auto& [column, value] : row->items()) columns.insert(column);
  }
  const auto word = [](const Json& row, const std::string& column) {
    const auto value = row.find(column);
    return value == row.end() ? std::string("no such column") : DumpJson(*value);
  };
  for (const std::string& column : columns) {
    const std::string wanted = word(expected, column), there = word(found, column);
    if (wanted == there) continue;
    report.Add(
        {place.first, key, "shown.column", fmt::format("{} = {} (by replay)", column, wanted), fmt::format("{} = {}", column, there)});
  }
  ++report.checked["shown.column"];
}

}  // namespace

void CheckShownRows(const SubjectRows& rows, const Document& state, const SaidRows& said, const KindChecks& kind, Report& report) {
  const std::string subject = rows.subject.ToString();
  std::map<Place, const ShownRow*> there;
  for (const ShownRow& row : rows.shown) there.emplace(Place(row.table, row.id), &row);
  const auto expect = [&](const ShownRow& row, const std::string& by) {
    const Place place(row.table, row.id);
    const std::string key = subject + "/" + row.id;
    const auto found = there.find(place);
    report.Check("shown.row", found != there.end(), row.table, key, "a row: " + by, "none");
    if (found == there.end()) return;
    const auto expected = ParseJson(*row.row, kStoredJson), stored = ParseJson(*found->second->row, kStoredJson);
    if (expected && stored) CompareColumns(place, key, *expected, *stored, report);
    there.erase(found);
  };
  if (kind.show) {
    state.ForEach([&](const std::string& entry, const Json& value) {
      const auto row = kind.show(entry, value);
      if (row && row->row) expect(*row, "the state has " + entry);
      return true;
    });
  }
  if (kind.show_state)
    for (const ShownRow& row : kind.show_state(state)) expect(row, "the state says so");
  for (const auto& [place, row] : said.rows) expect(row, "an event says it");
  if (!said.whole) return;
  for (const auto& [place, row] : there) {
    report.Check("shown.row", false, place.first, subject + "/" + place.second, "no row: the state has no such entry", "a row");
  }
}

void CheckAnswers(const SubjectRows& rows, Report& report) {
  if (!rows.head) return;
  for (const GivenAnswer& answer : rows.answers) {
    report.Check("answer.event", answer.event_seq <= rows.head->seq, "command_answers", rows.subject.ToString() + "/" + answer.key,
                 fmt::format("an event up to {}", rows.head->seq), fmt::format("event {}", answer.event_seq));
  }
}

}  // namespace acl::verify
