#include "chaos/load/workload.h"

#include <poll.h>

#include <fmt/format.h>

#include <algorithm>

#include "chaos/plan/schedule.h"
#include "shared/base/clock.h"

namespace acl::chaos {
namespace {

// Asked again until it is done: the receiver honours the key.
constexpr const char* kStubborn = "max_retries: 60, retry: {backoff: fixed, initial_delay: 100ms}, on_unknown_outcome: retry";

std::string CallStep(const std::string& name, const std::string& method, const std::string& effects_url, const std::string& more = "") {
  return fmt::format(
      "  - {{name: {0}, capability: net.http.{1}, inputs: {{url: \"{2}/{{{{run_id}}}}/{0}\", body: \"{0}\", timeout: 5, sign_with: "
      "effects}}, {3}{4}}}\n",
      name, method, effects_url, kStubborn, more);
}

std::string Booking(int n, const std::string& effects_url) {
  return CallStep(fmt::format("book-{}", n), "post", effects_url,
                  fmt::format(", compensation: {{capability: net.http.put, max_retries: 60, inputs: {{url: "
                              "\"{}/{{{{run_id}}}}/cancel-{}\", body: cancel, timeout: 5, sign_with: effects}}}}",
                              effects_url, n));
}

// Kinds of steps that hold, wait or begin others; and what people must do for them.
std::string StepsOfKind(const std::string& kind, const std::string& effects_url) {
  if (kind == "fan")  // a call an item, one after the other
    return fmt::format(
        "  - {{name: each, foreach: [1, 2, 3], max_concurrent: 1, capability: net.http.post, inputs: {{url: "
        "\"{}/{{{{run_id}}}}/item-{{{{item}}}}\", body: \"item {{{{item}}}}\", timeout: 5, sign_with: effects}}, {}}}\n",
        effects_url, kStubborn);
  if (kind == "scopes")
    return "  - name: both\n    steps:\n      - {name: left, capability: test.sleep, inputs: {seconds: 0.02}}\n"
           "      - name: right\n        step_type: SEQUENCE\n        steps:\n"
           "          - {name: one, capability: io.fs.write_file, inputs: {path: one.txt, content: one}}\n"
           "          - {name: two, capability: io.fs.write_file, inputs: {path: two.txt, content: \"wrote {{one.bytes_written}}\"}}\n"
           "  - {name: way, if: \"length(both.order) == 2\", then: [{name: taken, capability: test.sleep, inputs: {seconds: 0.02}}],"
           " else: [{name: never, capability: test.fail, inputs: {message: both ended}}]}\n";
  if (kind == "signal")  // a signal that a failed-over database lost is not waited for without end
    return "  - {name: before, capability: test.sleep, inputs: {seconds: 0.05}}\n"
           "  - {name: told, wait_for_signal: {name: go, timeout: 30s, default: {lost: true}}}\n"
           "  - {name: after, capability: io.fs.write_file, inputs: {path: a.txt, content: told}}\n";
  if (kind == "gate")
    return "  - {name: before, capability: io.fs.write_file, inputs: {path: a.txt, content: one}}\n"
           "  - {name: gate, step_type: HUMAN_APPROVAL, inputs: {message: \"go on?\"}}\n"
           "  - {name: after, capability: io.fs.write_file, inputs: {path: b.txt, content: \"{{gate.approver}}\"}}\n";
  if (kind == "rounds")
    return "  - {name: work, capability: test.sleep, inputs: {seconds: 0.02}}\n"
           "  - {name: again, if: \"length(n) < 3\", then: [{name: next, continue_as_new: {n: \"{{n}}x\"}}]}\n";
  if (kind == "children")
    return "  - {name: all, foreach: [one, two], child: {workflow: part, inputs: {what: \"{{item}}\"}}}\n"
           "  - {name: after, capability: io.fs.write_file, inputs: {path: a.txt, content: \"{{all.count}} parts\"}}\n";
  return "";
}

}  // namespace

std::vector<std::string> WorkflowKinds(bool with_effects) {
  if (!with_effects) return {"steps", "wait", "long"};
  return {"steps", "wait", "long", "effects", "puts", "saga"};
}

std::vector<std::string> StepKinds(bool with_effects) {
  std::vector<std::string> kinds = {"scopes", "children", "signal", "gate", "rounds"};
  if (with_effects) kinds.emplace_back("fan");
  return kinds;
}

std::string WorkflowOf(const std::string& kind, const std::string& effects_url) {
  std::string yaml = "name: chaos-" + kind + "\n";
  if (kind == "rounds") yaml += "inputs: {n: {type: string, default: x}}\n";
  if (kind == "children")
    yaml +=
        "workflows:\n  part:\n    inputs: {what: string}\n    steps:\n"
        "      - {name: write, capability: io.fs.write_file, inputs: {path: a.txt, content: \"{{what}}\"}}\n"
        "      - {name: work, capability: test.sleep, inputs: {seconds: 0.02}}\n";
  yaml += "steps:\n";
  if (const std::string steps = StepsOfKind(kind, effects_url); !steps.empty()) return yaml + steps;
  if (kind == "effects") {
    for (const char* name : {"pay-1", "pay-2", "pay-3"}) yaml += CallStep(name, "post", effects_url);
  } else if (kind == "puts") {
    for (const char* name : {"put-1", "put-2"}) yaml += CallStep(name, "put", effects_url);
  } else if (kind == "saga") {
    yaml +=
        Booking(1, effects_url) + Booking(2, effects_url) + "  - {name: refused, capability: test.fail, inputs: {message: as it should}}\n";
  } else if (kind == "wait") {
    yaml +=
        "  - {name: before, capability: io.fs.write_file, inputs: {path: a.txt, content: one}}\n  - {name: pause, wait: 300ms}\n"
        "  - {name: after, capability: io.fs.hash_file, inputs: {path: a.txt}}\n";
  } else if (kind == "long") {  // long enough for a snapshot of its own
    for (int n = 1; n <= 40; ++n) yaml += fmt::format("  - {{name: s{}, capability: test.effect, inputs: {{size: 400}}}}\n", n);
  } else if (kind == "large") {  // results that lie apart
    for (int n = 1; n <= 5; ++n) yaml += fmt::format("  - {{name: s{}, capability: test.effect, inputs: {{size: 5000}}}}\n", n);
  } else {
    for (int n = 1; n <= 4; ++n)
      yaml += fmt::format(
          "  - {{name: write-{0}, capability: io.fs.write_file, inputs: {{path: f{0}.txt, content: \"{0}\"}}}}\n"
          "  - {{name: work-{0}, capability: test.sleep, inputs: {{seconds: 0.05}}}}\n",
          n);
  }
  return yaml;
}

Workload::Workload(WorkloadOptions options, Recorder* history) : options_(std::move(options)), history_(history) {
  clients_.Start(options_.clients, [this](int n) { Client(n); });
}

HttpAnswer Workload::AskUntilAnswered(const std::string& process, const std::string& f, HttpAsk ask, const Json& args, Random& random) {
  const std::string path = ask.url;
  if (!options_.api_key.empty()) ask.headers["Authorization"] = "Bearer " + options_.api_key;
  ask.timeout = std::chrono::milliseconds(3'000);
  for (;;) {
    ask.url = options_.api_urls[random.Below(options_.api_urls.size())] + path;
    const std::int64_t op = history_->Invoke(process, f, args);
    const HttpAnswer answer = Http(ask);
    const Json body = answer.json();
    Json value = {{"status", answer.status}};
    if (answer.ok()) {
      for (const char* key : {"id", "head_seq", "status"}) {
        if (body.is_object() && body.contains(key)) value[std::string(key) == "status" ? "state" : key] = body[key];
      }
      history_->Complete(op, process, f, "ok", std::move(value));
      return answer;
    }
    value["error"] = answer.error.empty() ? body.is_object() ? body.value("code", "") : "" : answer.error;
    // Refused for good, or never sent: certainly not done. Everything else may have happened.
    const bool refused = answer.status / 100 == 4 && answer.status != 429;
    // An action on a run that has ended is answered so: that is in order.
    const bool ended = refused && answer.status == 409 && f != "submit";
    history_->Complete(op, process, f, ended ? "ok" : refused || !answer.sent ? "fail" : "info", std::move(value));
    if (refused) return answer;
    if (clients_.giving_up()) {
      clients_.NeverAnswered();
      return answer;
    }
    poll(nullptr, 0, 50 + int(random.Below(100)));
  }
}

HttpAnswer Workload::Act(const std::string& process, const std::string& act, const std::string& id, const std::string& key,
                         Random& random) {
  HttpAsk action{"POST", "/v1/workflows/" + id + "/" + act, "{}", {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, {}};
  return AskUntilAnswered(process, act, action, {{"id", id}, {"key", key}}, random);
}

void Workload::Resume(const std::string& process, const std::string& id, const std::string& key, Random& random) {
  if (!Act(process, "resume", id, key, random).ok()) return;
  std::lock_guard lock(mutex_);
  resumed_.emplace_back(SystemClock().Steady().time_since_epoch().count(), id);
}

void Workload::ResumeAgain(std::vector<std::pair<std::int64_t, std::int64_t>> lost) {
  clients_.StartOneMore([this, lost = std::move(lost)] {
    SeededRandom random(SubSeed(options_.seed, "again"));
    std::vector<std::pair<std::int64_t, std::string>> resumed;
    {
      std::lock_guard lock(mutex_);
      resumed = resumed_;
    }
    std::set<std::string> asked;
    for (const auto& [at, id] : resumed) {
      const bool gone =
          std::any_of(lost.begin(), lost.end(), [at = at](const auto& time) { return time.first <= at && at <= time.second; });
      if (gone && asked.insert(id).second) Act("again", "resume", id, fmt::format("chaos-{}-again-{}", options_.seed, id), random);
    }
  });
}

// The run waits at its gate: what it asks is read and approved. True: nothing more is to be done for it.
bool Workload::Decide(const std::string& process, const std::string& id, Random& random) {
  const HttpAnswer run = AskUntilAnswered(process, "gate", {"GET", "/v1/workflows/" + id, "", {}, {}}, {{"id", id}}, random);
  if (run.status == 404) return true;  // lost with the database that had it
  if (!run.ok()) return false;
  const Json view = run.json();
  if (view.value("closed", false)) return true;
  bool asks = false;
  for (const Json& step : view.value("steps", Json::array())) asks |= step.value("approval", "") == "PENDING";
  if (!asks) return false;
  const std::string path = "/v1/approvals/" + id + ":gate";
  const HttpAnswer approval = AskUntilAnswered(process, "asked", {"GET", path, "", {}, {}}, {{"id", id}}, random);
  if (!approval.ok()) return false;
  HttpAsk decision{"POST", path + "/decision", "", {{"Content-Type", "application/json"}}, {}};
  decision.body = DumpJson({{"decision", "approve"}, {"digest", approval.json().value("digest", "")}, {"approver", process}});
  AskUntilAnswered(process, "decide", decision, {{"id", id}}, random);
  return false;  // until the run says that it has ended: a database that moved may have lost the decision
}

void Workload::Client(int number) {
  const std::string process = "client-" + std::to_string(number);
  SeededRandom random(SubSeed(options_.seed, process));
  auto kinds = WorkflowKinds(!options_.effects_url.empty());
  if (options_.large) kinds.insert(kinds.end(), {"large", "large", "large"});
  const auto step_kinds = StepKinds(!options_.effects_url.empty());
  std::vector<std::string> mine, gates, all_gates;
  for (int n = 0; !clients_.stopping(); ++n) {
    const bool plain = random.Below(3) != 0;
    const std::string kind = plain ? kinds[random.Below(kinds.size())] : step_kinds[random.Below(step_kinds.size())],
                      key = fmt::format("chaos-{}-{}-{}", options_.seed, number, n);
    HttpAsk ask{"POST", "/v1/workflows", "", {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, {}};
    ask.body = DumpJson(
        {{"workflow", WorkflowOf(kind, options_.effects_url)}, {"labels", {{"chaos", label()}, {"chaos_key", key}, {"chaos_kind", kind}}}});
    const HttpAnswer answer = AskUntilAnswered(process, "submit", ask, {{"key", key}, {"kind", kind}}, random);
    if (answer.ok()) {
      ++submitted_;
      clients_.Answered(number);
      mine.push_back(answer.json().value("id", ""));
      if (kind == "gate") gates.push_back(mine.back()), all_gates.push_back(mine.back());
      if (kind == "signal") {
        HttpAsk signal{"POST", "/v1/workflows/" + mine.back() + "/signal", R"({"name":"go"})", {}, {}};
        signal.headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", key + "-go"}};
        AskUntilAnswered(process, "signal", signal, {{"id", mine.back()}, {"key", key}}, random);
      }
    }
    if (!gates.empty() && Decide(process, gates.front(), random)) gates.erase(gates.begin());
    if (!mine.empty() && random.Below(3) == 0) {
      const std::string id = mine[random.Below(mine.size())];
      AskUntilAnswered(process, "read", {"GET", "/v1/workflows/" + id, "", {}, {}}, {{"id", id}}, random);
    }
    if (!mine.empty() && random.Below(8) == 0) {
      const std::string id = mine.back();
      Act(process, "pause", id, key + "-pause", random);
      Resume(process, id, key + "-resume", random);
    }
    poll(nullptr, 0, 20 + int(random.Below(120)));
  }
  // All of them once more: a database that moved may have lost a decision behind which the run had ended.
  for (const std::string& gate : all_gates) {
    while (!clients_.giving_up() && !Decide(process, gate, random)) poll(nullptr, 0, 100);
  }
}

}  // namespace acl::chaos
