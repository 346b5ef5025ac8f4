#include "tests/support/rolling_upgrade.h"

#include <gtest/gtest.h>

#include "shared/postgres/migrate.h"

namespace acl::test {

namespace {

constexpr int kWorkers = 3, kCoordinators = 2, kAtOnce = 6;

// What an exec left behind is seen: one that were lost would make its step UNCERTAIN, and the run would never end by itself.
std::string Yaml(const std::string& log) {
  std::string yaml = "name: rolling\nsteps:\n";
  for (int n = 0; n < 4; ++n) {
    const auto s = std::to_string(n);
    yaml += "  - {name: file" + s + ", capability: io.fs.write_file, inputs: {path: f" + s + ", content: x}}\n";
    yaml += "  - {name: exec" + s + ", capability: sys.exec.run, inputs: {command: sh, args: ['-c', 'echo {{run_id}} " + s + " >> " + log +
            "; sleep 0.1']}}\n";
    if (n == 1) yaml += "  - {name: wait, wait: 1500ms}\n";  // who takes it after that is open
  }
  return yaml;
}

struct Load {
  void Submit(int coordinator) {
    for (int n = 0; n < kAtOnce; ++n) ids.push_back(fleet.Submit(Yaml(log), Json::object(), coordinator));
  }
  Fleet& fleet;
  std::string log = (fleet.folder() / "execs").string();
  std::vector<std::string> ids = {};
};

// Every function and view of the next version is put over today's while today's programs work.
void ApplyNextObjects(const std::string& database_url) {
  pg::Schema next = pg::EmbeddedSchema();
  for (pg::SchemaObject& object : next.objects) {
    object.version++;
    object.text += "-- of the next version\n";
  }
  auto report = pg::Migrate(database_url, next);
  ASSERT_TRUE(report.ok()) << report.message();
  EXPECT_EQ(report->objects_now.size(), next.objects.size());
}

}  // namespace

void RollingUpgrade(Fleet& fleet, bool meet) {
  Load load{fleet};
  const auto& url = fleet.database_url();
  for (int n = 0; n < kCoordinators; ++n) fleet.StartCoordinator(n);
  for (int n = 1; n <= kWorkers; ++n) fleet.StartWorker(n);
  ASSERT_TRUE(fleet.AwaitReady());
  load.Submit(0);
  ASSERT_NO_FATAL_FAILURE(ApplyNextObjects(url));
  fleet.UseNextVersion();
  for (int n = 1; n <= kWorkers; ++n) {
    fleet.Drain(fleet.worker(n));
    load.Submit(n % kCoordinators);
    fleet.StartWorker(n);
    ASSERT_TRUE(fleet.AwaitReady());
    load.Submit(n % kCoordinators);
    if (n > 1 || !meet) continue;
    // Not on before an old worker has come upon what the new one wrote: of a run that waited in between.
    bool met = false;
    for (int round = 0; round < 10 && !met; ++round) {
      load.Submit(0);
      met = WaitUntil([&] { return Psql(url, "select count(*) from leases where required_version = 2") != "0"; }, std::chrono::seconds(5));
    }
    ASSERT_TRUE(met);
  }
  for (int n = 0; n < kCoordinators; ++n) {
    fleet.Drain(fleet.coordinator(n));
    load.Submit(1 - n);
    fleet.StartCoordinator(n);
    ASSERT_TRUE(fleet.AwaitReady());
    load.Submit(n);
  }
  for (const auto& id : load.ids) ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED"));
  fleet.ExpectVerified();

  const std::string execs = ReadFile(load.log);
  EXPECT_EQ(std::count(execs.begin(), execs.end(), '\n'), std::int64_t(load.ids.size()) * 4) << "each exec ran once";
  EXPECT_EQ(Psql(url, "select count(*) from event_rows where type in ('step.attempt_lost', 'step.uncertain', 'step.attempt_failed')"), "0");
  EXPECT_EQ(Psql(url, "select string_agg(distinct schema_version::text, ' ' order by schema_version::text) from event_rows"), "1 2");
  // A worker that cannot read a run gives it back once and does not come again.
  EXPECT_LE(std::stoi(Psql(url, "select max(n) from (select count(*) n from lease_history group by subject_id) grants")), 20);
  std::printf("rolling upgrade: %zu runs, %s given back to a newer worker, grants of a run at most %s\n", load.ids.size(),
              Psql(url,
                   "select count(*) from leases l where required_version = 2 and exists "
                   "(select from event_rows e where e.subject_id = l.subject_id and seq = 1 and schema_version = 1)")
                  .c_str(),
              Psql(url, "select max(n) from (select count(*) n from lease_history group by subject_id) grants").c_str());
}

}  // namespace acl::test
