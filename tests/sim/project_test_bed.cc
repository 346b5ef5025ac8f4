#include "tests/sim/project_test_bed.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/kinds/project/evolve.h"

namespace acl::test {

using coordinator::ProjectDesk;
using coordinator::StoreDesk;

namespace {

constexpr std::size_t kDesks = 3, kProjects = 2, kAgents = 6;
constexpr int kMostTries = 40;
constexpr FaultyStore::Rates kBad{.unavailable = 0.03, .lost_request = 0.03, .lost_answer = 0.04};

std::string AnswerText(const ProjectDesk::Done& done) {
  return DumpJson(done.refused ? Json{{"refused", done.refused->reason}} : Json{{"answer", done.answer}});
}

}  // namespace

void ProjectReport::Add(const ProjectReport& other) {
  for (auto member :
       {&ProjectReport::commands, &ProjectReport::refused, &ProjectReport::repeats, &ProjectReport::given_up, &ProjectReport::started,
        &ProjectReport::taken, &ProjectReport::expired, &ProjectReport::late_refused, &ProjectReport::completed, &ProjectReport::abandoned,
        &ProjectReport::killed, &ProjectReport::frozen, &ProjectReport::unknown, &ProjectReport::snapshots, &ProjectReport::together,
        &ProjectReport::rolls, &ProjectReport::dropped}) {
    this->*member += other.*member;
  }
  violations.insert(violations.end(), other.violations.begin(), other.violations.end());
}

std::string ProjectReport::ToString() const {
  return fmt::format(
      "{} commands, {} refused, {} repeats, {} given up, {} started, {} taken, {} expired, {} late holders refused, {} completed, {} "
      "blocked "
      "as abandoned, {} desks killed, {} frozen, {} outcomes unknown, {} snapshots, {} journals began, {} events dropped, {} violations",
      commands, refused, repeats, given_up, started, taken, expired, late_refused, completed, abandoned, killed, frozen, unknown, snapshots,
      rolls, dropped, violations.size());
}

ProjectTestBed::ProjectTestBed(std::uint64_t seed)
    : random_(seed), store_(clock_), queries_(store_, clock_), names_(queries_, clock_), ids_(clock_, random_) {
  store_.SetLeastJournalRetention(kKeptJournals);
  for (std::size_t n = 0; n < kDesks; ++n) {
    desks_.push_back(std::make_unique<Desk>());
    StartDesk(n);
  }
}

ProjectTestBed::~ProjectTestBed() {
  for (auto& desk : desks_) desk->fiber.reset();  // before what stands on its stack
}

void ProjectTestBed::After(Micros delay, std::function<void()> run) { planned_.push({clock_.now() + delay, ++order_, std::move(run)}); }

// ---- desks

void ProjectTestBed::StartDesk(std::size_t number) {
  Desk& desk = *desks_[number];
  desk.fiber.reset();
  desk.desk.reset();
  ++desk.incarnation;
  desk.idle = false;
  desk.store = std::make_unique<FaultyStore>(store_, random_.Below(1'000'000'007), faults() ? kBad : FaultyStore::Rates{});
  desk.store->SetHook([this, number](std::string_view, bool) { Suspend(number); });
  coordinator::CommandService::Options options;
  options.segment_events = random_.Below(4) == 0 ? kSegmentEvents : kLeastSegmentEvents + std::int64_t(random_.Below(20));
  desk.desk = std::make_unique<StoreDesk>(*desk.store, queries_, names_, *kind_, ids_, options);
  desk.fiber = std::make_unique<Fiber>([this, &desk] { Serve(desk); });
  ResumeAfter(number, Ms(0, 5));
}

// On the desk's fiber.
void ProjectTestBed::Serve(Desk& desk) {
  while (true) {
    if (desk.line.empty()) {
      desk.idle = true;
      desk.fiber->Suspend();
      desk.idle = false;
      continue;
    }
    const auto request = desk.line.front();
    desk.line.pop_front();
    if (!request->done) {
      (void)desk.desk->commands().DecideInbox(SubjectId{request->project.uuid}).ok();
      continue;
    }
    auto done = desk.desk->Execute(request->project, request->asked);
    if (!done && done.code() != Code::kUnavailable && done.code() != Code::kOutcomeUnknown && done.code() != Code::kTimeout) {
      Violated(fmt::format("{} of {}: {}", request->asked.command.name, request->project.ToString(), done.message()));
    }
    if (!done && done.code() == Code::kOutcomeUnknown) ++report_.unknown;
    if (!done) continue;  // it is asked again
    const std::string& key = *request->asked.request_key;
    const auto [first, fresh] = answered_.try_emplace(key, AnswerText(*done));
    if (!fresh) ++report_.repeats;
    if (first->second != AnswerText(*done))
      Violated(fmt::format("key {} was answered {} and then {}", key, first->second, AnswerText(*done)));
    if (std::exchange(request->answered, true)) continue;
    request->done(*done);
  }
}

void ProjectTestBed::Suspend(std::size_t number) {
  Desk& desk = *desks_[number];
  ResumeAfter(number, random_.Below(20) == 0 ? Ms(50, 900) : Ms(0, 4));
  desk.fiber->Suspend();
}

void ProjectTestBed::ResumeAfter(std::size_t number, Micros delay) {
  After(delay, [this, number, incarnation = desks_[number]->incarnation] {
    Desk& desk = *desks_[number];
    if (desk.incarnation != incarnation || desk.fiber->ended()) return;
    if (desk.frozen_until > clock_.now()) return ResumeAfter(number, desk.frozen_until - clock_.now());
    desk.fiber->Resume();
  });
}

// Any desk, again and again until somebody answers; now and then two at once.
void ProjectTestBed::Ask(std::shared_ptr<Request> request) {
  if (request->answered) return;
  if (++request->tries > kMostTries) {
    ++report_.given_up;
    return;
  }
  const int copies = request->done && faults() && random_.Below(10) == 0 ? 2 : 1;
  for (int n = 0; n < copies; ++n) {
    const std::size_t number = random_.Below(kDesks);
    Desk& desk = *desks_[number];
    desk.line.push_back(request);
    if (desk.line.size() > 1) ++report_.together;
    if (std::exchange(desk.idle, false)) ResumeAfter(number, Ms(0, 2));
  }
  if (request->done) After(Ms(800, 3'000), [this, request] { Ask(request); });
}

void ProjectTestBed::Trouble() {
  if (!faults()) {
    for (auto& desk : desks_) desk->store->SetRates({}), desk->frozen_until = {};
    return;
  }
  const std::size_t number = random_.Below(kDesks);
  Desk& desk = *desks_[number];
  if (random_.Below(2) == 0) {
    ++report_.killed;
    desk.line.clear();  // whoever asked hears nothing
    StartDesk(number);
  } else {
    ++report_.frozen;
    desk.frozen_until = clock_.now() + Ms(500, 8'000);
  }
  After(Ms(700, 4'000), [this] { Trouble(); });
}

// Timers, and what is unread where nobody asks.
void ProjectTestBed::Upkeep() {
  (void)store_.FireTimers(100).ok();
  (void)store_.DropSegments(kKeptJournals, 10).ok();
  for (const ProjectId& project : projects_) {
    const auto subject = store_.Inspect(SubjectId{project.uuid});
    if (!subject || subject->inbox.empty()) continue;
    auto settle = std::make_shared<Request>();
    settle->project = project;
    Ask(settle);
  }
  if (clock_.now() < end_) After(Ms(300, 900), [this] { Upkeep(); });
}

// ---- agents

void ProjectTestBed::MakeProjects() {
  StoreDesk desk(store_, queries_, names_, *kind_, ids_);
  for (std::size_t n = 0; n < kProjects; ++n) {
    auto made = desk.Create({{"create_project", {{"name", fmt::format("p{}", n)}}, "sim"}, std::nullopt, std::nullopt, std::nullopt});
    projects_.push_back(made->project);
    (void)desk.Execute(made->project, {{"create_goal", {{"text", "a goal"}}, "sim"}, std::nullopt, std::nullopt, std::nullopt}).ok();
  }
  for (std::size_t n = 0; n < kAgents; ++n) {
    agents_.push_back(std::make_unique<Agent>());
    agents_.back()->name = fmt::format("agent-{}", n);
    agents_.back()->project = projects_[n % kProjects];
    After(Ms(0, 500), [this, agent = agents_.back().get()] { Act(*agent); });
  }
}

void ProjectTestBed::Command(Agent& agent, const std::string& name, Json arguments, std::function<void(const ProjectDesk::Done&)> then) {
  auto request = std::make_shared<Request>();
  request->project = agent.project;
  request->asked.command = {name, std::move(arguments), agent.name};
  request->asked.request_key = fmt::format("{}-{}", agent.name, ++agent.commands);
  request->done = [this, &agent, name, then = std::move(then)](const ProjectDesk::Done& done) {
    ++report_.commands;
    if (done.refused) ++report_.refused;
    if (done.refused && done.refused->reason == "LATE_HOLDER") ++report_.late_refused;
    then(done);
    if (clock_.now() < end_) After(Ms(20, 400), [this, &agent] { Act(agent); });
  };
  Ask(std::move(request));
}

void ProjectTestBed::Act(Agent& agent) {
  if (clock_.now() >= end_) return;
  if (faults() && random_.Below(12) == 0) {  // it sleeps, maybe through its claim
    After(Ms(2'000, 20'000), [this, &agent] { Act(agent); });
  } else if (!agent.task.empty() && random_.Below(8) != 0) {
    Work(agent);
  } else {
    Plan(agent);
  }
}

// On the task that it believes to hold.
void ProjectTestBed::Work(Agent& agent) {
  const Json mine = {{"task_id", agent.task}, {"token", agent.token}};
  const auto gone = [&agent](const ProjectDesk::Done& done) {
    if (!done.refused || done.refused->reason == "LATE_HOLDER" || done.refused->reason == "CLAIMED") agent.task.clear();
  };
  const auto kept = [&agent](const ProjectDesk::Done& done) {
    if (done.refused) agent.task.clear();
  };
  Json arguments = mine;
  switch (random_.Below(7)) {
    case 0:
    case 1: {
      arguments["where_we_left_off"] = fmt::format("Command {} of {}.", agent.commands, agent.name);
      arguments["next_step"] = "Go on";
      return Command(agent, "update_checkpoint", std::move(arguments), kept);
    }
    case 2: arguments["claim_seconds"] = 1 + random_.Below(10); return Command(agent, "renew_claim", std::move(arguments), kept);
    case 3: return Command(agent, "pause_task", std::move(arguments), gone);
    case 4: arguments["blocker"] = "something"; return Command(agent, "block_task", std::move(arguments), gone);
    default:
      return Command(agent, "complete_task", std::move(arguments), [this, gone](const ProjectDesk::Done& done) {
        if (!done.refused) ++report_.completed;
        gone(done);
      });
  }
}

void ProjectTestBed::Plan(Agent& agent) {
  const auto subject = store_.Inspect(SubjectId{agent.project.uuid});
  const std::string any = fmt::format("t{}", 1 + random_.Below(12));
  const auto took = [this, &agent](const ProjectDesk::Done& done) {
    if (done.refused || !done.answer.contains("claim")) return;
    const Json& claim = done.answer.at("claim");
    agent.task = done.answer.at("task_id");
    agent.token = claim.at("token");
    ++report_.taken;
    const auto [told, fresh] = claims_.try_emplace({agent.project, agent.task, agent.token}, agent.name);
    if (!fresh && told->second != agent.name)
      Violated(fmt::format("claim {} of {} was given to {} and to {}", agent.token, agent.task, told->second, agent.name));
  };
  const auto nothing = [](const ProjectDesk::Done&) {};
  switch (random_.Below(10)) {
    case 0:
    case 1: {
      const std::string title = fmt::format("task {} of {}", agent.commands + 1, agent.name);
      Json arguments = {{"goal_id", "g1"}, {"title", title}, {"priority", random_.Below(5)}};
      if (random_.Below(3) == 0) arguments["depends_on"] = {any};
      return Command(agent, "add_task", std::move(arguments), [this, &agent, title](const ProjectDesk::Done& done) {
        if (!done.refused) titles_[{agent.project, done.answer.at("task_id")}] = title;
      });
    }
    case 2: return Command(agent, "unblock_task", {{"task_id", any}}, nothing);
    case 3: return Command(agent, "reopen_task", {{"task_id", any}, {"claim_seconds", 1 + random_.Below(10)}}, took);
    case 4: return Command(agent, "start_task", {{"task_id", any}, {"claim_seconds", 1 + random_.Below(10)}}, took);
    case 5: return Command(agent, random_.Below(2) == 0 ? "pause_goal" : "resume_goal", {{"goal_id", "g1"}}, nothing);
    default: return Command(agent, "take_next", {{"claim_seconds", 1 + random_.Below(10)}}, took);
  }
}

// ---- checks

ProjectReport ProjectTestBed::Run() {
  faults_end_ = clock_.now() + std::chrono::seconds(40);
  end_ = faults_end_ + std::chrono::seconds(20);
  MakeProjects();
  After(Ms(500, 2'000), [this] { Trouble(); });
  After(Ms(100, 500), [this] { Upkeep(); });
  const Micros over = end_ + std::chrono::seconds(60);  // what is on its way comes home
  while (!planned_.empty() && planned_.top().at < over) {
    const Planned next = planned_.top();
    planned_.pop();
    clock_.Set(next.at);
    next.run();
  }
  CheckAll();
  return report_;
}

void ProjectTestBed::CheckAll() {
  if (report_.given_up > 0) Violated("somebody was never answered, though all was well in the end");
  std::string chains;
  for (const ProjectId& project : projects_) {
    CheckProject(project);
    chains += ToHex(store_.Inspect(SubjectId{project.uuid})->head.chain);
  }
  report_.end = Sha256(chains);
}

void ProjectTestBed::CheckProject(const ProjectId& project) {
  MemorySubject subject = *store_.Inspect(SubjectId{project.uuid});
  const std::string name = project.ToString();
  if (subject.quarantined()) return Violated(name + " is quarantined: " + subject.quarantines.back().detail);
  report_.snapshots += std::int64_t(subject.snapshots.size());
  report_.rolls += subject.head.journal_first > 1 ? std::int64_t(subject.segments.size()) : 0;
  report_.dropped += std::int64_t(subject.dropped.size());
  if (const std::int64_t first = subject.events.front().seq; first > 1) {  // what is kept can be read alone
    const auto closing = std::find_if(subject.snapshots.begin(), subject.snapshots.end(),
                                      [&](const Snapshot& snapshot) { return snapshot.last_event_seq == first - 1; });
    if (closing == subject.snapshots.end()) return Violated(name + ": the snapshot that its journals begin with is gone");
    auto kept = Restore(subject.id, *closing, subject.events, [this](const Hash256& hash) { return store_.GetContent(hash); });
    if (!kept) return Violated(name + ": what is kept of it: " + kept.message());
    if (Status matches = MatchesHead(*kept, subject.head.seq, subject.head.chain, subject.head.state_root); !matches)
      Violated(name + ": what is kept of it: " + matches.message());
  }
  subject.events = subject.AllEvents();
  auto restored = Restore(subject.id, std::nullopt, subject.events, [](const Hash256&) -> Result<std::string> {
    return Error{Code::kNotFound, "nothing lies apart"};
  });
  if (!restored) return Violated(name + ": " + restored.message());
  if (Status matches = MatchesHead(*restored, subject.head.seq, subject.head.chain, subject.head.state_root); !matches)
    Violated(name + ": " + matches.message());
  const project::Work work = project::ReadWork(restored->state);
  for (const auto& [key, title] : titles_) {
    if (key.first != project) continue;
    const auto task = work.tasks.find(key.second);
    if (task == work.tasks.end() || task->second.title != title) Violated(fmt::format("{}: {} was answered and is lost", name, key.second));
  }
  std::set<std::string> once;
  for (const auto& [id, task] : work.tasks) {
    if (!once.insert(task.title).second) Violated(fmt::format("{}: \"{}\" was added twice", name, task.title));
    if (task.claim && !subject.timers.contains("claim:" + id)) Violated(fmt::format("{}: the claim of {} never runs out", name, id));
  }
  std::map<std::pair<std::string, std::string>, std::string> shown;
  restored->state.ForEach([&](const std::string& key, const Json& value) {
    if (auto row = kind_->Show(key, &value)) shown[{row->table, row->id}] = *row->row;
    return true;
  });
  if (shown != subject.rows_shown) Violated(name + ": what is shown is not what is");
  if (!subject.inbox.empty()) Violated(name + ": something was never read");
  CheckClaims(subject);
}

// Told from the events alone: one holder at a time, under tokens that grow, and nobody else does what is the holder's.
void ProjectTestBed::CheckClaims(const MemorySubject& subject) {
  struct Held {
    std::string holder;
    std::int64_t token = 0;
    WallTime expires;
  };
  std::map<std::string, Held> held;
  std::map<std::string, std::int64_t> last_token;
  const ProjectId project{subject.id.uuid};
  for (const Event& event : subject.events) {
    const Json payload = *ParseJson(*event.payload, kStoredJson);
    const std::string task = payload.value("task_id", ""), by = payload.value("by", "");
    const auto wrong = [&](const std::string& what) {
      Violated(fmt::format("event {} of {}: {}", event.seq, subject.id.ToString(), what));
    };
    namespace events = project::events;
    const bool given = event.type == events::kTaskStarted || event.type == events::kTaskReopened;
    if (given || event.type == events::kClaimRenewed) {
      const Json& claim = payload.at("claim");
      const std::int64_t token = claim.at("token");
      if (given && held.contains(task)) wrong("a task that somebody holds is given again");
      if (!given && (!held.contains(task) || held[task].holder != by)) wrong("renewed by one who does not hold it");
      if (token < last_token[task] || (given && token == last_token[task])) wrong("a token that does not grow");
      last_token[task] = token;
      held[task] = {by, token, *ParseWallTime(claim.at("expires").get_ref<const std::string&>())};
      const auto told = claims_.find({project, task, token});
      if (told != claims_.end() && told->second != by) wrong("a claim of which another was told");
      if (given) ++report_.started;
    } else if (event.type == events::kClaimExpired) {
      ++report_.expired;
      if (!held.contains(task) || held[task].expires > event.timestamp) wrong("a claim ran out before its time");
      if (payload.contains("blocker")) ++report_.abandoned;
      held.erase(task);
    } else if (event.type == events::kTaskPaused || event.type == events::kTaskBlocked || event.type == events::kTaskCompleted) {
      if (!held.contains(task) || held[task].holder != by) wrong("said by one who does not hold the task: " + event.type);
      held.erase(task);
    } else if (event.type == events::kCheckpoint) {
      if (held.contains(task) && held[task].holder != by) wrong("another's checkpoint");
    }
  }
}

}  // namespace acl::test
