#include "chaos/checkers/history.h"

#include <fmt/format.h>

#include <functional>
#include <map>

namespace acl::chaos {
namespace {

Status EachLine(std::istream& in, std::string& text, const std::function<Status(Json)>& take) {
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    text += line + "\n";
    if (line.empty()) continue;
    auto parsed = ParseJson(line);
    if (!parsed) return Error{Code::kInvalid, fmt::format("line {}: {}", number, parsed.message())};
    if (!parsed->is_object()) return Error{Code::kInvalid, fmt::format("line {}: not an object", number)};
    if (Status taken = take(std::move(*parsed)); !taken) return Error{Code::kInvalid, fmt::format("line {}: {}", number, taken.message())};
  }
  return {};
}

}  // namespace

Result<History> ReadHistory(std::istream& in) {
  History history;
  std::map<std::string, std::size_t> by_op;
  Status read = EachLine(in, history.text, [&](Json line) -> Status {
    const std::string type = line.value("type", "");
    if (type == "header") {
      history.key_prefix = line.value("key_prefix", "");
      return {};
    }
    if (!line.contains("op") || !line["op"].is_string()) return Error{Code::kInvalid, "no text \"op\""};
    auto [at, first] = by_op.emplace(line["op"].get<std::string>(), history.operations.size());
    line.erase("type");
    if (first) {
      if (type != "invoke") return Error{Code::kInvalid, "an operation begins with \"type\": \"invoke\""};
      line["outcome"] = "info";
      history.operations.push_back(std::move(line));
      return {};
    }
    Json& operation = history.operations[at->second];
    if (operation["outcome"] != "info") return Error{Code::kInvalid, "the operation has ended before"};
    const auto invoked = operation.value("at_ms", std::int64_t(0));
    operation.update(line);
    operation["ended_ms"] = line.value("at_ms", std::int64_t(0));
    operation["at_ms"] = invoked;
    operation["outcome"] = type == "ok" || type == "fail" ? type : "info";
    return {};
  });
  if (!read) return read.error();
  return history;
}

Result<Ledger> ReadLedger(std::istream& in) {
  Ledger ledger;
  Status read = EachLine(in, ledger.text, [&](Json line) -> Status {
    line["n"] = ledger.effects.size();
    ledger.effects.push_back(std::move(line));
    return {};
  });
  if (!read) return read.error();
  return ledger;
}

}  // namespace acl::chaos
