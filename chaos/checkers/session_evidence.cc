#include "chaos/checkers/session_evidence.h"

#include <algorithm>

namespace acl::chaos {
namespace {

std::string WordIn(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_string() ? it->get<std::string>() : "";
}

const Json& PartOf(const Json& line, const char* key) {
  static const Json none = Json::object();
  const auto it = line.find(key);
  return it != line.end() && it->is_object() ? *it : none;
}

void ReadSessionLine(const Json& line, const std::string& type, SessionEvidence& evidence) {
  SessionJournal& journal = evidence.journals[WordIn(line, "session")];
  if (type == "agent_session") {
    journal.name = WordIn(line, "name");
    journal.status = WordIn(line, "status");
    journal.reason = WordIn(line, "reason");
    journal.head_seq = line.value("head_seq", std::int64_t(0));
    journal.held = line.value("held", false);
    journal.ready = line.value("ready", false);
  } else if (type == "agent_event") {
    journal.events.push_back(
        {line.value("seq", std::int64_t(0)), line.value("at_us", std::int64_t(0)), WordIn(line, "event"), PartOf(line, "facts")});
  } else if (type == "agent_move") {
    journal.moves = WordIn(line, "moves");
  }
}

// The same thing is asked until it is answered: the last word counts.
struct AskedOnce {
  std::string key, process, mark, session;
  std::int64_t at = 0;
};

class Reading {
 public:
  explicit Reading(SessionEvidence& evidence) : evidence_(evidence) {}

  void Times(const std::vector<Json>& lines) {
    for (const Json& line : lines) {
      if (line["type"] != "fault") continue;
      if (line["event"] == "inject" && first_fault_ == 0) first_fault_ = line["t"];
      if (line["event"] == "well") last_well_ = line["t"];
    }
  }

  void Line(const Json& line) {
    const std::string type = line["type"];
    if (type == "run") evidence_.asked_for = line.value("sessions", 0) > 0;
    if (type.starts_with("agent_")) ReadSessionLine(line, type, evidence_);
    if (type == "invoke") Invoked(line);
    if (type == "ok" || type == "fail" || type == "info") Answered(line, type);
  }

  void Effects(const std::vector<Json>& lines) {
    for (const Json& line : lines) {
      if (line["type"] != "effect") continue;
      const auto journal = evidence_.journals.find(WordIn(line, "run"));
      if (journal != evidence_.journals.end())
        journal->second.called[WordIn(line, "step")].push_back({WordIn(line, "key"), WordIn(line, "body"), WordIn(line, "verdict")});
    }
  }

 private:
  void Invoked(const Json& line) {
    const Json& args = PartOf(line, "args");
    const std::string f = WordIn(line, "f");
    if (f != "tell" && f != "start_agent") return;
    asked_[line["op"]] = {WordIn(args, "key"), WordIn(line, "process"), WordIn(args, "mark"), WordIn(args, "session"), line["t"]};
    if (f == "tell") evidence_.answered_after.try_emplace(WordIn(line, "process"), 0);
  }

  void Answered(const Json& line, const std::string& type) {
    const auto found = asked_.find(line["op"]);
    if (found == asked_.end()) return;
    const AskedOnce& asked = found->second;
    const Json& value = PartOf(line, "value");
    if (!asked.mark.empty()) {
      const auto [known, fresh] = by_mark_.try_emplace(asked.mark, evidence_.said.size());
      if (fresh) evidence_.said.push_back({asked.session, asked.mark, false, false, 0});
      SaidToSession& said = evidence_.said[known->second];
      if (said.session.empty()) said.session = WordIn(value, "id");
      const bool refused = value.value("refused", false);
      said.acknowledged = said.acknowledged || (type == "ok" && !refused);
      said.refused = said.refused || refused;
      if (value.value("heard", false)) said.answered_ms = double(line["t"].get<std::int64_t>() - asked.at) / 1e6;
    }
    const std::int64_t at = line["t"];
    if (type == "ok" && at > last_well_) ++evidence_.answered_after[asked.process];
    if (type == "ok" && at > first_fault_ && at < last_well_) ++evidence_.answered_during;
  }

  SessionEvidence& evidence_;
  std::int64_t first_fault_ = 0, last_well_ = 0;
  std::map<std::int64_t, AskedOnce> asked_;
  std::map<std::string, std::size_t> by_mark_;
};

}  // namespace

SessionEvidence SessionEvidenceOf(const std::vector<Json>& lines) {
  SessionEvidence evidence;
  Reading reading(evidence);
  reading.Times(lines);
  for (const Json& line : lines) reading.Line(line);
  reading.Effects(lines);
  for (auto& [id, journal] : evidence.journals)
    std::stable_sort(journal.events.begin(), journal.events.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  return evidence;
}

}  // namespace acl::chaos
