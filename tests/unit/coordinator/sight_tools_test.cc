// The observational tools over real folders and /proc, and over queries whose answers the tests choose.
#include "coordinator/ask/sight_tools.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "shared/kernel/memory_queries.h"
#include "tests/support/manual_clock.h"

namespace acl::coordinator {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SightQueries : public MemoryQueries {
 public:
  using MemoryQueries::MemoryQueries;

  Result<std::vector<SessionRow>> Sessions(bool include_dead) override {
    if (gate.valid()) gate.wait();
    if (throws) throw std::runtime_error("the driver is broken");
    if (broken) return Error{Code::kUnavailable, "the database is away"};
    std::vector<SessionRow> rows;
    for (const SessionRow& row : sessions) {
      if (include_dead || !row.dead) rows.push_back(row);
    }
    return rows;
  }
  Result<Backlog> ReadBacklog() override {
    if (gate.valid()) gate.wait();
    if (broken || no_backlog) return Error{Code::kUnavailable, "the database is away"};
    return backlog;
  }
  Result<std::vector<QuarantineView>> Quarantined(bool) override {
    if (broken) return Error{Code::kUnavailable, "the database is away"};
    return quarantined;
  }
  Result<std::vector<LeaseView>> Leases(int) override {
    if (broken) return Error{Code::kUnavailable, "the database is away"};
    return leases;
  }

  std::shared_future<void> gate;  // valid: the database does not answer before
  bool broken = false, no_backlog = false, throws = false;
  std::vector<SessionRow> sessions;
  Backlog backlog;
  std::vector<QuarantineView> quarantined;
  std::vector<LeaseView> leases;
};

class FixedCoordinators final : public CoordinatorStore {
 public:
  Status Announce(const WorkerSessionId&, const LivingCoordinator&) override { return {}; }
  Status Leave(const WorkerSessionId&) override { return {}; }
  Result<std::vector<LivingCoordinator>> Living(std::chrono::milliseconds) override {
    return std::vector<LivingCoordinator>{{"a:1", "a"}, {"b:1", "b"}};
  }
};

class SightToolsTest : public ::testing::Test {
 protected:
  SightToolsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "acl-sight-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    Write("one.txt", "1");
    std::filesystem::create_directories(folder_ / "inner");
    Write("inner/two.txt", "22");
    options_.disks = {folder_.string()};
    options_.index_folder = folder_.string();
    queries_.sessions = {Session("w1", 4, 1, seconds(-2), seconds(10)), Session("w2", 8, 2, seconds(-40), seconds(-5))};
    queries_.sessions.push_back(Session("w3", 8, 0, seconds(-90), seconds(-60)));
    queries_.sessions.back().dead = true;
    queries_.backlog.queues["default"] = {3, 3, std::chrono::milliseconds(2'500), 2};
    queries_.backlog.queues["lonely"] = {2, 2, std::chrono::milliseconds(9'000), 0};
    queries_.backlog.suspects_waiting = 1;
    QuarantineView quarantined;
    quarantined.at = clock_.Wall() - seconds(60);
    queries_.quarantined = {quarantined};
    LeaseView over;
    over.expires_at = clock_.Wall() - seconds(1);
    queries_.leases = {over};
  }
  ~SightToolsTest() override { std::filesystem::remove_all(folder_); }

  using seconds = std::chrono::seconds;

  SessionRow Session(const char* name, int slots, int held, seconds heartbeat, seconds expires) {
    SessionRow row;
    row.worker_name = name;
    row.slots = slots;
    row.leases_held = held;
    row.heartbeat_at = clock_.Wall() + heartbeat;
    row.expires_at = clock_.Wall() + expires;
    return row;
  }

  void Write(const char* name, const char* text) { std::ofstream(folder_ / name) << text; }

  void Make() { tools_ = std::make_unique<SightTools>(SightTools::Dependencies{queries_, &coordinators_, clock_, ids_}, options_); }

  // Every tool of this build, from tier 1.
  static aegis::Kernel AllTools() {
    aegis::Kernel kernel;
    kernel.tier = 2;
    for (const SightValue& value : SightValues()) {
      if (kernel.observational.empty() || kernel.observational.back().name != value.tool) Declare(kernel, value.tool);
    }
    return kernel;
  }
  static void Declare(aegis::Kernel& kernel, const char* name, int from_tier = 1) {
    aegis::ToolRule rule;
    rule.name = name;
    rule.from_tier = from_tier;
    kernel.observational.push_back(rule);
  }

  // Of the one tool.
  aegis::ToolOutput Look(const char* tool) {
    if (!tools_) Make();
    aegis::Kernel kernel;
    Declare(kernel, tool);
    return tools_->Look(kernel, clock_.Steady() + kLong).at(0);
  }

  // Everything that a listing shows of it: names, inodes, sizes, modes, times of change and reading of files.
  std::vector<std::string> Listing() const {
    std::vector<std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) lines.push_back(Line(entry.path()));
    lines.push_back(Line(folder_));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  static std::string Line(const std::filesystem::path& path) {
    struct stat is {};
    EXPECT_EQ(::lstat(path.c_str(), &is), 0) << path;
    std::string line = path.string();
    line += " " + std::to_string(is.st_ino) + " " + std::to_string(is.st_size) + " " + std::to_string(is.st_mode);
    for (const timespec& time : {is.st_mtim, is.st_ctim}) line += " " + std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
    if (!S_ISDIR(is.st_mode)) line += " " + std::to_string(is.st_atim.tv_sec) + "." + std::to_string(is.st_atim.tv_nsec);
    return line;
  }

  static constexpr seconds kLong{60};
  test::ManualClock clock_;
  SeededRandom random_{1};
  Uuid7Maker ids_{clock_, random_};
  MemoryStore store_{clock_};
  SightQueries queries_{store_, clock_};
  FixedCoordinators coordinators_;
  std::filesystem::path folder_;
  SightTools::Options options_;
  std::unique_ptr<SightTools> tools_;  // ends first
};

TEST_F(SightToolsTest, HostHasRealValues) {
  const auto output = Look("sys_health");
  ASSERT_TRUE(output.available) << output.reason;
  EXPECT_GE(output.values.at("cpu_load").get<double>(), 0);
  EXPECT_GE(output.values.at("cpu_cores").get<int>(), 1);
  EXPECT_GT(output.values.at("mem_used_mb").get<int>(), 0);
  EXPECT_GT(output.values.at("mem_total_mb").get<int>(), output.values.at("mem_used_mb").get<int>());
  EXPECT_LE(output.values.at("disk_free_pct").get<double>(), 100);
  EXPECT_GT(output.values.at("uptime_s").get<int>(), 0);
  EXPECT_THAT(output.unknowns, UnorderedElementsAre("gpu_health"));
  EXPECT_EQ(output.observed_at, clock_.Wall());
  EXPECT_EQ(output.execution.at(14), '7') << "a UUID of version 7: " << output.execution;
}

TEST_F(SightToolsTest, HostNamesWhatItCouldNotRead) {
  options_.proc = folder_.string();
  Write("loadavg", "0.42 0.10 0.05 1/100 4242\n");
  Write("meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");
  const auto output = Look("sys_health");
  ASSERT_TRUE(output.available);
  EXPECT_EQ(output.values.at("cpu_load"), 0.42);
  EXPECT_EQ(output.values.at("mem_total_mb"), 8192);
  EXPECT_THAT(output.unknowns, UnorderedElementsAre("gpu_health", "mem_used_mb", "uptime_s"));
}

TEST_F(SightToolsTest, DisksAreCountedOnceAndTheMissingIsUnknown) {
  options_.disks = {folder_.string(), (folder_ / "inner").string(), (folder_ / "gone").string()};
  const auto output = Look("disk_usage");
  ASSERT_TRUE(output.available);
  EXPECT_EQ(output.values.at("disks").size(), 1u);
  EXPECT_EQ(output.values.at("fullest"), folder_.string());
  EXPECT_GT(output.values.at("disk_total_mb").get<int>(), 0);
  EXPECT_THAT(output.unknowns, UnorderedElementsAre("disk " + (folder_ / "gone").string()));
  tools_.reset();
  options_.disks = {(folder_ / "gone").string()};
  EXPECT_EQ(Look("disk_usage").reason, "tool_error");
}

TEST_F(SightToolsTest, IndexStatusIsOfTheFolder) {
  const auto before = Look("index_status");
  ASSERT_TRUE(before.available);
  EXPECT_EQ(before.values.at("index_files"), 2);
  EXPECT_EQ(before.values.at("index_folders"), 1);
  EXPECT_TRUE(ParseWallTime(before.values.at("newest_change").get<std::string>()));
  EXPECT_EQ(Look("index_status").values, before.values);
  Write("inner/three.txt", "");
  EXPECT_NE(Look("index_status").values.at("digest"), before.values.at("digest"));
}

TEST_F(SightToolsTest, IndexChangedSaysWhatDiffersFromTheLookBefore) {
  const auto first = Look("index_changed");
  ASSERT_TRUE(first.available);
  EXPECT_THAT(first.unknowns, UnorderedElementsAre("changed", "since", "files_before")) << "nothing is known to compare with";
  clock_.Advance(seconds(5));
  const auto second = Look("index_changed");
  EXPECT_EQ(second.values.at("changed"), false);
  EXPECT_EQ(second.values.at("since"), FormatWallTime(first.observed_at));
  std::filesystem::rename(folder_ / "one.txt", folder_ / "uno.txt");
  EXPECT_EQ(Look("index_changed").values.at("changed"), true) << "another name";
  Write("uno.txt", "111");
  EXPECT_EQ(Look("index_changed").values.at("changed"), true) << "another size";
  std::filesystem::last_write_time(folder_ / "uno.txt", std::filesystem::file_time_type{});
  EXPECT_EQ(Look("index_changed").values.at("changed"), true) << "another time";
  EXPECT_EQ(Look("index_changed").values.at("changed"), false);
}

TEST_F(SightToolsTest, FolderBeyondItsBoundsHasNoDigest) {
  options_.index.entries = 2;
  EXPECT_EQ(Look("index_status").reason, "tool_error");
  EXPECT_EQ(Look("index_changed").reason, "tool_error");
  tools_.reset();
  options_.index = {.entries = 10, .time = std::chrono::milliseconds(0)};
  EXPECT_EQ(Look("index_status").reason, "tool_error");
  tools_.reset();
  options_.index_folder = (folder_ / "gone").string();
  EXPECT_EQ(Look("index_status").reason, "tool_error");
}

TEST_F(SightToolsTest, LinksAreNotFollowed) {
  std::filesystem::create_directory_symlink(folder_, folder_ / "inner" / "loop");
  const auto output = Look("index_status");
  ASSERT_TRUE(output.available);
  EXPECT_EQ(output.values.at("index_files"), 3);
  EXPECT_EQ(output.values.at("index_folders"), 1);
}

TEST_F(SightToolsTest, ServicesAreThoseOfTheDatabase) {
  const auto output = Look("service_status");
  ASSERT_TRUE(output.available);
  EXPECT_EQ(
      output.values,
      (Json{{"coordinators_alive", 2}, {"workers_alive", 2}, {"workers_late", 1}, {"workers_dead", 1}, {"heartbeat_oldest_s", 40.0}}));
  EXPECT_THAT(output.unknowns, IsEmpty());
}

TEST_F(SightToolsTest, FleetQueuesAndStuckRuns) {
  const auto fleet = Look("fleet_health");
  EXPECT_EQ(fleet.values, (Json{{"coordinators_alive", 2},
                                {"workers_alive", 2},
                                {"slots", 12},
                                {"leases_held", 3},
                                {"ready", 5},
                                {"ready_oldest_s", 9.0},
                                {"queues_unserved", 1},
                                {"outbox_oldest_s", 0.0},
                                {"quarantined", 1}}));
  const auto depth = Look("queue_depth");
  EXPECT_EQ(depth.values.at("queues"), (Json{{"default", {{"ready", 3}, {"oldest_s", 2.5}, {"workers", 2}}},
                                             {"lonely", {{"ready", 2}, {"oldest_s", 9.0}, {"workers", 0}}}}));
  EXPECT_EQ(depth.values.at("queues_ready"), 2);
  const auto stuck = Look("stuck_runs");
  EXPECT_EQ(stuck.values, (Json{{"quarantined", 1},
                                {"quarantined_oldest_s", 60.0},
                                {"suspects_waiting", 1},
                                {"suspects_held", 0},
                                {"ready_unserved", 2},
                                {"leases_expired", 1}}));
  EXPECT_THAT(stuck.unknowns, UnorderedElementsAre("needs_person"));
}

TEST_F(SightToolsTest, QueuesThatAreNamedHaveABound) {
  for (int i = 0; i < 100; ++i) queries_.backlog.queues["q" + std::to_string(i)] = {1, 1, std::chrono::milliseconds(1), 0};
  const auto depth = Look("queue_depth");
  EXPECT_EQ(depth.values.at("queues").size(), 20u);
  EXPECT_TRUE(depth.values.at("queues").contains("default")) << "those with the most";
  EXPECT_EQ(depth.values.at("queues_ready"), 102);
}

TEST_F(SightToolsTest, WhatTheDatabaseDoesNotAnswerIsUnknown) {
  queries_.no_backlog = true;
  const auto fleet = Look("fleet_health");
  ASSERT_TRUE(fleet.available);
  EXPECT_THAT(fleet.unknowns, UnorderedElementsAre("ready", "ready_oldest_s", "queues_unserved", "outbox_oldest_s"));
  EXPECT_EQ(Look("queue_depth").reason, "tool_error");
  queries_.broken = true;
  EXPECT_EQ(Look("stuck_runs").reason, "tool_error");
  EXPECT_EQ(Look("stuck_runs").values, Json::object());
  queries_.throws = true;
  EXPECT_EQ(Look("service_status").reason, "tool_error") << "nothing is thrown";
}

TEST_F(SightToolsTest, TierAndUnknownToolsAreNamedAndNotRun) {
  options_.index_folder.clear();
  Make();
  aegis::Kernel kernel;
  kernel.tier = 2;
  Declare(kernel, "sys_health", 3);
  Declare(kernel, "deep_scan", 3);
  Declare(kernel, "deep_scan_too");
  Declare(kernel, "index_status");
  Declare(kernel, "service_status", 2);
  const auto outputs = tools_->Look(kernel, clock_.Steady() + kLong);
  ASSERT_EQ(outputs.size(), 5u);
  EXPECT_EQ(outputs[0].reason, "blocked_by_tier");
  EXPECT_EQ(outputs[1].reason, "blocked_by_tier");
  EXPECT_EQ(outputs[2].reason, "not_installed");
  EXPECT_EQ(outputs[3].reason, "not_installed") << "no setting names a folder";
  EXPECT_TRUE(outputs[4].available);
  std::set<std::string> executions;
  for (const auto& output : outputs) {
    executions.insert(output.execution);
    EXPECT_EQ(output.available, output.reason.empty()) << output.tool;
    EXPECT_EQ(output.available, !output.values.empty()) << output.tool;
  }
  EXPECT_EQ(executions.size(), outputs.size());
}

TEST_F(SightToolsTest, WhatHangsCostsNobodyElseAndFailsAtOnceFromThenOn) {
  std::promise<void> answers;
  queries_.gate = answers.get_future().share();
  Make();
  aegis::Kernel kernel;
  Declare(kernel, "service_status");
  const auto hung = tools_->Look(kernel, clock_.Steady() + std::chrono::milliseconds(1)).at(0);
  EXPECT_EQ(hung.reason, "tool_error");
  EXPECT_TRUE(Look("sys_health").available) << "it has a thread of its own";
  clock_.Advance(options_.hung);
  const auto again = tools_->Look(kernel, clock_.Steady() + std::chrono::hours(24)).at(0);  // returns: it is not waited for
  EXPECT_EQ(again.reason, "tool_error");
  EXPECT_EQ(again.execution, hung.execution) << "the same look still goes on: no second one is begun";
  answers.set_value();
  aegis::ToolOutput later = hung;
  for (int tries = 0; later.execution == hung.execution && tries < 100'000; ++tries) later = Look("service_status");
  EXPECT_TRUE(later.available) << "it answers again";
}

TEST_F(SightToolsTest, NoToolChangesAnything) {
  Write("inner/four.txt", "4");
  std::filesystem::create_symlink("two.txt", folder_ / "inner" / "link");
  Make();
  const auto before = Listing();
  for (int times = 0; times < 3; ++times) {
    for (const auto& output : tools_->Look(AllTools(), clock_.Steady() + kLong)) EXPECT_TRUE(output.available) << output.tool;
  }
  EXPECT_EQ(Listing(), before);
}

// docs/guides/aegis.md "Sight" lists what the tools give, no more and no less.
TEST_F(SightToolsTest, GuideListsTheValues) {
  Make();
  tools_->Look(AllTools(), clock_.Steady() + kLong);  // index_changed has something to compare with then
  for (const auto& output : tools_->Look(AllTools(), clock_.Steady() + kLong)) {
    std::set<std::string> given(output.unknowns.begin(), output.unknowns.end()), listed;
    for (const auto& [name, value] : output.values.items()) given.insert(name);
    for (const SightValue& value : SightValues()) {
      if (value.tool == output.tool) listed.insert(value.name);
    }
    EXPECT_EQ(given, listed) << output.tool;
  }
  std::string want = "| tool | value | unit | what it is |\n|---|---|---|---|\n";
  for (const SightValue& value : SightValues())
    want += std::string("| `") + value.tool + "` | `" + value.name + "` | " + value.unit + " | " + value.about + " |\n";
  const std::string path = ACL_SOURCE_DIR "/docs/guides/aegis.md", begin = "<!-- sight values -->\n",
                    end = "<!-- end of sight values -->\n";
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto at = page.find(begin), to = page.find(end);
  ASSERT_TRUE(at != std::string::npos && to != std::string::npos) << path << " has no part \"sight values\": add " << begin << end;
  const auto from = at + begin.size();
  if (::getenv("ACL_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << page.substr(0, from) + want + page.substr(to);
    return;
  }
  EXPECT_EQ(page.substr(from, to - from), want) << "run build/dev/bin/unit_coordinator with ACL_UPDATE_DOCS=1 and commit the page";
}

}  // namespace
}  // namespace acl::coordinator
