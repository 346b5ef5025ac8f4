#include "chaos/load/agents.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "chaos/plan/schedule.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

constexpr int kMostClaimSeconds = 4, kLongestSleepMs = 6'000;

HttpAsk AskOf(const std::string& url, const std::string& api_key, const std::string& key, const Json& body) {
  HttpAsk ask{
      "POST", url, DumpJson(body), {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, std::chrono::milliseconds(3'000)};
  if (!api_key.empty()) ask.headers["Authorization"] = "Bearer " + api_key;
  return ask;
}

}  // namespace

std::string ProjectPrefix(const std::string& label) { return "chaos-" + label + "-"; }

Agents::Agents(AgentsOptions options, Recorder* history) : options_(std::move(options)), history_(history) {
  for (int n = 0; n < options_.projects; ++n) projects_.push_back(std::make_unique<Project>());
  clients_.Start(options_.agents, [this](int n) { Work(n); });
}

bool Agents::AwaitReady(std::chrono::milliseconds limit) {
  return Await([&] { return made_ == options_.projects; }, limit) && AwaitAnswers(1, limit);
}

std::optional<Agents::Told> Agents::AskUntilAnswered(const Command& command, Random& random) {
  Json body = command.arguments;
  body["by"] = command.by;
  const Json args = {{"key", command.key}, {"project", command.project}, {"by", command.by}, {"arguments", command.arguments}};
  for (;;) {
    const std::string& url = options_.api_urls[random.Below(options_.api_urls.size())];
    const std::int64_t op = history_->Invoke(command.by, command.name, args);
    const HttpAnswer answer = Http(AskOf(url + command.path, options_.api_key, command.key, body));
    const Json said = answer.json();
    Told told;
    told.reason = said.is_object() ? said.value("reason", "") : "";
    told.refused = (answer.status == 409 || answer.status == 404) && !told.reason.empty();
    Json value = {{"status", answer.status}};
    if (answer.ok() || told.refused) {
      value["event_seq"] = said.value("event_seq", std::int64_t(0));
      if (told.refused) value["refused"] = told.reason;
      if (answer.ok()) value["answer"] = told.answer = said.value("answer", Json::object());
      history_->Complete(op, command.by, command.name, "ok", std::move(value));
      return told;
    }
    value["error"] = answer.error.empty() ? said.is_object() ? said.value("code", "") + ": " + said.value("detail", "") : "" : answer.error;
    const bool wrong = answer.status / 100 == 4 && answer.status != 429;
    history_->Complete(op, command.by, command.name, wrong || !answer.sent ? "fail" : "info", std::move(value));
    if (wrong) return std::nullopt;
    if (clients_.giving_up()) {
      clients_.NeverAnswered();
      return std::nullopt;
    }
    poll(nullptr, 0, 50 + int(random.Below(100)));
  }
}

// Now and then twice at once, or once more when it is answered: the answer must be the same.
std::optional<Agents::Told> Agents::SayAs(Agent& me, Command command) {
  std::thread beside;
  if (me.random.Below(20) == 0) {
    beside = std::thread([this, command, seed = me.random.Next()] {
      SeededRandom random(seed);
      (void)AskUntilAnswered(command, random);
    });
  }
  auto told = AskUntilAnswered(command, me.random);
  if (told) clients_.Answered(me.number);
  if (beside.joinable()) beside.join();
  if (told && me.random.Below(20) == 0) (void)AskUntilAnswered(command, me.random);
  return told;
}

std::optional<Agents::Told> Agents::Say(Agent& me, const std::string& name, Json arguments) {
  const std::string key = Mark(me);
  ++me.commands;
  return SayAs(me, {name, key, me.name, "/v1/projects/" + me.project->id + "/" + name, me.project->id, std::move(arguments)});
}

std::string Agents::Mark(const Agent& me) const { return fmt::format("agents-{}-{}-{}", options_.seed, me.number, me.commands); }

void Agents::Rest(Agent& me, int least_ms, int most_ms) {
  constexpr int kLookMs = 100;  // whether it should stop
  for (int left = least_ms + int(me.random.Below(std::uint64_t(most_ms - least_ms + 1))); left > 0 && !clients_.stopping(); left -= kLookMs)
    poll(nullptr, 0, std::min(left, kLookMs));
}

// Every agent makes its share, each project with a goal and two tasks.
void Agents::MakeProjects(Agent& me) {
  for (int n = me.number; n < options_.projects && !clients_.giving_up(); n += options_.agents) {
    Project& project = *projects_[std::size_t(n)];
    const Json named = {{"name", ProjectPrefix(std::to_string(options_.seed)) + std::to_string(n)}};
    const auto made = SayAs(me, {"create_project", Mark(me), me.name, "/v1/projects", "", named});
    ++me.commands;
    if (!made || made->refused) return;
    project.id = made->answer.value("project_id", "");
    me.project = &project;
    (void)Say(me, "create_goal", {{"text", Mark(me)}});
    for (int task = 0; task < 2; ++task) (void)Say(me, "add_task", {{"goal_id", "g1"}, {"title", Mark(me)}});
    project.tasks = 2;
    ++made_;
  }
}

void Agents::Work(int number) {
  Agent me(number, SubSeed(options_.seed, "agent-" + std::to_string(number)));
  MakeProjects(me);
  while (made_ < options_.projects && !clients_.stopping()) Rest(me, 20, 40);
  while (!clients_.stopping()) {
    Act(me);
    Rest(me, 100, 600);
  }
}

void Agents::Act(Agent& me) {
  if (me.random.Below(12) == 0) Rest(me, 1'500, kLongestSleepMs);  // maybe through its claim
  if (clients_.stopping()) return;
  if (me.random.Below(6) == 0) LookAtNext(me);
  if (!me.task.empty() && me.random.Below(8) != 0) return OnItsTask(me);
  if (me.task.empty() && me.number % 2 == 1) me.project = projects_[me.random.Below(projects_.size())].get();
  if (me.number % 2 == 0) me.project = projects_.front().get();
  LookForWork(me);
}

void Agents::OnItsTask(Agent& me) {
  Json arguments = {{"task_id", me.task}, {"token", me.token}};
  std::string name = "complete_task";
  bool keeps = false;
  switch (me.random.Below(8)) {
    case 0:
    case 1:
      name = "update_checkpoint", keeps = true;
      arguments["where_we_left_off"] = "Said under " + Mark(me) + ".";
      arguments["next_step"] = "Go on";
      break;
    case 2: name = "renew_claim", keeps = true, arguments["claim_seconds"] = 1 + me.random.Below(kMostClaimSeconds); break;
    case 3: name = "pause_task", arguments["reason"] = Mark(me); break;
    case 4: name = "block_task", arguments["blocker"] = Mark(me); break;
    default: arguments["evidence"] = {{{"kind", "person"}, {"by", me.name}, {"said", Mark(me)}}};
  }
  const auto told = Say(me, name, std::move(arguments));
  if (!told || told->refused || !keeps) me.task.clear();
}

void Agents::LookForWork(Agent& me) {
  const int known = std::max(1, me.project->tasks.load());
  const std::string any = fmt::format("t{}", 1 + me.random.Below(std::uint64_t(known)));
  const Json seconds = 1 + me.random.Below(kMostClaimSeconds);
  switch (me.random.Below(12)) {
    case 0:
    case 1: {
      Json arguments = {{"goal_id", "g1"}, {"title", Mark(me)}, {"priority", me.random.Below(5)}};
      if (me.random.Below(4) == 0) arguments["depends_on"] = {any};
      const auto told = Say(me, "add_task", std::move(arguments));
      if (told && !told->refused) ++me.project->tasks;
      return;
    }
    case 2:
    case 3: (void)Say(me, "unblock_task", {{"task_id", any}, {"reason", Mark(me)}}); return;
    case 4: return Take(me, Say(me, "reopen_task", {{"task_id", any}, {"claim_seconds", seconds}}));
    case 5:
    case 6: return Take(me, Say(me, "start_task", {{"task_id", any}, {"claim_seconds", seconds}}));
    case 7: {
      const bool pause = me.random.Below(3) == 0;
      (void)Say(me, pause ? "pause_goal" : "resume_goal", {{"goal_id", "g1"}, {"reason", Mark(me)}});
      return;
    }
    default: return Take(me, Say(me, "take_next", {{"claim_seconds", seconds}}));
  }
}

void Agents::LookAtNext(Agent& me) {
  if (me.project == nullptr) return;
  const std::string& url = options_.api_urls[me.random.Below(options_.api_urls.size())];
  HttpAsk ask{"GET", url + "/v1/projects/" + me.project->id + "/next?actor=" + me.name, "", {}, std::chrono::milliseconds(3'000)};
  if (!options_.api_key.empty()) ask.headers["Authorization"] = "Bearer " + options_.api_key;
  const std::int64_t op = history_->Invoke(me.name, "get_next_step", {{"project", me.project->id}, {"by", me.name}});
  const HttpAnswer answer = Http(ask);
  const Json said = answer.json();
  Json value = {{"status", answer.status}};
  if (answer.ok()) value["saw_seq"] = said.value("event_seq", std::int64_t(0));
  if (!answer.ok()) value["error"] = answer.error.empty() && said.is_object() ? said.value("code", "") : answer.error;
  const bool wrong = answer.status / 100 == 4 && answer.status != 429;
  history_->Complete(op, me.name, "get_next_step", answer.ok() ? "ok" : wrong || !answer.sent ? "fail" : "info", std::move(value));
}

void Agents::Take(Agent& me, const std::optional<Told>& told) {
  if (!told || told->refused || !told->answer.contains("claim")) return;
  me.task = told->answer.value("task_id", "");
  me.token = told->answer["claim"].value("token", std::int64_t(0));
}

}  // namespace acl::chaos
