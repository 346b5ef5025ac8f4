// A fleet at work goes back to a moment: the commands of docs/operate/backup.md, with a base backup made in mid run and the log since. What
// was there at the moment goes on under higher tokens; what came after it is gone; verification is clean.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

namespace fs = std::filesystem;

// Where the server's own user may write, beside its data.
struct Places {
  fs::path data, wal, backups;
};

class Backup : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path data = Psql(postgres_.url(), "show data_directory");
    places_ = {data, data.parent_path() / "wal", data.parent_path() / "backups"};
    ASSERT_EQ(AsServer({"mkdir", places_.wal, places_.backups}).exit_code, 0);
    FleetOptions options;
    options.database_url = postgres_.url();
    options.lease_ttl_ms = 2'000;
    fleet_ = std::make_unique<Fleet>(options);
  }
  // PostgreSQL's user, whoever runs the tests (.dev/postgres.sh).
  RunResult AsServer(std::vector<std::string> argv, const std::map<std::string, std::string>& environment = {}) {
    const std::vector<std::string> as = {"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--inh-caps=-all", "--"};
    if (geteuid() == 0) argv.insert(argv.begin(), as.begin(), as.end());
    return RunProgram(argv, environment, "/");
  }
  // The commands of the page under this name, as they stand there.
  static std::string OfThePage(const std::string& name) {
    const std::string page = ReadFile(fs::path(ACL_SOURCE_DIR) / "docs/operate/backup.md");
    const std::string begin = "```sh " + name + "\n";
    const auto at = page.find(begin);
    if (at == std::string::npos) {
      ADD_FAILURE() << "the page has no commands for " << name;
      return "false";
    }
    const auto from = at + begin.size();
    return page.substr(from, page.find("```", from) - from);
  }
  RunResult Do(const std::string& name, std::map<std::string, std::string> more = {}) {
    more.insert({{"ADMIN_DATABASE_URL", postgres_.url()}, {"WAL", places_.wal}, {"BACKUPS", places_.backups}, {"DATA", places_.data}});
    // The script as its user has it: in a folder that PostgreSQL's user can read.
    const std::string text = ReadFile(fs::path(ACL_SOURCE_DIR) / "examples/backup/backup.sh");
    more["SCRIPT"] = text;
    return AsServer({"bash", "-euc", "backup.sh() { bash -c \"$SCRIPT\" backup.sh \"$@\"; }\n" + OfThePage(name)}, more);
  }
  // A command of the CLI, as the page has it.
  RunResult Airun(const std::string& name) {
    std::istringstream words(OfThePage(name));
    std::vector<std::string> argv;
    for (std::string word; words >> word;) argv.push_back(word);
    EXPECT_EQ(argv.at(0), "airun");
    return fleet_->Cli({argv.begin() + 1, argv.end()});
  }
  std::string Sql(const std::string& sql) { return Psql(postgres_.url(), sql); }

  TestPostgres postgres_;
  Places places_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(Backup, GoesBackToAMomentAndNoTokenIsGivenOutTwice) {
  const auto prepared = Do("prepare");
  ASSERT_EQ(prepared.exit_code, 0) << prepared.err;
  postgres_.Stop();
  postgres_.Start();
  fleet_->StartCoordinator();
  fleet_->StartWorker(1);
  ASSERT_TRUE(fleet_->AwaitReady());

  GatedRun run(*fleet_, 3);
  ASSERT_TRUE(run.AwaitStarted(1));
  const auto base = Do("base");
  ASSERT_EQ(base.exit_code, 0) << base.out << base.err;
  const std::string backup = base.out.substr(base.out.rfind('\n', base.out.size() - 2) + 1, std::string::npos);

  run.Open(1);  // behind the base backup: only the log knows
  ASSERT_TRUE(run.AwaitStarted(2));
  const std::string moment = Sql("select clock_timestamp()");
  const std::string later = fleet_->Submit("name: later\nsteps:\n  - {name: s, capability: test.echo, inputs: {outputs: {a: 1}}}\n");
  ASSERT_TRUE(fleet_->AwaitStatus(later, "COMPLETED"));
  const auto before = Sql("select max(token) from lease_history");
  Sql("delete from timers");  // the harm
  const std::string last = Sql("select pg_walfile_name(pg_switch_wal())");
  ASSERT_TRUE(WaitUntil([&] { return fs::exists(places_.wal / last); })) << Sql("select * from pg_stat_archiver");
  fleet_->coordinator().Kill();
  fleet_->worker(1).Kill();
  postgres_.Stop();

  fs::rename(places_.data, places_.data.string() + ".lost");
  const auto restored = Do("restore", {{"BASE", backup.substr(0, backup.find('\n'))}, {"MOMENT", moment}});
  ASSERT_EQ(restored.exit_code, 0) << restored.out << restored.err;
  postgres_.Start();
  ASSERT_TRUE(WaitUntil([&] { return Sql("select pg_is_in_recovery()") == "f"; }));
  EXPECT_EQ(Sql("select count(*) from subjects where subject_id = '" + later + "'"), "0") << "it came after the moment";
  const auto raised = Airun("epoch");
  ASSERT_EQ(raised.exit_code, 0) << raised.out << raised.err;
  const auto whole = Airun("verify");
  EXPECT_EQ(whole.exit_code, 0) << whole.out << whole.err;

  fleet_->StartCoordinator();
  fleet_->StartWorker(1);
  ASSERT_TRUE(fleet_->AwaitReady()) << fleet_->Logs();
  ASSERT_TRUE(run.AwaitStarted(2, 2)) << "it was in flight at the moment\n" << fleet_->Logs();
  EXPECT_EQ(run.Starts(1), 1) << "the log had its end";
  run.OpenAll();
  run.ExpectCompletedOnce();
  EXPECT_GT(run.Tokens(2).back(), std::stoll(before)) << "above every token that was ever handed out";
}

TEST_F(Backup, RefusesWhatWouldHarm) {
  EXPECT_NE(Do("restore", {{"BASE", places_.backups}, {"MOMENT", ""}}).err.find("is no base backup"), std::string::npos);
  const auto base = Do("base");
  ASSERT_EQ(base.exit_code, 0) << base.err;
  const std::string backup = Sql("select '" + places_.backups.string() + "/' || pg_ls_dir('" + places_.backups.string() + "')");
  EXPECT_NE(Do("restore", {{"BASE", backup}, {"MOMENT", ""}}).err.find(places_.data.string() + " is there: move it away"),
            std::string::npos);
  const std::map<std::string, std::string> elsewhere = {
      {"BASE", backup}, {"DATA", places_.data.string() + ".new"}, {"MOMENT", "yesterday'"}};
  EXPECT_NE(Do("restore", elsewhere).err.find("is no time"), std::string::npos);
  ASSERT_EQ(AsServer({"truncate", "-s", "1", backup + "/PG_VERSION"}).exit_code, 0);
  std::map<std::string, std::string> damaged = elsewhere;
  damaged["MOMENT"] = "";
  EXPECT_NE(Do("restore", damaged).err.find("the backup is damaged"), std::string::npos);
  EXPECT_FALSE(fs::exists(places_.data.string() + ".new")) << "nothing is half done";
  damaged["WAL"] = places_.wal.string() + "'; id #";
  EXPECT_NE(Do("prepare", damaged).err.find("must be an absolute path"), std::string::npos);
}

}  // namespace
}  // namespace acl::test
