// The simulated fleet's coordinators: what befalls them, how long their calls take, and what must hold of their jobs.

#include <fmt/format.h>

#include <algorithm>

#include "shared/schedule/cron.h"
#include "tests/sim/job_process.h"
#include "tests/sim/test_bed.h"

namespace acl::test {

namespace {

using coordinator::SecondsOf;

constexpr milliseconds kLeaderTtl{2'000};
constexpr FaultyStore::Rates kRates{.unavailable = 0.03, .lost_request = 0.02, .lost_answer = 0.05};

bool WakesWithWork(const std::string& job) { return job.starts_with("relay-"); }

}  // namespace

// What a coordinator's jobs ask beside the store.
class SimTestBed::AwaitedQueries final : public MemoryQueries {
 public:
  explicit AwaitedQueries(SimTestBed& test_bed) : MemoryQueries(test_bed.store_, test_bed.clock_), test_bed_(test_bed) {}
  Result<std::vector<std::string>> ReadyQueues() override {
    test_bed_.OnTheWay(false);
    auto queues = MemoryQueries::ReadyQueues();
    test_bed_.OnTheWay(true);
    return queues;
  }
  Result<Backlog> ReadBacklog() override {
    test_bed_.OnTheWay(false);
    auto backlog = MemoryQueries::ReadBacklog();
    test_bed_.OnTheWay(true);
    return backlog;
  }

 private:
  SimTestBed& test_bed_;
};

struct SimTestBed::Coordinator {
  // As a configuration with small batches would be, so that a tick seldom gets all.
  class SmallBatches final : public FaultyStore {
   public:
    SmallBatches(SimTestBed& test_bed, int most) : FaultyStore(test_bed.store_, test_bed.random_.Next(), kRates), most_(most) {
      SetStrikes(test_bed.StoreStrikes());
      SetHook([&test_bed](std::string_view function, bool done) { test_bed.OnTheWay(done, function == "Create" ? 4 : 25); });
    }
    Result<ReapAnswer> Reap(int max) override { return FaultyStore::Reap(std::min(max, most_)); }
    Result<FireAnswer> FireTimers(int max) override { return FaultyStore::FireTimers(std::min(max, most_)); }
    Result<DueAnswer> DueReady(std::span<const DueLook> looks, int max) override {
      return FaultyStore::DueReady(looks, std::min(max, most_ * 4));
    }

   private:
    const int most_;
  };

  explicit Coordinator(SimTestBed& test_bed)
      : store(test_bed, 1 + int(test_bed.random_.Below(8))), queries(test_bed), random(test_bed.random_.Next()) {}

  SmallBatches store;
  AwaitedQueries queries;
  SeededRandom random;
  std::uint64_t incarnation = 0;
  bool frozen = false, down = false;
  std::vector<std::function<void()>> deferred;  // what it finds when it goes on
  std::unique_ptr<JobProcess> process;          // or it is dead
  coordinator::ReadyHints hinted;               // of its relays
};

void SimTestBed::MakeCoordinators() {
  schedules_.is_open = [this](const SubjectId& run) { return store_.IsOpen(run); };
  schedules_.has_key = [this](const std::string& key) { return store_.HasRequestKey(key); };
  schedules_.between = [this](std::string_view, bool done) -> Status {
    OnTheWay(done);
    if (!faults()) return {};
    const auto draw = random_.Below(50);
    if (!done && draw < 2 && Strikes(true, "the database refuses a call of a schedule")) return Error{Code::kUnavailable, "injected"};
    if (done && draw < 2 && Strikes(true, "an answer about a schedule is lost")) return Error{Code::kOutcomeUnknown, "injected"};
    return {};
  };
  scheduled_ = load_.MakeSchedules(random_, clock_.Wall(), options_.fault_time);
  for (const schedule::NewSchedule& fresh : scheduled_.schedules) {
    ACL_CHECK(schedules_.Create(fresh).ok(), "a schedule is made");
    const auto cron = *schedule::ParseCron(fresh.row.definition.cron);
    auto& times = fire_times_[fresh.row.name];
    const auto last = SecondsOf(clock_.Wall()) + options_.fault_time.count();
    for (auto time = fresh.row.next_fire_at ? std::optional(SecondsOf(*fresh.row.next_fire_at)) : std::nullopt; time && *time <= last;
         time = schedule::NextFire(cron, *TimeZone::Load("UTC"), *time)) {
      times.push_back(*time);
    }
  }
  for (int i = 0; i < options_.coordinators; ++i) {
    coordinators_.push_back(std::make_shared<Coordinator>(*this));
    After(Ms(0, 500), [this, of = coordinators_.back().get()] { StartCoordinator(*of); });
  }
  After(Ms(500, 1'500), [this] { TroubleCoordinators(); });
}

void SimTestBed::StartCoordinator(Coordinator& of) {
  const std::uint64_t incarnation = ++of.incarnation;
  JobProcess::Outside outside{clock_, of.random, {}, {}, {}, {}};
  outside.after = [this, &of, incarnation](Micros delay, std::function<void()> run) {
    After(delay, [&of, incarnation, run = std::move(run)]() mutable {
      if (of.incarnation != incarnation) return;
      if (of.frozen) {
        of.deferred.push_back(std::move(run));
      } else {
        run();
      }
    });
  };
  outside.reaches_database = [&of] { return !of.down; };
  outside.held = [this](const std::string& name, Token token) {
    Trace(name.size() * 31 + std::uint64_t(token.value));
    ++report_.jobs_taken;
  };
  outside.tick = [this, &of](const std::string& name) { CheckTick(of, name); };
  const auto some = [this](std::uint64_t low, std::uint64_t high) { return std::chrono::duration_cast<milliseconds>(Ms(low, high)); };
  coordinator::JobPlan plan;
  plan.timers = some(100, 1'000);
  plan.reap = some(100, 1'000);
  plan.ready = some(300, 1'000);
  // Longer than anybody is frozen, or a message is on its way.
  plan.keep = {milliseconds(30'000), milliseconds(600'000)};
  plan.content_grace = milliseconds(30'000);
  plan.keep_journals = kKeptJournals;
  plan.look_at_journals = milliseconds(1'700);
  if (messages_) plan.send = [this](const StepMessage& message, int, bool, auto done) { return SendMessage(message, std::move(done)); };
  const auto ring = [this, &of](const std::string& queue) {
    if (of.process) of.process->Wake(WakesWithWork);
    Hint(queue);
  };
  const coordinator::JobContext context{of.store, of.queries, clock_, metrics_, ring, ring};
  const coordinator::ScheduleContext firing{schedules_, {of.store, *scheduled_.capabilities, *scheduled_.kind, ids_}, metrics_, {ring, {}}};
  auto [planned, told] = coordinator::PlanJobs(context, firing, plan);
  of.hinted = std::move(told);
  if (scheduled_.schedules.empty()) std::erase_if(planned, [](const auto& job) { return job.name == coordinator::kSchedulesJob; });
  of.process = std::make_unique<JobProcess>(std::move(planned), WorkerSessionId{ids_.Make()}, kLeaderTtl, of.store, std::move(outside));
}

void SimTestBed::TellReady(const std::vector<StepMessage>& rows, bool all) {
  if (!messages_) return;
  for (const auto& of : coordinators_) {
    if (Strikes(faults() && random_.Below(4) == 0, "rows that were made ready are not heard of")) continue;
    const int times = Strikes(faults() && random_.Below(8) == 0, "rows that were made ready are told twice") ? 2 : 1;
    for (int n = 0; n < times; ++n) {
      After(Ms(0, 5), [this, &of = *of, incarnation = of->incarnation, rows, all] {
        if (of.incarnation != incarnation || !of.process || of.frozen) return;
        report_.ready_hints += std::int64_t(rows.size());
        if (!of.hinted(rows).all || !all) of.process->Wake(WakesWithWork);
      });
    }
  }
}

void SimTestBed::OnTheWay(bool back, std::uint64_t slow_of) {
  if (!JobProcess::InAFiber()) return;
  const char* what = back ? "an answer to a coordinator is slow" : "a coordinator's request is slow";
  const bool slow = Strikes(faults() && random_.Below(slow_of) == 0, what);
  JobProcess::Await(slow ? Ms(200, 3'000) : random_.Below(2) == 0 ? Micros(0) : Micros(random_.Below(4'000)));
}

void SimTestBed::TroubleCoordinators() {
  if (!faults()) {
    for (auto& one : coordinators_) {
      one->store.SetRates({});
      one->store.SetDown(false);
      one->down = false;
    }
    return;
  }
  Coordinator& victim = *coordinators_[random_.Below(coordinators_.size())];
  const std::uint64_t incarnation = victim.incarnation;
  switch (random_.Below(6)) {
    case 0: {  // kill -9, in the middle of whatever it does, back after a while
      if (!victim.process || !Strikes(true, "a coordinator is killed")) break;
      ++report_.coordinators_killed;
      ++victim.incarnation;
      victim.process.reset();
      victim.deferred.clear();
      victim.frozen = false;
      After(Ms(50, 4'000), [this, &victim] { StartCoordinator(victim); });
      break;
    }
    case 1:
    case 2: {  // SIGSTOP, often past its leases
      if (!victim.process || victim.frozen || !Strikes(true, "a coordinator is frozen")) break;
      ++report_.coordinators_frozen;
      victim.frozen = true;
      After(Ms(200, 6'000), [&victim, incarnation] {
        if (victim.incarnation != incarnation) return;
        victim.frozen = false;
        for (auto& late : std::exchange(victim.deferred, {})) late();
      });
      break;
    }
    case 3: {
      if (!Strikes(true, "a coordinator does not reach the database")) break;
      victim.store.SetDown(true);
      victim.down = true;
      After(Ms(200, 4'000), [&victim] {
        victim.store.SetDown(false);
        victim.down = false;
      });
      break;
    }
    default: {
      if (!Strikes(true, "the jobs are stolen")) break;
      ++report_.jobs_stolen;
      store_.ExpireLeaders();
      stolen_until_ = clock_.now() + kLeaderTtl;
    }
  }
  After(Ms(300, 2'000), [this] { TroubleCoordinators(); });
}

// A coordinator trusts a lease less long than the database does: a tick begins under it, unless it was stolen a moment ago.
void SimTestBed::CheckTick(const Coordinator& of, const std::string& job) {
  Trace(job.size() + 17);
  ++report_.ticks;
  for (const auto& other : coordinators_) {
    if (other.get() != &of && other->process && other->process->turning(job)) ++report_.ticks_side_by_side;
  }
  const auto row = store_.LeaderOf(job);
  const bool holds = row && row->session == of.process->session() && row->lease.expires_at > clock_.Wall();
  if (!holds && clock_.now() >= stolen_until_)
    report_.violations.push_back(fmt::format("a tick of the job {} began without its lease", job));
}

bool SimTestBed::SchedulesAreDone() {
  return std::all_of(scheduled_.schedules.begin(), scheduled_.schedules.end(), [&](const schedule::NewSchedule& one) {
    const auto row = schedules_.Get(kDefaultProject, one.row.name);
    return !row->waiting_at && (!row->next_fire_at || SecondsOf(*row->next_fire_at) > fire_times_[one.row.name].back());
  });
}

// Each fire time came to something, once: a run that exists, or a reason why there is none. No run is of a fire time that nobody knows.
void SimTestBed::CheckSchedules() {
  std::map<SubjectId, std::string> runs;  // not accounted for, by schedule
  for (const SubjectId& id : store_.Subjects()) {
    const auto subject = store_.Inspect(id);
    const Json labels = subject->listing ? *ParseJson(subject->listing->labels_json) : Json::object();
    if (labels.contains("schedule")) runs[id] = labels["schedule"].get<std::string>();
  }
  for (const auto& [name, times] : fire_times_) {
    const auto violated = [&, &name = name](const std::string& what) {
      report_.violations.push_back(fmt::format("schedule {}: {}", name, what));
    };
    const auto row = *schedules_.Get(kDefaultProject, name);
    report_.fire_times += std::int64_t(times.size());
    std::set<std::int64_t> accounted;
    const auto fires = schedules_.Fires(row.id, 1'000);
    for (const schedule::FireRow& fire : *fires) {
      const std::int64_t time = SecondsOf(fire.nominal);
      accounted.insert(time);
      if (!std::binary_search(times.begin(), times.end(), time)) violated(fmt::format("fired at {}, which is none of its times", time));
      if (fire.outcome == "failed") violated(fmt::format("fire time {} started nothing: {}", time, fire.reason));
      if (fire.outcome != "started") continue;
      ++report_.scheduled_runs;
      if (!fire.run || runs.erase(*fire.run) == 0) violated(fmt::format("fire time {} has no run of its own", time));
    }
    const auto lost = std::count_if(times.begin(), times.end(), [&](std::int64_t time) { return !accounted.contains(time); });
    if (lost > row.missed) violated(fmt::format("{} of {} fire times came to nothing", lost, times.size()));
  }
  for (const auto& [run, name] : runs)
    report_.violations.push_back(fmt::format("{} is a run of schedule {} and of no fire time", run.ToString(), name));
}

}  // namespace acl::test
