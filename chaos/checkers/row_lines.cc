#include "chaos/checkers/row_lines.h"

#include "shared/journal/document.h"
#include "shared/journal/event.h"

namespace acl::chaos {
namespace {

Result<std::unique_ptr<pg::Connection>> OpenToRead(const std::string& conninfo) {
  pg::ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "acl-invariants";
  settings.statement_timeout = std::chrono::minutes(5);  // whole tables are read
  return pg::Connection::Open(settings);
}

pg::Params NamesThatBeginWith(const std::string& name_prefix) {
  pg::Params params;
  params.Text("prefix", name_prefix);
  return params;
}

}  // namespace

Json FactsIn(const pg::Rows& rows, int row, int column) {
  auto facts = ParseJson(rows.IsNull(row, column) ? "{}" : rows.Text(row, column), kStoredJson);
  if (!facts || !facts->is_object()) return Json::object();
  for (const auto& key : {kDeltaKey, kRootKey}) facts->erase(std::string(key));
  return std::move(*facts);
}

Result<std::vector<Json>> ReadRowLines(const std::string& conninfo, const std::string& name_prefix,
                                       const std::vector<const RowLines*>& questions) {
  auto connection = OpenToRead(conninfo);
  if (!connection) return connection.error();
  if (Status begun = (*connection)->Begin(); !begun) return begun.error();
  if (auto set = (*connection)->RunScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"); !set) return set.error();
  std::vector<Json> lines;
  for (const RowLines* what : questions) {
    auto rows = (*connection)->Run(what->statement, NamesThatBeginWith(name_prefix));
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

Result<std::int64_t> CountRows(const std::string& conninfo, const std::string& name_prefix, const pg::Statement& question) {
  auto connection = OpenToRead(conninfo);
  if (!connection) return connection.error();
  auto rows = (*connection)->Run(question, NamesThatBeginWith(name_prefix));
  if (!rows) return rows.error();
  return rows->Int(0, 0);
}

}  // namespace acl::chaos
