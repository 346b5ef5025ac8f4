#include "chaos/history/loss.h"

#include <algorithm>
#include <map>
#include <set>

#include "chaos/checkers/project_evidence.h"

namespace acl::chaos {
namespace {

std::string WordIn(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_string() ? it->get<std::string>() : "";
}

struct Window {
  std::int64_t from, until;
  bool Has(std::int64_t at) const { return at >= from && at <= until; }
};

std::vector<Window> WindowsOf(const std::vector<Json>& lines) {
  std::vector<Window> windows;
  for (const Json& line : lines) {
    if (line["type"] != "fault" || line["event"] != "well" || !line["facts"].contains("loses_from")) continue;
    windows.push_back({line["facts"]["loses_from"], line["facts"]["loses_until"]});
  }
  return windows;
}

// The answers to commands that the database does not know (any more), by operation.
std::set<std::int64_t> UnknownAnswers(const std::vector<Json>& lines) {
  std::map<std::pair<std::string, std::string>, ProjectJournal::Kept> kept;  // by project and key
  std::map<std::int64_t, ReceivedAnswer> asked;
  std::set<std::int64_t> unknown;
  for (const Json& line : lines) {
    if (line["type"] == "project_answer")
      kept[{WordIn(line, "project"), WordIn(line, "key")}] = {line.value("event_seq", std::int64_t(0)), line["answer"]};
  }
  for (const Json& line : lines) {
    if (line["type"] == "invoke") {
      if (auto command = CommandOf(line); command && !command->project.empty()) asked.emplace(line["op"], std::move(*command));
    }
    if (line["type"] != "ok" || !asked.contains(line["op"])) continue;
    const ReceivedAnswer told = AnsweredBy(line, asked.at(line["op"]));
    const auto known = kept.find({told.project, told.key});
    if (known == kept.end() || !IsKept(told, known->second)) unknown.insert(line["op"].get<std::int64_t>());
  }
  return unknown;
}

}  // namespace

Loss WithoutWhatWasLost(const std::vector<Json>& lines) {
  Loss loss;
  const auto windows = WindowsOf(lines);
  if (windows.empty()) {
    loss.lines = lines;
    return loss;
  }
  const auto in_window = [&](std::int64_t at) {
    return std::any_of(windows.begin(), windows.end(), [&](const Window& window) { return window.Has(at); });
  };
  std::set<std::string> there, lost;
  std::map<std::int64_t, std::string> about;  // the run that an operation is about
  std::map<std::string, std::int64_t> first_effect;
  std::set<std::int64_t> asks_a_project;
  for (const Json& line : lines) {
    if (line["type"] == "final") there.insert(WordIn(line, "run"));
    if (line["type"] == "invoke" && line["args"].contains("id")) about[line["op"]] = WordIn(line["args"], "id");
    if (line["type"] == "invoke" && WordIn(line["args"], "project") != "") asks_a_project.insert(line["op"].get<std::int64_t>());
    if (line["type"] == "effect") first_effect.try_emplace(WordIn(line, "run"), line.value("at", std::int64_t(0)));
  }
  std::set<std::string> promised;  // acknowledged at another time
  const std::set<std::int64_t> unknown = UnknownAnswers(lines);
  std::set<std::int64_t> commands_lost;
  for (const Json& line : lines) {
    if (line["type"] == "ok" && in_window(line["t"]) && asks_a_project.contains(line["op"])) {
      ++loss.acknowledged;
      if (unknown.contains(line["op"])) commands_lost.insert(line["op"].get<std::int64_t>());
    }
    if (line["type"] != "ok" || line["f"] != "submit") continue;
    const std::string run = WordIn(line["value"], "id");
    if (!in_window(line["t"])) {
      promised.insert(run);
      continue;
    }
    ++loss.acknowledged;
    if (!there.contains(run)) lost.insert(run);
  }
  loss.lost = std::int64_t(lost.size() + commands_lost.size());
  for (const auto& [run, at] : first_effect) {
    if (!there.contains(run) && !promised.contains(run) && in_window(at)) lost.insert(run);  // begun before its submission was answered
  }
  for (const Json& line : lines) {
    Json out = line;
    if (line["type"] == "ok" && line["f"] == "submit" && lost.contains(WordIn(line["value"], "id"))) out["type"] = "info";
    if (line["type"] == "ok" && commands_lost.contains(line["op"])) out["type"] = "info";
    if (line["type"] == "fail" && lost.contains(about[line["op"]])) out["type"] = "ok";  // "not there" is in order
    if (line["type"] == "effect" && lost.contains(WordIn(line, "run"))) continue;
    // What a client reads goes back once, from before to after.
    if (line["type"] == "ok" && line["f"] == "read") {
      const auto past = std::count_if(windows.begin(), windows.end(), [&](const Window& window) { return line["t"] > window.until; });
      out["value"]["id"] = WordIn(line["value"], "id") + std::string(std::size_t(past), '+');
    }
    loss.lines.push_back(std::move(out));
  }
  return loss;
}

}  // namespace acl::chaos
