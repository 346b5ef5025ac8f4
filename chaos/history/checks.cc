#include "chaos/history/checks.h"

#include <map>
#include <set>

#include "chaos/checkers/continuity.h"
#include "chaos/checkers/sessions.h"
#include "chaos/effects/ledger.h"
#include "chaos/history/loss.h"

namespace acl::chaos {
namespace {

constexpr std::size_t kExamples = 5;

std::string TextOf(const Json& line, const char* key) {
  const auto it = line.find(key);
  if (it == line.end()) return "";
  return it->is_string() ? it->get<std::string>() : DumpJson(*it);
}

bool Is(const Json& line, const char* type) { return line["type"] == type; }

struct Submission {
  std::string kind, key;
};

// What the rest is computed from.
struct Read {
  explicit Read(const std::vector<Json>& lines) {
    for (const Json& line : lines) {
      if (Is(line, "invoke") && line["f"] == "submit") asked[line["op"]] = {TextOf(line["args"], "kind"), TextOf(line["args"], "key")};
      if (Is(line, "invoke")) invoked_at[line["op"]] = line["t"];
      if (Is(line, "ok") && line["f"] == "submit") {
        const Submission& submission = asked[line["op"]];
        ids_of_key[submission.key].insert(TextOf(line["value"], "id"));
        kind_of_run[TextOf(line["value"], "id")] = submission.kind;
      }
      if (Is(line, "final")) {
        final_status[TextOf(line, "run")] = TextOf(line, "status");
        runs_of_key[TextOf(line, "key")].insert(TextOf(line, "run"));
        if (!TextOf(line, "kind").empty()) kind_of_run[TextOf(line, "run")] = TextOf(line, "kind");
      }
      if (Is(line, "agent_session")) sessions.insert(TextOf(line, "session"));
    }
    for (const Json& line : lines)  // what agents did at the receiver: checkers/sessions.h
      if (Is(line, "effect") && !sessions.contains(TextOf(line, "run"))) effects.push_back(&line);
    for (const Json& line : lines) {
      if (Is(line, "fault") && line["event"] == "inject" && first_fault == 0) first_fault = line["t"];
      if (Is(line, "fault") && line["event"] == "well") last_well = line["t"];
    }
  }
  std::map<std::int64_t, Submission> asked;
  std::map<std::int64_t, std::int64_t> invoked_at;
  std::map<std::string, std::set<std::string>> ids_of_key, runs_of_key;
  std::map<std::string, std::string> kind_of_run, final_status;
  std::set<std::string> sessions;
  std::vector<const Json*> effects;
  std::int64_t first_fault = 0, last_well = 0;
};

constexpr std::size_t kRounds = 3;  // of a run of kind "rounds" (load/workload.cc)

std::string MustEnd(const std::string& kind) { return kind == "saga" ? "ROLLED_BACK" : "COMPLETED"; }

// The steps of each kind of run that call the outside, in the order in which they must be applied (load/workload.cc).
std::vector<std::string> MustApply(const std::string& kind) {
  if (kind == "effects") return {"pay-1", "pay-2", "pay-3"};
  if (kind == "puts") return {"put-1", "put-2"};
  if (kind == "saga") return {"book-1", "book-2", "cancel-2", "cancel-1"};
  if (kind == "fan") return {"item-1", "item-2", "item-3"};
  return {};
}

Finding Ended(const Read& read) {
  Finding finding{"h01", "every acknowledged run is there and ended as it must", 0, 0, {}};
  for (const auto& [key, ids] : read.ids_of_key) {
    for (const auto& id : ids) {
      const auto status = read.final_status.find(id);
      const auto wanted = MustEnd(read.kind_of_run.at(id));
      finding.Look(status != read.final_status.end() && status->second == wanted,
                   id + " is " + (status == read.final_status.end() ? "not there" : status->second) + ", not " + wanted);
    }
  }
  return finding;
}

Finding OneRunAKey(const Read& read) {
  Finding finding{"h02", "a key gave one run, however often it was asked", 0, 0, {}};
  for (const auto& [key, ids] : read.ids_of_key)
    finding.Look(ids.size() == 1, key + " was answered with " + std::to_string(ids.size()) + " ids");
  for (const auto& [key, runs] : read.runs_of_key) {
    // Those that go on as new keep its labels: one a round, whatever died between them.
    const auto kind = read.kind_of_run.find(*runs.begin());
    const std::size_t wanted = kind != read.kind_of_run.end() && kind->second == "rounds" ? kRounds : 1;
    finding.Look(runs.size() == wanted, key + " made " + std::to_string(runs.size()) + " runs, not " + std::to_string(wanted));
  }
  return finding;
}

Finding EffectsOnce(const Read& read) {
  Finding finding{"h03", "each step of a run that calls the outside is applied once, under one key, in order", 0, 0, {}};
  std::map<std::string, std::vector<std::string>> applied;
  std::map<std::string, std::set<std::string>> keys;
  for (const Json* effect : read.effects) {
    const std::string run = TextOf(*effect, "run"), step = TextOf(*effect, "step");
    keys[run + "/" + step].insert(TextOf(*effect, "key"));
    if (TextOf(*effect, "verdict") == "applied") applied[run].push_back(step);
    finding.Look(TextOf(*effect, "verdict") != "reused", run + "/" + step + " used the key of another call");
    finding.Look(TextOf(*effect, "verdict") != "unfenced", run + "/" + step + " came without key or token");
  }
  for (const auto& [step, used] : keys)
    finding.Look(used.size() == 1, step + " was asked for under " + std::to_string(used.size()) + " keys");
  for (const auto& [run, status] : read.final_status) {
    const auto kind = read.kind_of_run.find(run);
    if (kind == read.kind_of_run.end() || status != MustEnd(kind->second)) continue;
    const auto wanted = MustApply(kind->second);
    if (wanted.empty()) continue;
    finding.Look(applied[run] == wanted, run + " (" + kind->second + ") was applied as " + DumpJson(applied[run]));
  }
  for (const auto& [run, steps] : applied)
    finding.Look(read.final_status.contains(run), "effects of " + run + ", which is not in the database");
  return finding;
}

Finding TokensAtTheSink(const Read& read) {
  Finding finding{"h04", "the outside never took a lower token after a higher one", 0, 0, {}};
  EffectLedger again;  // the verdicts are computed again from the calls
  for (const Json* effect : read.effects) {
    EffectCall call{TextOf(*effect, "run"),   TextOf(*effect, "step"), TextOf(*effect, "key"), effect->value("token", std::int64_t(0)),
                    TextOf(*effect, "scope"), TextOf(*effect, "body")};
    finding.Look(VerdictName(again.Take(call, 0)) == TextOf(*effect, "verdict"),
                 call.run + "/" + call.step + " under token " + std::to_string(call.token));
  }
  return finding;
}

Finding EffectsSigned(const Read& read) {
  Finding finding{"h09", "each call to the outside is signed by the fleet's key, over its body and its idempotency key", 0, 0, {}};
  for (const Json* effect : read.effects) {
    const std::string signature = TextOf(*effect, "signature");
    if (!signature.empty()) finding.Look(signature == "good", TextOf(*effect, "run") + "/" + TextOf(*effect, "step") + ": " + signature);
  }
  return finding;
}

Finding ReadsGoForward(const std::vector<Json>& lines) {
  Finding finding{"h05", "a run's journal never gets shorter in what one client reads", 0, 0, {}};
  std::map<std::string, std::int64_t> seen;
  for (const Json& line : lines) {
    if (!Is(line, "ok") || line["f"] != "read") continue;
    auto& last = seen[TextOf(line, "process") + TextOf(line["value"], "id")];
    const std::int64_t head = line["value"].value("head_seq", std::int64_t(0));
    finding.Look(head >= last, TextOf(line["value"], "id") + " went from " + std::to_string(last) + " to " + std::to_string(head));
    last = head;
  }
  return finding;
}

Finding NothingRefused(const std::vector<Json>& lines) {
  Finding finding{"h06", "no request that is in order is refused for good", 0, 0, {}};
  for (const Json& line : lines) {
    if (!Is(line, "ok") && !Is(line, "fail")) continue;
    const int status = line["value"].value("status", 0);
    finding.Look(Is(line, "ok") || status / 100 != 4,
                 TextOf(line, "f") + " got " + std::to_string(status) + " " + TextOf(line["value"], "error"));
  }
  return finding;
}

Finding Progress(const std::vector<Json>& lines, const Read& read) {
  Finding finding{"h07", "every client gets an answer after the last fault was healed, and some are got during the faults", 0, 0, {}};
  std::map<std::string, int> after;
  int during = 0;
  for (const Json& line : lines) {
    if (Is(line, "invoke") && line["f"] == "submit") after.try_emplace(TextOf(line, "process"), 0);
    if (!Is(line, "ok") || line["f"] != "submit") continue;
    const std::int64_t at = line["t"];
    if (at > read.last_well) ++after[TextOf(line, "process")];
    if (at > read.first_fault && at < read.last_well) ++during;
  }
  for (const auto& [client, count] : after) finding.Look(count > 0, client + " got no answer after the last fault");
  if (read.first_fault != 0) finding.Look(during > 0, "no submission was answered during the faults");
  return finding;
}

}  // namespace

void Finding::Look(bool holds, const std::string& otherwise) {
  ++examined;
  if (holds) return;
  ++anomalies;
  if (examples.size() < kExamples) examples.push_back(otherwise);
}

std::vector<Finding> CheckHistory(const std::vector<Json>& all) {
  const Loss loss = WithoutWhatWasLost(all);
  const auto& lines = loss.lines;
  const Read read(lines);
  std::vector<Finding> findings = {Ended(read),         OneRunAKey(read),      EffectsOnce(read),     TokensAtTheSink(read),
                                   EffectsSigned(read), ReadsGoForward(lines), NothingRefused(lines), Progress(all, Read(all))};
  if (loss.acknowledged > 0)
    findings.push_back({"h08",
                        "of the submissions and commands answered while a database was to lose them (a standby behind, a copy restored), " +
                            std::to_string(loss.lost) + " were lost, as such a database does: counted, not held against it",
                        loss.acknowledged,
                        0,
                        {}});
  auto of_agents = CheckContinuity(lines);
  for (InvariantResult& result : CheckSessions(lines)) of_agents.push_back(std::move(result));
  for (const InvariantResult& result : of_agents) {
    Finding finding{result.id, result.what, result.examined, result.found, {}};
    for (const Anomaly& anomaly : result.anomalies) {
      if (finding.examples.size() < kExamples) finding.examples.push_back(anomaly.key + ": " + anomaly.why);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<std::string> WhyInvalid(const std::vector<Json>& lines) {
  std::vector<std::string> why;
  std::map<std::int64_t, std::set<std::string>> events;
  std::map<std::int64_t, std::string> kinds;
  bool ended = false, fence_asked = false;
  double refused = 0;
  int submitted = 0, agents = 0, sessions = 0, commanded = 0, late = 0;
  for (const Json& line : lines) {
    if (Is(line, "fault")) {
      events[line["n"]].insert(TextOf(line, "event"));
      kinds[line["n"]] = TextOf(line, "kind");
      if (line["event"] == "failed") why.push_back("fault " + TextOf(line, "kind") + ": " + TextOf(line, "error"));
    }
    if (Is(line, "run")) agents = line.value("agents", 0), sessions = line.value("sessions", 0);
    if (Is(line, "ok") && line["value"].contains("event_seq")) ++commanded;
    if (Is(line, "ok") && TextOf(line["value"], "refused") == "LATE_HOLDER") ++late;
    if (Is(line, "run")) fence_asked = line.value("fence_must_refuse", false);
    if (Is(line, "metrics")) refused = line.value("fence_refusals", 0.0);
    if (Is(line, "ok") && line["f"] == "submit") ++submitted;
    if (Is(line, "end")) ended = true;
  }
  for (const auto& [n, seen] : events) {
    if (seen.contains("failed")) continue;
    for (const char* event : {"inject", "observed", "healed", "well"}) {
      if (!seen.contains(event)) why.push_back("fault " + kinds[n] + " has no " + event);
    }
  }
  if (events.empty()) why.push_back("no fault was injected");
  if (submitted == 0) why.push_back("no run was submitted");
  if (fence_asked && refused <= 0) why.push_back("no stale commit was refused: the fence was not exercised");
  if (agents > 0 && commanded == 0) why.push_back("no command of an agent was answered");
  if (agents > 0 && late == 0) why.push_back("no late holder of a task was refused: its token was not exercised");
  if (sessions > 0 && FiguresOfSessions(lines).attempts_lost == 0)
    why.push_back("no agent lost its worker in the middle of a step: going on elsewhere was not tried");
  if (!ended) why.push_back("the driver did not come to its end");
  return why;
}

}  // namespace acl::chaos
