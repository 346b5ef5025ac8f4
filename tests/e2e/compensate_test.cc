// A compensation that could not succeed, finished afterwards with airun on real processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "tests/support/fleet.h"
#include "tests/support/small_server.h"

namespace acl::test {
namespace {

class Compensate : public ::testing::Test {
 protected:
  Compensate()
      : bank_([this](const std::string& request) -> std::optional<std::string> {
          if (request.find("/cancel") == std::string::npos) return SmallServer::Answer("200 OK", R"({"booking": 7})");
          return SmallServer::Answer(open_ ? "200 OK" : "503 Service Unavailable", "");
        }) {}
  void SetUp() override {
    fleet.StartCoordinator();
    fleet.StartWorker(1);
    ASSERT_TRUE(fleet.AwaitReady());
  }
  Json Run(const std::string& id) { return fleet.Api("GET", "/v1/workflows/" + id).json(); }
  // Two bookings whose cancelling fails while the bank is closed.
  std::string FailedTrip() {
    const std::string book = "capability: net.http.post, inputs: {url: \"" + bank_.Url("/book") +
                             "\", body: \"{}\"}, compensation: {capability: net.http.post, inputs: "
                             "{url: \"" +
                             bank_.Url("/cancel") + "\", body: \"x\", expect_status: 200}, max_retries: 1}";
    const std::string id = fleet.Submit("name: trip\nsteps:\n  - {name: hotel, " + book + "}\n  - {name: train, " + book +
                                        "}\n  - {name: pay, capability: test.fail, inputs: {message: declined}, max_retries: 1}\n");
    EXPECT_TRUE(WaitUntil([&] { return Run(id).value("closed", false); })) << Run(id).dump() << fleet.Logs();
    EXPECT_EQ(Run(id)["status"], "FAILED") << Run(id).dump();
    return id;
  }
  // Idempotency keys of what was asked to be cancelled.
  std::multiset<std::string> CancelKeys() {
    std::multiset<std::string> keys;
    for (const std::string& request : bank_.requests()) {
      if (request.find("/cancel") == std::string::npos) continue;
      std::string low = request;
      std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return char(std::tolower(c)); });
      const auto at = low.find("idempotency-key: ");
      EXPECT_NE(at, std::string::npos) << request;
      if (at != std::string::npos) keys.insert(low.substr(at + 17, low.find('\r', at) - at - 17));
    }
    return keys;
  }

  std::atomic<bool> open_ = false;
  SmallServer bank_;
  Fleet fleet;
};

TEST_F(Compensate, WhatIsLeftIsTriedOnceMoreOrGivenUpAndSaidWithTheRun) {
  const std::string id = FailedTrip();
  const auto before = fleet.Cli({"workflow", "status", id});
  EXPECT_NE((before.out + before.err).find("airun workflow compensate " + id + " --step undo:train"), std::string::npos) << before.err;
  const std::multiset<std::string> first = CancelKeys();
  ASSERT_EQ(first.size(), 2u);

  const auto early = fleet.Cli({"workflow", "compensate", id, "--step", "hotel", "--retry", "--reason", "is it back?", "--wait"});
  EXPECT_EQ(early.exit_code, 1) << early.out << early.err;
  open_ = true;
  const auto undone = fleet.Cli({"workflow", "compensate", id, "--step", "hotel", "--retry", "--reason", "it is back", "--wait"});
  EXPECT_EQ(undone.exit_code, 0) << undone.out << undone.err;
  const std::multiset<std::string> keys = CancelKeys();
  EXPECT_EQ(keys.size(), 4u);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), std::set<std::string>(first.begin(), first.end()))
      << "each try is known again by its key";

  const auto again = fleet.Cli({"workflow", "compensate", id, "--step", "hotel", "--retry", "--reason", "again"});
  EXPECT_EQ(again.exit_code, 5) << again.err;
  EXPECT_NE(again.err.find("was undone by run"), std::string::npos) << again.err;
  const auto given_up = fleet.Cli({"workflow", "compensate", id, "--step", "undo:train", "--skip", "--reason", "by phone", "--by", "ann"});
  EXPECT_EQ(given_up.exit_code, 0) << given_up.err;
  EXPECT_EQ(fleet.Cli({"workflow", "compensate", id, "--step", "train", "--retry", "--reason", "x"}).exit_code, 5);
  EXPECT_EQ(fleet.Cli({"workflow", "compensate", id, "--step", "pay", "--retry", "--reason", "x"}).exit_code, 5);
  EXPECT_EQ(fleet.Cli({"workflow", "compensate", id, "--step", "pay", "--reason", "x"}).exit_code, 2);

  const Json run = Run(id);
  EXPECT_EQ(run["status"], "FAILED") << "that is how it ended";
  ASSERT_EQ(run["not_undone"].size(), 2u) << run.dump();
  EXPECT_EQ(run["not_undone"][1]["finished_by"]["status"], "ROLLED_BACK") << run["not_undone"].dump();
  EXPECT_EQ(run["not_undone"][1]["finished_by"]["tries"], 2);
  EXPECT_EQ(run["not_undone"][0]["finished_by"]["decision"], "skip");
  const std::string gave_up = run["not_undone"][0]["finished_by"]["run_id"];
  ASSERT_TRUE(WaitUntil([&] { return Run(gave_up).value("closed", false); }));
  EXPECT_EQ(Run(gave_up)["finishes"]["by"], "ann");
  EXPECT_EQ(CancelKeys().size(), 4u) << "what is given up is not called";
  fleet.ExpectVerified();
}

TEST_F(Compensate, OfManyWhoDecideAtOnceOneMakesTheRun) {
  const std::string id = FailedTrip();
  open_ = true;
  std::vector<std::thread> people;
  std::vector<HttpAnswer> answers(8);
  for (std::size_t n = 0; n < answers.size(); ++n) {
    people.emplace_back([&, n] {
      answers[n] = fleet.Api("POST", "/v1/workflows/" + id + "/steps/train/compensate",
                             {{"decision", n % 2 == 0 ? "retry" : "skip"}, {"reason", "r"}, {"by", "p" + std::to_string(n)}},
                             {{"Idempotency-Key", "k" + std::to_string(n)}});
    });
  }
  for (auto& person : people) person.join();
  int made = 0;
  for (std::size_t n = 0; n < answers.size(); ++n) {
    EXPECT_TRUE(answers[n].status == 201 || answers[n].status == 409) << answers[n].body;
    if (answers[n].status != 201) continue;
    ++made;
    const auto repeat = fleet.Api("POST", "/v1/workflows/" + id + "/steps/train/compensate",
                                  {{"decision", n % 2 == 0 ? "retry" : "skip"}, {"reason", "r"}, {"by", "p" + std::to_string(n)}},
                                  {{"Idempotency-Key", "k" + std::to_string(n)}});
    EXPECT_EQ(repeat.status, 201) << repeat.body;
    EXPECT_EQ(repeat.json()["id"], answers[n].json()["id"]);
  }
  EXPECT_EQ(made, 1);
  EXPECT_LE(CancelKeys().size(), 3u);
  fleet.ExpectVerified();
}

}  // namespace
}  // namespace acl::test
