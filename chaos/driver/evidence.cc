#include "chaos/driver/evidence.h"

#include <sstream>

#include "chaos/history/loss.h"
#include "chaos/plan/schedule.h"
#include "shared/base/sha256.h"

namespace acl::chaos {
namespace {

std::string Word(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

Result<History> EvidenceOf(const std::vector<Json>& lines) {
  std::ostringstream text;
  std::string phase = "warm-up";
  const Loss told = WithoutWhatWasLost(lines);
  for (const Json& line : told.lines) {
    const std::string type = Word(line, "type");
    if (type == "run") text << DumpJson({{"type", "header"}, {"key_prefix", Word(line, "key_prefix")}}) << '\n';
    if (type == "phase") phase = Word(line, "name") == "heal" || Word(line, "name") == "drain" ? "healed" : Word(line, "name");
    const std::int64_t at_ms = line["t"].get<std::int64_t>() / 1'000'000;
    if (type == "invoke") {
      Json out = {{"op", std::to_string(line["op"].get<std::int64_t>())},
                  {"type", type},
                  {"process", line["process"]},
                  {"phase", phase},
                  {"at_ms", at_ms}};
      out["f"] = line["f"] == "submit" ? Json("start") : line["f"];
      const Json& args = line["args"];
      if (args.contains("key")) out["key"] = args["key"];
      if (args.contains("kind")) out["request_hash"] = args["kind"];  // of one key: the body is made of its kind
      if (args.contains("id")) out["run"] = args["id"];
      text << DumpJson(out) << '\n';
    }
    if (type == "ok" || type == "fail" || type == "info") {
      Json out = {{"op", std::to_string(line["op"].get<std::int64_t>())}, {"type", type}, {"at_ms", at_ms}};
      if (type == "ok" && line["f"] == "submit") out["run"] = line["value"]["id"];
      text << DumpJson(out) << '\n';
    }
  }
  std::istringstream in(text.str());
  return ReadHistory(in);
}

Result<Ledger> LedgerOf(const std::vector<Json>& lines) {
  std::ostringstream text;
  const Loss told = WithoutWhatWasLost(lines);
  for (const Json& line : told.lines) {
    if (line["type"] != "effect") continue;
    const std::string verdict = Word(line, "verdict");
    text << DumpJson({{"key", line["key"]},
                      {"run", line["run"]},
                      {"scope", line["scope"]},
                      {"step", line["step"]},
                      {"token", line["token"]},
                      {"payload_hash", line["body"]},
                      {"outcome", verdict == "applied"    ? "applied"
                                  : verdict == "replayed" ? "deduped"
                                                          : "refused"}})
         << '\n';
  }
  std::istringstream in(text.str());
  return ReadLedger(in);
}

}  // namespace acl::chaos
