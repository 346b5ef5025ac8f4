// What a command, the next step and the first look after a restart cost, by the number of open tasks of a project
// (docs/lab/2026-11-performance.md, "Projects"): without database and threads; Stored... with both, on a PostgreSQL in which nothing waits
// for the disk. Run: ./dev bench micro projects

#include <benchmark/benchmark.h>

#include "coordinator/commands/commanded.h"
#include "coordinator/projects/store_desk.h"
#include "shared/kernel/fold.h"
#include "shared/kinds/project/agenda.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/postgres/pg_project_names.h"
#include "shared/postgres/pg_queries.h"
#include "tests/bench/backend.h"

namespace acl {
namespace {

using coordinator::CommandAsked;

constexpr int kGoals = 10;

WallTime Time(std::int64_t seconds) { return WallTime(std::chrono::seconds(1'800'000'000 + seconds)); }

// A project as a coordinator remembers it: goals, tasks of all priorities of which a few are being done or blocked, checkpoints.
class Remembered {
 public:
  explicit Remembered(std::int64_t tasks) : kind_(project::MakeProjectKind()) {
    known_.restored.chain = ChainStart(subject_);
    Do("create_project", {{"name", "bench"}});
    for (int i = 0; i < kGoals; ++i) Do("create_goal", {{"text", "a goal"}, {"priority", i % 5}});
    for (std::int64_t i = 1; i <= tasks; ++i) AddTask(i);
    for (std::int64_t i = 1; i <= 3; ++i) Do("start_task", {{"task_id", TaskName(i)}});
  }

  Json Do(const std::string& name, Json arguments, const std::string& by = "ann") {
    Json answer = Ask(name, std::move(arguments), by);
    ACL_CHECK(answer.contains("answer"), "the bench's command is refused");
    return answer;
  }

  Json Ask(const std::string& name, Json arguments, const std::string& by) {
    CommandAsked asked;
    asked.command = project::CommandToJson({name, std::move(arguments), by}, {});
    CommandView view;
    Claimed& claimed = view.claimed;
    claimed.subject = subject_;
    claimed.token = {known_.restored.last_token.value + 1};
    claimed.head = {known_.restored.head_seq, known_.restored.chain, known_.restored.state.Root(), {}, known_.head_at};
    claimed.db_now = Time(++seconds_);
    claimed.sticky = true;
    auto round = coordinator::DecideRound(*kind_, view, {}, known_, {&asked, 1}, aid_.get());
    ACL_CHECK(round.ok() && round->item, "the bench's command does not come to an item");
    for (Event& event : round->item->item.events) journal_.push_back(event);
    known_ = std::move(round->after);
    return std::move(round->replies.front().answer);
  }

  static std::string TaskName(std::int64_t i) { return "t" + std::to_string(i); }
  const Document& state() const { return known_.restored.state; }
  const coordinator::Known& known() const { return known_; }
  const SubjectId& subject() const { return subject_; }
  std::vector<Event> TakeJournal() { return std::exchange(journal_, {}); }

 private:
  void AddTask(std::int64_t i) {
    Json task = {{"title", "a task of some forty letters, as people name"}, {"goal_id", "g" + std::to_string(1 + i % kGoals)}};
    task["priority"] = i % 5;
    task["acceptance_criteria"] = {"what must hold for it to be done", "and another"};
    if (i > 10 && i % 3 == 0) task["depends_on"] = {TaskName(i - 7)};
    Do("add_task", std::move(task));
    if (i % 4 != 0) return;
    Do("update_checkpoint", {{"task_id", TaskName(i)},
                             {"where_we_left_off", "It stands half done. The other half is written down."},
                             {"next_step", "Write the other half"}});
  }

  const SubjectId subject_{Uuid{{1}}};
  const std::shared_ptr<const CommandKind> kind_;
  const std::shared_ptr<Aid> aid_ = kind_->MakeAid();
  coordinator::Known known_;
  std::vector<Event> journal_;
  std::int64_t seconds_ = 0;
};

// A checkpoint: the command that is given most.
void Checkpoint(benchmark::State& bench) {
  Remembered project(bench.range(0));
  const Json checkpoint = {{"task_id", "t1"}, {"where_we_left_off", "It stands so."}, {"next_step", "Write page two"}};
  for (auto _ : bench) benchmark::DoNotOptimize(project.Do("update_checkpoint", checkpoint));
}
BENCHMARK(Checkpoint)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000);

// Four commands: what is next is chosen and begun, put back, its goal is paused and goes on.
void TakeNext(benchmark::State& bench) {
  Remembered project(bench.range(0));
  for (auto _ : bench) {
    const std::string task = project.Do("take_next", Json::object(), "bo").at("answer").at("task_id");
    project.Do("pause_task", {{"task_id", task}}, "bo");
    project.Do("pause_goal", {{"goal_id", "g1"}});
    project.Do("resume_goal", {{"goal_id", "g1"}});
  }
}
BENCHMARK(TakeNext)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000);

// Warm: a task was taken or given back since it was asked for last.
void Next(benchmark::State& bench) {
  Remembered project(bench.range(0));
  project::Agenda agenda;
  agenda.Choose(project.state(), "bo");
  bool taken = false;
  for (auto _ : bench) {
    bench.PauseTiming();
    project.Do(taken ? "pause_task" : "start_task", {{"task_id", "t4"}}, "bo");
    taken = !taken;
    bench.ResumeTiming();
    benchmark::DoNotOptimize(agenda.Choose(project.state(), "bo"));
  }
}
BENCHMARK(Next)->Arg(10)->Arg(10'000)->Arg(100'000);

// What defines the answer.
void NextByReadingAll(benchmark::State& bench) {
  const Remembered project(bench.range(0));
  for (auto _ : bench) benchmark::DoNotOptimize(project::ChooseNext(project.state(), "bo"));
}
BENCHMARK(NextByReadingAll)->Arg(10)->Arg(10'000);

// Cold: the newest snapshot, as many events after it as there are at most, and the first next step. 100,000 events, of which those before
// the snapshot are not read.
void Rehydrate(benchmark::State& bench) {
  Remembered project(bench.range(0));
  while (project.known().restored.head_seq < 100'000 - 511)
    project.Do("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "It stands so."}, {"next_step", "Write page two"}});
  const auto& at = project.known().restored;
  const EncodedSnapshot encoded = EncodeSnapshot(at.state, at.head_seq, at.chain);
  const std::map<Hash256, std::string> contents(encoded.contents.begin(), encoded.contents.end());
  project.TakeJournal();
  for (int i = 0; i < 511; ++i)
    project.Do("update_checkpoint", {{"task_id", "t2"}, {"where_we_left_off", "It stands so."}, {"next_step", "Write page two"}});
  const std::vector<Event> after = project.TakeJournal();
  const ChunkReader read = [&](const Hash256& hash) -> Result<std::string> { return contents.at(hash); };
  for (auto _ : bench) {
    auto restored = Restore(project.subject(), encoded.snapshot, after, read);
    ACL_CHECK(restored.ok() && restored->head_seq == 100'000, "the bench's project does not restore");
    auto agenda = std::make_unique<project::Agenda>();
    benchmark::DoNotOptimize(agenda->Choose(restored->state, "bo"));
    bench.PauseTiming();  // forgotten again
    agenda.reset();
    restored->state = Document();
    bench.ResumeTiming();
  }
}
BENCHMARK(Rehydrate)->Arg(10)->Arg(10'000)->Unit(benchmark::kMillisecond);

// The same project at a coordinator's desk.
class Stored {
 public:
  explicit Stored(std::int64_t tasks) {
    id_ = Must(desk_.Create({{"create_project", {{"name", "bench"}}, "ann"}, {}, {}, {}})).project;
    Do("create_goal", {{"text", "a goal"}});
    for (std::int64_t i = 1; i <= tasks; ++i)
      Do("add_task", {{"title", "a task of some forty letters, as people name"}, {"goal_id", "g1"}, {"priority", i % 5}});
    Do("start_task", {{"task_id", "t1"}});
  }
  Json Do(const std::string& name, Json arguments, const std::string& by = "ann") {
    auto done = Must(desk_.Execute(id_, {{name, std::move(arguments), by}, {}, {}, {}}));
    ACL_CHECK(!done.refused, "the bench's command is refused");
    return std::move(done.answer);
  }
  project::NextStep Next() { return Must(desk_.Read(id_))->Next("bo"); }
  // A coordinator that remembers nothing.
  std::unique_ptr<coordinator::StoreDesk> NewDesk() {
    return std::make_unique<coordinator::StoreDesk>(backend_.store(), queries_, names_, *kind_, ids_);
  }
  const ProjectId& id() const { return id_; }

 private:
  Backend backend_{"true"};
  PgQueries queries_{backend_.store()};
  PgProjectNames names_{backend_.store().pool()};
  SystemClock clock_;
  SystemRandom random_;
  Uuid7Maker ids_{clock_, random_};
  const std::shared_ptr<const CommandKind> kind_ = project::MakeProjectKind();
  coordinator::StoreDesk desk_{backend_.store(), queries_, names_, *kind_, ids_};
  ProjectId id_;
};

void StoredCheckpoint(benchmark::State& bench) {
  Stored project(bench.range(0));
  for (auto _ : bench) project.Do("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "It stands so."}, {"next_step", "Write"}});
}
BENCHMARK(StoredCheckpoint)->Arg(10)->Arg(10'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

void StoredTakeNext(benchmark::State& bench) {
  Stored project(bench.range(0));
  for (auto _ : bench) {
    const Json taken = project.Do("take_next", Json::object(), "bo");
    project.Do("pause_task", {{"task_id", taken.at("task_id")}}, "bo");
  }
}
BENCHMARK(StoredTakeNext)->Arg(10)->Arg(10'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

// A command of somebody else between, whose time is not counted; `p99_us`: all but one in a hundred take no longer.
void StoredNext(benchmark::State& bench) {
  Stored project(bench.range(0));
  const SystemClock clock;
  std::vector<double> micros;
  for (auto _ : bench) {
    project.Do("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "It stands so."}, {"next_step", "Write"}});
    const auto begin = clock.Steady();
    benchmark::DoNotOptimize(project.Next());
    const double seconds = std::chrono::duration<double>(clock.Steady() - begin).count();
    bench.SetIterationTime(seconds);
    micros.push_back(seconds * 1e6);
  }
  const auto at = micros.begin() + std::ptrdiff_t(micros.size() * 99 / 100);
  std::nth_element(micros.begin(), at, micros.end());
  bench.counters["p99_us"] = *at;
}
BENCHMARK(StoredNext)->Arg(10)->Arg(10'000)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(2'000);

// Of as many events as made it: those before the newest snapshot are not read.
void StoredRehydrate(benchmark::State& bench) {
  Stored project(bench.range(0));
  for (auto _ : bench) {
    bench.PauseTiming();
    auto desk = project.NewDesk();
    bench.ResumeTiming();
    auto view = Must(desk->Read(project.id()));
    benchmark::DoNotOptimize(view->Next("bo"));
    bench.PauseTiming();
    view.reset();
    desk.reset();
    bench.ResumeTiming();
  }
}
BENCHMARK(StoredRehydrate)->Arg(10)->Arg(10'000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace acl
