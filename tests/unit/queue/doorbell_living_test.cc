// Coordinators that come and go: who lives is told from outside (worker/coordinator_watch.h).
#include <gtest/gtest.h>

#include <atomic>

#include "shared/queue/doorbell_client.h"
#include "shared/queue/doorbell_server.h"
#include "tests/unit/queue/heard.h"

namespace acl {
namespace {

// A coordinator that was killed comes up at another address, which no setting names.
TEST(Doorbell, CoordinatorsThatLiveAreFoundAndThoseThatAreGoneAreForgotten) {
  Heard heard;
  const auto start = [&](const std::string& name) {
    DoorbellServer::Options options;
    options.on_closed = [&heard, name](const SubjectId&) { heard.Add(name); };
    auto server = std::make_unique<DoorbellServer>(std::move(options));
    EXPECT_TRUE(server->Start().ok());
    return server;
  };
  auto first = start("first");
  DoorbellClient::Options options;
  options.coordinators = {first->address()};
  options.queues = {"default"};
  options.retry_min = std::chrono::milliseconds(1);
  options.retry_max = std::chrono::milliseconds(5);
  options.on_work = [&](const std::string&) { heard.Add("work"); };
  options.on_woken = [](const SubjectId&) {};
  std::atomic<bool> all{false};
  options.on_lines = [&](bool connected) {
    all = connected;
    heard.Add(connected ? "all lines" : "a line lost");
  };
  DoorbellClient client(std::move(options));
  ASSERT_TRUE(client.Start().ok());
  const auto lines = [&](int connected) { return heard.Watch([&] { return all && client.connected() == connected; }); };
  ASSERT_TRUE(lines(1));
  client.SetLiving({first->address()});  // the same as the setting's
  first->Stop();
  ASSERT_TRUE(heard.WaitFor("a line lost", 1));
  auto second = start("second");
  client.SetLiving({second->address()});
  ASSERT_TRUE(lines(1)) << "the one of the settings does not live, and is no reason to poll";
  client.TellClosed(Subject(1));
  EXPECT_TRUE(heard.WaitFor("second"));

  // The second goes, too, and a third lives.
  auto third = start("third");
  client.SetLiving({third->address()});
  ASSERT_TRUE(lines(2)) << "a line that holds is kept";
  second->Stop();
  ASSERT_TRUE(lines(1));
  client.TellClosed(Subject(2));
  EXPECT_TRUE(heard.WaitFor("third"));
  // One place under two names has one line.
  client.SetLiving({third->address(), {"localhost", third->address().port}});
  ASSERT_TRUE(lines(1));
  const int lost = heard.Count("a line lost");
  third->CutAll();
  ASSERT_TRUE(heard.WaitFor("a line lost", lost + 1));
  ASSERT_TRUE(lines(1));
  client.Stop();
  third->Stop();
}

}  // namespace
}  // namespace acl
