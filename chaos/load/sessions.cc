#include "chaos/load/sessions.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "chaos/plan/schedule.h"
#include "chaos/process/patience.h"
#include "shared/http/url.h"

namespace acl::chaos {
namespace {

constexpr std::chrono::milliseconds kAnswerWithin{5'000};

std::string CallOf(const char* method, const std::string& effects_url, const std::string& step, const std::string& body) {
  return fmt::format(
      "        - {{capability: net.http.{}, inputs: {{url: \"{}/{{{{session.id}}}}/{}\", body: \"{}\", timeout: 5, sign_with: "
      "effects}}}}\n",
      method, effects_url, step, body);
}

// A planner that is a program: what it was told, as a call.
std::string ThinkerOf(const std::string& effects_url) {
  return "planner:\n  command: sh\n  args:\n    - -c\n    - |\n"
         "      read -r asked\n"
         "      sleep 0.3\n"
         "      session=$(printf %s \"$asked\" | sed 's/.*\"session\":{\"id\":\"\\([0-9a-f-]*\\)\".*/\\1/')\n"
         "      turn=$(printf %s \"$asked\" | sed 's/.*\"session\":{[^}]*\"turn\":\\([0-9]*\\).*/\\1/')\n"
         "      told=$(printf %s \"$asked\" | sed 's/.*\"stimuli\":\\[\\([^]]*\\)\\].*/\\1/' | grep -o 'mark-[0-9-]*' | tr '\\n' ' ')\n"
         "      [ -n \"$told\" ] || { echo '{\"say\": \"nothing is left\", \"actions\": []}'; exit 0; }\n"
         "      printf '{\"actions\": [{\"capability\": \"net.http.put\", \"inputs\": {\"url\": \"%s/%s/turn-%s\", \"body\": \"%s\", "
         "\"timeout\": 5, \"sign_with\": \"effects\"}}]}' '" +
         effects_url + "' \"$session\" \"$turn\" \"$told\"\n";
}

}  // namespace

std::string AgentPrefix(const std::string& label) { return "chaos-" + label + "-"; }

std::vector<std::string> AgentKinds() { return {"puts", "posts", "thinks", "asks"}; }

std::string AgentFileOf(const std::string& kind, const std::string& name, const std::string& effects_url, bool goes_on) {
  std::string file = "agent: " + name + "\ncapabilities: [net.http.put, net.http.post]\n";
  file += "limits: {moves_per_minute: 100000, turns_per_wake: 100000, moves_without_change: 100000}\n";
  if (goes_on) file += "on_unknown_outcome: go_on\n";
  if (kind == "asks") file += "ask_before: [net.http.put]\n";
  if (kind == "thinks") return file + ThinkerOf(effects_url);
  file += "planner:\n  rules:\n    - when: length(stimuli) > 0\n      intention: pass on what was said\n      actions:\n";
  if (kind == "posts") return file + CallOf("post", effects_url, "turn-{{session.turn}}", "said: {{stimuli}}");
  file += CallOf("put", effects_url, "turn-{{session.turn}}", "said: {{stimuli}}");
  if (kind == "puts") file += CallOf("put", effects_url, "turn-{{session.turn}}-again", "once more");
  return file;
}

Sessions::Sessions(SessionsOptions options, Recorder* history)
    : options_(std::move(options)), history_(history), ids_(std::size_t(options_.sessions)) {
  clients_.Start(options_.speakers, [this](int n) { Work(n); });
}

bool Sessions::AwaitReady(std::chrono::milliseconds limit) {
  return Await([&] { return made_ == options_.sessions; }, limit);
}

// What is refused for good (a pause of what is stopped) is an answer, too; only a form that is wrong is a failure.
HttpAnswer Sessions::Ask(Speaker& me, const std::string& f, HttpAsk ask, Json args) {
  const std::string path = ask.url;
  if (!options_.api_key.empty()) ask.headers["Authorization"] = "Bearer " + options_.api_key;
  ask.timeout = kAnswerWithin;
  for (;;) {
    ask.url = options_.api_urls[me.random.Below(options_.api_urls.size())] + path;
    const std::int64_t op = history_->Invoke(me.name, f, args);
    const HttpAnswer answer = Http(ask);
    const Json said = answer.json();
    Json value = {{"status", answer.status}};
    const bool refused = answer.status == 409 || (answer.status == 404 && f == "decide");
    if (said.is_object()) {
      if (answer.ok() && said.contains("id")) value["id"] = said["id"];
      if (said.contains("stimulus")) value["stimulus"] = said["stimulus"];
      if (answer.status == 200 && f == "tell") value["heard"] = true;  // within the answer
      if (!answer.ok()) value["error"] = said.value("code", "") + ": " + said.value("detail", "");
    }
    if (!answer.error.empty()) value["error"] = answer.error;
    if (refused) value["refused"] = true;
    const bool wrong = answer.status / 100 == 4 && answer.status != 429 && !refused;
    const bool done = answer.ok() || refused;
    history_->Complete(op, me.name, f, done ? "ok" : wrong || !answer.sent ? "fail" : "info", std::move(value));
    if (done && me.number < options_.speakers) clients_.Answered(me.number);
    if (done || wrong) return answer;
    const bool alone = me.number == options_.speakers;  // who comes in the morning asks on: nobody else is left to end it
    if ((!alone && clients_.giving_up()) || StopAsked()) {
      clients_.NeverAnswered();
      return answer;
    }
    poll(nullptr, 0, 50 + int(me.random.Below(100)));
  }
}

HttpAnswer Sessions::Post(Speaker& me, const std::string& f, const std::string& path, Json body, Json args) {
  const std::string key = fmt::format("agents-{}-{}-{}", options_.seed, me.name, me.said++);
  args["key"] = key;
  return Ask(me, f, {"POST", path, DumpJson(body), {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, {}}, std::move(args));
}

// Every speaker makes its share; every other one is told something with its start.
void Sessions::StartSessions(Speaker& me) {
  const auto kinds = AgentKinds();
  for (int n = me.number; n < options_.sessions && !clients_.giving_up(); n += options_.speakers) {
    const std::string& kind = kinds[std::size_t(n) % kinds.size()];
    const std::string name = AgentPrefix(std::to_string(options_.seed)) + kind + "-" + std::to_string(n);
    Json body = {{"agent", AgentFileOf(kind, name, options_.effects_url, n % 4 < 2)}, {"by", "ann"}};
    Json args = {{"name", name}};
    if (n % 2 == 0) body["message"] = args["mark"] = fmt::format("mark-{}-{}", n, 0);
    const HttpAnswer answer = Post(me, "start_agent", "/v1/agents", std::move(body), std::move(args));
    const Json said = answer.json();
    if (!answer.ok() || !said.is_object()) return;
    ids_[std::size_t(n)] = said.value("id", "");
    ++made_;
  }
}

void Sessions::Work(int number) {
  Speaker me(number, SubSeed(options_.seed, "speaker-" + std::to_string(number)));
  StartSessions(me);
  while (made_ < options_.sessions && !clients_.stopping()) poll(nullptr, 0, 20);
  while (!clients_.stopping()) {
    Act(me);
    poll(nullptr, 0, 10 + int(me.random.Below(120)));
  }
}

void Sessions::Act(Speaker& me) {
  const std::string& id = ids_[me.random.Below(ids_.size())];
  const Json of = {{"session", id}};
  switch (me.random.Below(24)) {
    case 0: (void)Post(me, "pause_agent", "/v1/agents/" + id + "/pause", {{"by", "ann"}}, of); [[fallthrough]];
    case 1:
    case 2: (void)Post(me, "resume_agent", "/v1/agents/" + id + "/resume", {{"by", "ann"}}, of); return;
    case 3: (void)Post(me, "stop_agent", "/v1/agents/" + id + "/stop", {{"by", "ann"}, {"reason", "a drill"}}, of); return;
    case 4:
    case 5:
    case 6:
    case 7: (void)Attend(me, id); return;
    case 8:
    case 9: return Tell(me, id, "interrupt");
    case 10:
    case 11:
    case 12:
    case 13: return Tell(me, id, "steer");
    default: return Tell(me, id, "followup");
  }
}

void Sessions::Tell(Speaker& me, const std::string& id, const std::string& mode) {
  const std::string mark = fmt::format("mark-{}-{}", 1'000 + me.number, me.said);
  (void)Post(me, "tell", "/v1/agents/" + id + "/stimuli", {{"text", mark}, {"mode", mode}, {"by", "ann"}},
             {{"session", id}, {"mark", mark}, {"mode", mode}});
}

bool Sessions::Attend(Speaker& me, const std::string& id) {
  const Json of = {{"session", id}};
  const HttpAnswer answer = Ask(me, "see_agent", {"GET", "/v1/agents/" + id, "", {}, {}}, of);
  const Json seen = answer.json();
  if (!answer.ok() || !seen.is_object()) return false;
  const std::string status = seen.value("status", ""), reason = seen.value("reason", "");
  if (status == "PAUSED" || status == "STOPPED") {
    (void)Post(me, "resume_agent", "/v1/agents/" + id + "/resume", {{"by", "ann"}}, of);
    return false;
  }
  if (status == "WAITING" && seen.contains("approval")) {
    const Json& asked = seen["approval"];
    const Json body = {
        {"decision", me.random.Below(5) == 0 ? "reject" : "approve"}, {"digest", asked.value("digest", "")}, {"approver", "carol"}};
    (void)Post(me, "decide", "/v1/approvals/" + PercentEncode(asked.value("approval_id", "")) + "/decision", body, of);
    return false;
  }
  if (status == "RESTING" && reason.starts_with("uncertain")) {
    const Json body = {{"decision", me.random.Below(2) == 0 ? "happened" : "did_not_happen"}, {"by", "ann"}};
    (void)Post(me, "resolve", "/v1/agents/" + id + "/resolve", body, of);
    return false;
  }
  if (status != "RESTING") return false;
  if (seen.value("waiting", Json::array()).empty()) return true;
  // It went in circles, or its planner failed: a person's word lets it go on. Whoever rests for want of work has heard everything.
  if (!reason.starts_with("no plan") && reason != "nothing to do") Tell(me, id, "followup");
  return false;
}

void Sessions::TellAll() {
  morning_.emplace(options_.speakers, SubSeed(options_.seed, "morning"));
  for (const std::string& id : ids_)
    if (!StopAsked()) Tell(*morning_, id, "followup");
}

bool Sessions::AllRest(std::string& who) {
  int left = 0;
  for (const std::string& id : ids_) {
    if (StopAsked() || Attend(*morning_, id)) continue;
    ++left;
    who = id;
  }
  who = fmt::format("{} sessions of agents do not come to rest, {} among them", left, who);
  return left == 0;
}

}  // namespace acl::chaos
