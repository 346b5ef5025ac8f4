// The commands that look at, or start, what a person runs on their own machine.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

// Of /proc/PID/stat, which everybody may read: whose child it is. 0: it is gone, or nobody has waited for it yet.
pid_t ParentOf(pid_t process) {
  const std::string stat = ReadFile("/proc/" + std::to_string(process) + "/stat");
  const auto name_end = stat.rfind(") ");  // a name may hold anything
  if (name_end == std::string::npos || stat[name_end + 2] == 'Z') return 0;
  return std::stoi(stat.substr(name_end + 4));
}

std::vector<pid_t> ChildrenOf(pid_t process) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos && ParentOf(std::stoi(name)) == process) found.push_back(std::stoi(name));
  }
  return found;
}

// Two free ports beside each other: the API's and the doorbell's.
std::uint16_t FreePair() {
  for (;;) {
    const std::uint16_t port = FreePort();
    if (port < 65'535 && HttpGet("http://127.0.0.1:" + std::to_string(port + 1) + "/").status == 0) return port;
  }
}

TEST(Dev, StartsAFleetRunsAWorkflowAndLeavesNoChild) {
  auto database = TestDatabase::Create(false);
  ASSERT_TRUE(database.ok()) << database.message();
  const std::string url = (*database)->conninfo();
  TestFolder folder;
  const std::string port = std::to_string(FreePair());
  Process dev({{Binary("airun"), "dev", "--workers", "1", "--port", port, "--work-dir", folder / "work"},
               {{"ACL_DATABASE_URL", url}, {"ACL_ALLOWED_PROGRAMS", "sh,echo"}},
               folder / "dev.log",
               folder.path()});
  ASSERT_TRUE(WaitUntil([&] { return !dev.running() || dev.Output().find("Ctrl-C stops everything") != std::string::npos; }));
  ASSERT_TRUE(dev.running()) << dev.Output();
  WriteFile(folder / "hello.yaml",
            "name: hello\nsteps:\n  - {name: greet, capability: sys.exec.run, inputs: {command: echo, args: [hello]}}\n");
  const std::map<std::string, std::string> environment = {{"ACL_SERVER", "http://127.0.0.1:" + port}, {"ACL_DATABASE_URL", url}};
  const auto run = RunProgram({Binary("airun"), "workflow", "run", folder / "hello.yaml", "--wait"}, environment);
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err << dev.Output();
  EXPECT_NE(run.out.find("COMPLETED"), std::string::npos) << run.out;
  EXPECT_EQ(RunProgram({Binary("airun"), "doctor"}, environment).exit_code, 0);
  const std::vector<pid_t> children = ChildrenOf(dev.pid());
  EXPECT_EQ(children.size(), 2u) << "the coordinator, a worker";
  dev.Signal(SIGINT);
  EXPECT_EQ(dev.Wait(), 0) << dev.Output();
  for (const pid_t child : children) EXPECT_EQ(ParentOf(child), 0) << "it is still there";
  EXPECT_EQ(Psql(url, "select status from workflows"), "COMPLETED");
}

RunResult Airun(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> argv = {Binary("airun")};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return RunProgram(argv, environment);
}

// The fix that `airun doctor` names for a check that failed; "" if it did not fail.
std::string FixOf(const RunResult& doctor, const std::string& check) {
  const auto findings = ParseJson(doctor.out);
  if (!findings) {
    ADD_FAILURE() << doctor.out << doctor.err;
    return "";
  }
  for (const Json& one : *findings) {
    if (one["check"] == check && one["state"] == "failed") return one.value("fix", "none is named");
  }
  return "";
}

TEST(Doctor, NamesTheFixOfEachThingThatIsMissing) {
  const std::string nowhere = "http://127.0.0.1:" + std::to_string(FreePort());
  auto found = Airun({"doctor", "-o", "json"}, {{"ACL_DATABASE_URL", "postgresql://127.0.0.1:1/none"}, {"ACL_SERVER", nowhere}});
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_NE(FixOf(found, "PostgreSQL").find("start PostgreSQL, or name it"), std::string::npos) << found.out;
  EXPECT_NE(FixOf(found, "coordinator").find("acl-coordinator"), std::string::npos) << found.out;

  FleetOptions options;
  options.migrate = false;
  Fleet fleet(options);
  found = fleet.Cli({"doctor", "-o", "json"});
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_NE(FixOf(found, "migrations").find("airun db migrate"), std::string::npos) << found.out;
  const auto before = fleet.Cli({"db", "status"});
  EXPECT_EQ(before.exit_code, 1);
  EXPECT_NE(before.out.find("not ready: airun db migrate"), std::string::npos) << before.out;

  ASSERT_EQ(fleet.Cli({"db", "migrate"}).exit_code, 0);
  const auto after = fleet.Cli({"db", "status"});
  EXPECT_EQ(after.exit_code, 0) << after.out;
  EXPECT_NE(after.out.find("ready"), std::string::npos) << after.out;
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  EXPECT_EQ(fleet.Cli({"worker", "list", "-o", "json"}).out, "[]\n");
  found = fleet.Cli({"doctor", "-o", "json"});
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_NE(FixOf(found, "workers").find("start one: acl-worker"), std::string::npos) << found.out;
  EXPECT_EQ(FixOf(found, "migrations") + FixOf(found, "coordinator"), "") << found.out;

  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  found = fleet.Cli({"doctor", "-o", "json"});
  EXPECT_EQ(found.exit_code, 0) << found.out;
  const auto workers = fleet.Cli({"worker", "list"});
  EXPECT_NE(workers.out.find("worker-1"), std::string::npos) << workers.out;
  EXPECT_NE(workers.out.find("alive"), std::string::npos) << workers.out;
}

TEST(Keys, AreMadeListedAndTakenBack) {
  FleetOptions options;
  options.environment["ACL_DEV_MODE"] = "false";
  Fleet fleet(options);
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows").status, 401);
  const auto made = fleet.Cli({"key", "create", "tests", "-o", "json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json key = *ParseJson(made.out);
  const std::map<std::string, std::string> with = {{"Authorization", "Bearer " + key["key"].get<std::string>()}};
  EXPECT_TRUE(WaitUntil([&] { return fleet.Api("GET", "/v1/workflows", {}, with).status == 200; }));
  const auto list = fleet.Cli({"key", "list"});
  EXPECT_NE(list.out.find(key["key_id"].get<std::string>()), std::string::npos) << list.out;
  EXPECT_EQ(list.out.find(key["key"].get<std::string>()), std::string::npos) << "never its secret";
  ASSERT_EQ(fleet.Cli({"key", "revoke", key["key_id"]}).exit_code, 0);
  EXPECT_TRUE(WaitUntil([&] { return fleet.Api("GET", "/v1/workflows", {}, with).status == 401; }));
  EXPECT_EQ(fleet.Cli({"key", "revoke", key["key_id"]}).exit_code, 3) << "there is no such key in force";
  EXPECT_NE(fleet.Cli({"key", "list", "-o", "json"}).out.find("revoked_at"), std::string::npos);
}

}  // namespace
}  // namespace acl::test
