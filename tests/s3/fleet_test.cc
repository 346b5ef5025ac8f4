// The workspace and large results follow a run through a real object store: real processes, every step on another worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "shared/base/clock.h"
#include "tests/support/fleet.h"
#include "tests/support/s3_server.h"

namespace acl::test {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 4;

class S3Fleet : public ::testing::Test {
 protected:
  std::unique_ptr<Fleet> NewFleet(bool with_s3 = true) {
    FleetOptions options;
    if (with_s3) options.environment = s3_.Environment();
    options.environment["ACL_LARGE_VALUE_BYTES"] = "2048";
    auto fleet = std::make_unique<Fleet>(options);
    fleet->StartCoordinator();
    return fleet;
  }
  // A step that says on a line of a file that it started, waits until it may go, then runs the commands in its workspace.
  static std::string Gated(const Fleet& fleet, int step, const std::string& commands) {
    const std::string name = "s" + std::to_string(step), at = (fleet.folder() / name).string();
    return "  - name: " + name + "\n    capability: sys.exec.run\n    on_unknown_outcome: retry\n    inputs:\n      command: sh\n" +
           "      timeout: 120\n      check: true\n      args: [\"-c\", \"echo $FENCING_TOKEN >> " + at + ".starts; while [ ! -e " + at +
           ".go ]; do sleep 0.02; done; " + commands + "\"]\n";
  }
  static std::string Workflow(const Fleet& fleet) {
    return "name: files\nsteps:\n" + Gated(fleet, 1, "seq 1 20000 > a.txt; echo small > small.txt") +
           Gated(fleet, 2, "sort -r a.txt > b.txt; mkdir -p d; cp a.txt d/keep.txt; wc -l b.txt") +
           Gated(fleet, 3, "cat a.txt b.txt > c.txt; rm b.txt; chmod 755 c.txt; cat small.txt") +
           Gated(fleet, 4, "cat c.txt d/keep.txt small.txt | sha256sum; ls -R; tail -c 100000 c.txt > tail.bin");
  }
  static void Open(const Fleet& fleet, int step) { WriteFile(fleet.folder() / ("s" + std::to_string(step) + ".go"), ""); }
  static bool AwaitStarts(const Fleet& fleet, int step, int times) {
    const auto file = fleet.folder() / ("s" + std::to_string(step) + ".starts");
    return WaitUntil([&] {
      const std::string text = std::filesystem::exists(file) ? ReadFile(file) : "";
      return std::count(text.begin(), text.end(), '\n') >= times;
    });
  }
  static Json FilesOf(Fleet& fleet, const std::string& id) { return fleet.Api("GET", "/v1/workflows/" + id + "/files").json(); }
  // What the steps said, without what differs from run to run.
  static Json OutputsOf(Fleet& fleet, const std::string& id) {
    Json outputs = Json::array();
    for (const Json& step : fleet.Run(id)["steps"]) outputs.push_back(step["outputs"]["stdout"]);
    return outputs;
  }
  std::vector<std::string> Keys() {
    auto store = s3_.Store(clock_, s3_.Options());
    std::vector<std::string> keys;
    auto page = store->List("acl/", "");
    EXPECT_TRUE(page) << (page ? "" : page.message());
    for (const auto& object : page->objects) keys.push_back(object.key);
    return keys;
  }
  static std::string QuarantineOf(Fleet& fleet, const std::string& id) {
    return Psql(fleet.database_url(), "select reason || ': ' || detail from quarantine where subject_id = '" + id + "'");
  }

  SystemClock clock_;
  TestS3 s3_;
};

TEST_F(S3Fleet, EveryStepOnAnotherWorkerGivesTheSameFilesAndResults) {
  auto one = NewFleet(false);
  one->StartWorker(1);
  ASSERT_TRUE(one->AwaitReady());
  for (int step = 1; step <= kSteps; ++step) Open(*one, step);
  const auto reference = one->Submit(Workflow(*one));
  ASSERT_TRUE(one->AwaitStatus(reference, "COMPLETED"));

  auto many = NewFleet();
  many->StartWorker(1);
  ASSERT_TRUE(many->AwaitReady());
  const auto id = many->Submit(Workflow(*many));
  for (int step = 1; step <= kSteps; ++step) {
    ASSERT_TRUE(AwaitStarts(*many, step, 1)) << many->Logs();
    many->worker(step).Kill();  // with everything on its disk; the step goes on elsewhere
    many->StartWorker(step + 1);
    ASSERT_TRUE(AwaitStarts(*many, step, 2)) << many->Logs();
    Open(*many, step);
  }
  ASSERT_TRUE(many->AwaitStatus(id, "COMPLETED"));
  EXPECT_EQ(Psql(many->database_url(), "select count(distinct fencing_token) from completed_steps where workflow_id = '" + id + "'"), "4");

  EXPECT_EQ(FilesOf(*many, id), FilesOf(*one, reference));
  EXPECT_EQ(FilesOf(*many, id)["files"].size(), 6u) << DumpJson(FilesOf(*many, id));
  EXPECT_EQ(OutputsOf(*many, id), OutputsOf(*one, reference));
  for (const char* path : {"a.txt", "c.txt", "d/keep.txt", "small.txt", "tail.bin"}) {
    EXPECT_EQ(many->Api("GET", "/v1/workflows/" + id + "/files/" + path).body,
              one->Api("GET", "/v1/workflows/" + reference + "/files/" + path).body)
        << path;
  }
  // Contents larger than the threshold, each once: a.txt (d/keep.txt has its bytes), b.txt, c.txt, tail.bin; payloads of events and chunks
  // of snapshots beside them.
  for (const Json& file : FilesOf(*many, id)["files"]) {
    if (file.value("size", 0) <= 2'048) continue;
    const auto keys = Keys();
    EXPECT_EQ(std::count_if(keys.begin(), keys.end(),
                            [&](const std::string& key) { return key.find(std::string(file["hash"])) != std::string::npos; }),
              1)
        << DumpJson(file);
  }
  const std::string last = many->HealthUrl(kSteps + 1);
  EXPECT_GE(many->Metric(last, "acl_object_store_requests_total", "operation=\"GET\",outcome=\"ok\""), 2)
      << "fetched by the worker that took over";
  EXPECT_GE(many->Metric(last, "acl_object_store_requests_total", "operation=\"PUT\",outcome=\"ok\""), 1);
  EXPECT_GE(many->Metric(last, "acl_object_store_bytes_total", "sent"), 100'000);
  EXPECT_GE(many->Metric(last, "acl_object_store_bytes_total", "received"), 100'000);
  many->ExpectVerified();
}

TEST_F(S3Fleet, AFrozenWorkerThatComesBackChangesNothing) {
  auto fleet = NewFleet();
  fleet->StartWorker(1);
  ASSERT_TRUE(fleet->AwaitReady());
  const auto id =
      fleet->Submit("name: frozen\nsteps:\n" +
                    Gated(*fleet, 1, "echo $FENCING_TOKEN > who.txt; seq 1 $FENCING_TOKEN | head -c 50000 > big.txt; cat who.txt"));
  ASSERT_TRUE(AwaitStarts(*fleet, 1, 1));
  fleet->worker(1).Signal(SIGSTOP);
  fleet->StartWorker(2);
  ASSERT_TRUE(AwaitStarts(*fleet, 1, 2)) << fleet->Logs();
  Open(*fleet, 1);
  ASSERT_TRUE(fleet->AwaitStatus(id, "COMPLETED"));
  const Json files = FilesOf(*fleet, id), run = fleet->Run(id);
  fleet->worker(1).Signal(SIGCONT);  // its program goes on, too, and writes its own files
  ASSERT_TRUE(WaitUntil([&] { return fleet->Metric(fleet->HealthUrl(1), "acl_lease_losses_total") >= 1; })) << fleet->Logs();
  EXPECT_EQ(FilesOf(*fleet, id), files);
  EXPECT_EQ(fleet->Run(id), run);
  fleet->ExpectVerified();
}

TEST_F(S3Fleet, AChangedOrLostObjectQuarantinesTheRun) {
  for (const bool lost : {false, true}) {
    auto fleet = NewFleet();
    fleet->StartWorker(1);
    ASSERT_TRUE(fleet->AwaitReady());
    const auto id =
        fleet->Submit("name: damaged\nsteps:\n" + Gated(*fleet, 1, "seq 1 20000 > a.txt") + Gated(*fleet, 2, "cat a.txt > b.txt"));
    Open(*fleet, 1);
    ASSERT_TRUE(AwaitStarts(*fleet, 2, 1)) << fleet->Logs();
    fleet->worker(1).Kill();  // and with it the copy on its disk
    const std::string hash = FilesOf(*fleet, id)["files"][0]["hash"];
    for (const std::string& key : Keys()) {
      if (key.find(hash) == std::string::npos) continue;
      if (lost) {
        std::filesystem::remove(s3_.FileOf(key));
      } else {
        std::ofstream(s3_.FileOf(key), std::ios::binary | std::ios::in) << "X";
      }
    }
    fleet->StartWorker(2);
    ASSERT_TRUE(WaitUntil([&] { return !QuarantineOf(*fleet, id).empty(); })) << fleet->Logs();
    EXPECT_THAT(QuarantineOf(*fleet, id), HasSubstr(lost ? "is gone from" : "has other bytes than were put"));
    EXPECT_THAT(QuarantineOf(*fleet, id), HasSubstr("content damaged"));
    const auto verified = fleet->Cli({"verify", "--all"});
    EXPECT_EQ(verified.exit_code, 1) << verified.out;
    EXPECT_THAT(verified.out, HasSubstr("content.object"));
  }
}

// A dispatch's worker finds it, the run's holder acts on it; once the content is mended and a person has said so, the run goes on.
TEST_F(S3Fleet, ADispatchedStepThatFindsDamageQuarantinesItsRun) {
  for (const bool with_s3 : {true, false}) {
    auto fleet = NewFleet(with_s3);
    fleet->StartWorker(1);
    fleet->StartWorker(2, {{"ACL_QUEUES", "gpu"}});
    ASSERT_TRUE(fleet->AwaitReady());
    const auto id =
        fleet->Submit("name: damaged\nsteps:\n" + Gated(*fleet, 1, "seq 1 20000 > a.txt") + Gated(*fleet, 2, "true") +
                      "  - {name: s3, queue: gpu, capability: io.fs.read_file, inputs: {path: a.txt}}\n" + Gated(*fleet, 4, "true"));
    Open(*fleet, 1);
    ASSERT_TRUE(AwaitStarts(*fleet, 2, 1)) << fleet->Logs();
    const std::string hash = FilesOf(*fleet, id)["files"][0]["hash"];
    std::filesystem::path object;
    if (with_s3) {
      for (const std::string& key : Keys()) {
        if (key.find(hash) != std::string::npos) object = s3_.FileOf(key);
      }
      ASSERT_FALSE(object.empty());
    }
    const auto damage = [&] {  // done twice it is mended
      if (with_s3) {
        const std::filesystem::path away = fleet->folder() / "away";
        const bool there = std::filesystem::exists(object);
        std::filesystem::copy_file(there ? object : away, there ? away : object);
        std::filesystem::remove(there ? object : away);
      } else {
        Psql(fleet->database_url(),
             "set session_replication_role = replica; update content_chunks set bytes = set_byte(bytes, 7, "
             "get_byte(bytes, 7) # 1) where number = 0 and hash = '\\x" +
                 hash + "'");
      }
    };
    damage();
    for (int step : {2, 4}) Open(*fleet, step);
    ASSERT_TRUE(WaitUntil([&] { return !QuarantineOf(*fleet, id).empty(); })) << fleet->Logs();
    EXPECT_THAT(QuarantineOf(*fleet, id), HasSubstr("content damaged"));
    EXPECT_THAT(QuarantineOf(*fleet, id), HasSubstr(hash)) << "which one";
    EXPECT_FALSE(std::filesystem::exists(fleet->folder() / "s4.starts")) << "nothing else of it runs";
    EXPECT_EQ(fleet->Run(id)["steps_completed"], 2) << "nothing of it counts";
    EXPECT_EQ(fleet->StatusOf(id), "RUNNING") << "no attempt failed";

    ASSERT_EQ(fleet->Cli({"workflow", "quarantine", "release", id}).exit_code, 0);
    ASSERT_TRUE(WaitUntil([&] {  // still damaged: found again, by the attempt after it
      return Psql(fleet->database_url(), "select count(*) from quarantine where subject_id = '" + id + "'") == "2";
    })) << fleet->Logs();
    damage();
    ASSERT_EQ(fleet->Cli({"workflow", "quarantine", "release", id}).exit_code, 0);
    ASSERT_TRUE(fleet->AwaitStatus(id, "COMPLETED"));
    fleet->ExpectVerified();
  }
}

TEST_F(S3Fleet, ALargeResultGoesApartAndSurvivesATakeover) {
  for (const bool with_s3 : {true, false}) {
    auto fleet = NewFleet(with_s3);
    fleet->StartWorker(1);
    ASSERT_TRUE(fleet->AwaitReady());
    const auto id =
        fleet->Submit("name: large\nsteps:\n" + Gated(*fleet, 1, "seq 1 2000000 | head -c 5000000 > big.txt") +
                      "  - {name: read, capability: io.fs.read_file, inputs: {path: big.txt}}\n" + Gated(*fleet, 2, "true") +
                      "  - {name: write, capability: io.fs.write_file, inputs: {path: copy.txt, content: \"{{ read.content }}\"}}\n");
    Open(*fleet, 1);
    ASSERT_TRUE(AwaitStarts(*fleet, 2, 1)) << fleet->Logs();
    fleet->worker(1).Kill();
    fleet->StartWorker(2);
    Open(*fleet, 2);
    ASSERT_TRUE(fleet->AwaitStatus(id, "COMPLETED"));
    Json hashes;
    for (const Json& file : FilesOf(*fleet, id)["files"]) hashes[std::string(file["path"])] = file["hash"];
    EXPECT_EQ(hashes["copy.txt"], hashes["big.txt"]);
    EXPECT_GE(std::stoi(Psql(fleet->database_url(),
                             "select count(*) from event_rows where offloaded and payload is null and subject_id = '" + id + "'")),
              1);
    EXPECT_LT(std::stoi(Psql(fleet->database_url(), "select max(length(payload)) from event_rows where subject_id = '" + id + "'")),
              10'000);
    const auto events = fleet->Events(id);
    EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const Json& event) { return DumpJson(event).size() > 5'000'000; }));
    if (!with_s3) {
      EXPECT_EQ(Psql(fleet->database_url(), "select length(outputs_json) > 5000000 from workflow_steps where step_name = 'read'"), "t");
    }
    fleet->ExpectVerified();
  }
}

TEST_F(S3Fleet, RunsGoOnWhileTheStoreIsAwayAndLargeOnesWaitForIt) {
  auto fleet = NewFleet();
  fleet->StartWorker(1);
  ASSERT_TRUE(fleet->AwaitReady());
  s3_.Kill();
  const auto large = fleet->Submit(
      "name: large\nsteps:\n  - {name: out, capability: sys.exec.run, inputs: {command: sh, args: [\"-c\", \"seq 1 5000\"]}}\n");
  const auto small = fleet->Submit("name: small\nsteps:\n  - {name: w, capability: io.fs.write_file, inputs: {path: f, content: x}}\n");
  ASSERT_TRUE(fleet->AwaitStatus(small, "COMPLETED")) << "nothing else waits for the store";
  EXPECT_EQ(fleet->StatusOf(large), "RUNNING");
  s3_.Start();
  ASSERT_TRUE(fleet->AwaitStatus(large, "COMPLETED"));
  fleet->ExpectVerified();
}

TEST_F(S3Fleet, ACoordinatorsRequestsToTheStoreAreCounted) {
  auto fleet = NewFleet();
  ASSERT_TRUE(fleet->AwaitReady());
  const auto requests = [&](const std::string& operation) {
    return fleet->Metric(fleet->ApiUrl(), "acl_object_store_requests_total", "operation=\"" + operation + "\",outcome=\"ok\"");
  };
  const double puts = requests("PUT"), sent = fleet->Metric(fleet->ApiUrl(), "acl_object_store_bytes_total", "sent");
  std::filesystem::create_directory(fleet->folder() / "in");
  WriteFile(fleet->folder() / "in" / "large.txt", std::string(10'000, 'x'));
  WriteFile(fleet->folder() / "w.yaml", "name: quick\nsteps:\n  - {name: a, capability: sys.info.get_time}\n");
  const auto submitted = fleet->Cli({"workflow", "run", fleet->folder() / "w.yaml", "--files", fleet->folder() / "in"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.out << submitted.err;
  EXPECT_EQ(requests("PUT"), puts + 1) << "the upload";
  EXPECT_GE(fleet->Metric(fleet->ApiUrl(), "acl_object_store_bytes_total", "sent"), sent + 10'000);
  EXPECT_GE(fleet->Metric(fleet->ApiUrl(), "acl_object_store_request_seconds_count", "operation=\"PUT\""), 1);
  EXPECT_TRUE(WaitUntil([&] { return requests("LIST") > 0; })) << "the collector looks through the bucket";
}

TEST_F(S3Fleet, DoctorLooksAtTheBucket) {
  auto fleet = NewFleet();
  fleet->StartWorker(1);
  ASSERT_TRUE(fleet->AwaitReady());
  const auto good = fleet->Cli({"doctor"});
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, HasSubstr("object store: s3://acl at http://127.0.0.1"));
  EXPECT_THAT(good.out, HasSubstr("put, read and deleted an object"));
  EXPECT_TRUE(Keys().empty());
  s3_.Kill();
  const auto bad = fleet->Cli({"doctor"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("fix: is it running, is ACL_S3_ENDPOINT right?"));
}

}  // namespace
}  // namespace acl::test
