#include "chaos/load/workload.h"

#include <poll.h>

#include <fmt/format.h>

#include <algorithm>

#include "chaos/plan/schedule.h"
#include "chaos/process/patience.h"
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

}  // namespace

std::vector<std::string> WorkflowKinds(bool with_effects) {
  if (!with_effects) return {"steps", "wait", "long"};
  return {"steps", "wait", "long", "effects", "puts", "saga"};
}

std::string WorkflowOf(const std::string& kind, const std::string& effects_url) {
  std::string yaml = "name: chaos-" + kind + "\nsteps:\n";
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

Workload::Workload(WorkloadOptions options, Recorder* history)
    : options_(std::move(options)), history_(history), answers_(std::size_t(options_.clients)) {
  running_ = options_.clients;
  for (int n = 0; n < options_.clients; ++n) clients_.emplace_back([this, n] { Client(n); });
}

Workload::~Workload() {
  stop_ = give_up_ = true;
  for (auto& client : clients_) {
    if (client.joinable()) client.join();
  }
}

bool Workload::AwaitAnswers(int more, std::chrono::milliseconds limit) {
  std::vector<int> wanted;
  for (const auto& count : answers_) wanted.push_back(count + more);
  return Await(
      [&] { return std::equal(wanted.begin(), wanted.end(), answers_.begin(), [](int least, const auto& now) { return now >= least; }); },
      limit);
}

bool Workload::Stop(std::chrono::milliseconds limit) {
  stop_ = true;
  Await([&] { return running_ == 0; }, limit);
  give_up_ = true;
  for (auto& client : clients_) client.join();
  clients_.clear();
  return unanswered_ == 0;
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
    if (give_up_) {
      ++unanswered_;
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
  ++running_;
  clients_.emplace_back([this, lost = std::move(lost)] {
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
    --running_;
  });
}

void Workload::Client(int number) {
  const std::string process = "client-" + std::to_string(number);
  SeededRandom random(SubSeed(options_.seed, process));
  auto kinds = WorkflowKinds(!options_.effects_url.empty());
  if (options_.large) kinds.insert(kinds.end(), {"large", "large", "large"});
  std::vector<std::string> mine;
  for (int n = 0; !stop_; ++n) {
    const std::string kind = kinds[random.Below(kinds.size())], key = fmt::format("chaos-{}-{}-{}", options_.seed, number, n);
    HttpAsk ask{"POST", "/v1/workflows", "", {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, {}};
    ask.body = DumpJson(
        {{"workflow", WorkflowOf(kind, options_.effects_url)}, {"labels", {{"chaos", label()}, {"chaos_key", key}, {"chaos_kind", kind}}}});
    const HttpAnswer answer = AskUntilAnswered(process, "submit", ask, {{"key", key}, {"kind", kind}}, random);
    if (answer.ok()) {
      ++submitted_;
      ++answers_[std::size_t(number)];
      mine.push_back(answer.json().value("id", ""));
    }
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
  --running_;
}

}  // namespace acl::chaos
