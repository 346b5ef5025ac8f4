// Messages to the outside on real processes: a receiver that fails, breaks off, is slow while the coordinator is killed, and then takes
// them; and the example's receiver, which verifies and shows a message with buttons.
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <regex>

#include "shared/webhook/webhook.h"
#include "tests/support/fleet.h"
#include "tests/support/small_server.h"

namespace acl::test {
namespace {

constexpr const char* kOldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kNewSecret = "whsec_bmV3IGtleSwgbmV3IGtleSwgbmV3IGtleS4u";

// One request as it came.
struct Heard {
  webhook::Headers headers;
  std::string body;
};
std::string HeaderIn(const std::string& request, const std::string& name) {
  std::smatch found;
  return std::regex_search(request, found, std::regex("\r\n" + name + ": ([^\r]*)\r\n", std::regex::icase)) ? found[1].str() : "";
}
Heard HeardOf(const std::string& request) {
  return {{HeaderIn(request, "webhook-id"), HeaderIn(request, "webhook-timestamp"), HeaderIn(request, "webhook-signature")},
          request.substr(request.find("\r\n\r\n") + 4)};
}

class Webhooks : public ::testing::Test {
 protected:
  static void WritePrivate(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  // A fleet whose endpoint `hooks` is this address.
  std::unique_ptr<Fleet> FleetWith(const std::string& url, std::map<std::string, std::string> environment = {}) {
    WritePrivate(files_ / "keys", std::string("hooks 127.0.0.1 = ") + kNewSecret + " " + kOldSecret + "\n");
    WritePrivate(files_ / "endpoints", "hooks " + url + " sign=hooks private\nchat " + url + " sign=hooks private\n");
    FleetOptions options;
    options.environment = std::move(environment);
    options.environment["ACL_WEBHOOK_KEYS_FILE"] = files_ / "keys";
    options.environment["ACL_WEBHOOK_ENDPOINTS_FILE"] = files_ / "endpoints";
    return std::make_unique<Fleet>(options);
  }
  static std::string Ask(Fleet& fleet, const std::string& sql) { return Psql(fleet.database_url(), sql); }

  TestFolder files_;
};

TEST_F(Webhooks, ArriveOnceInOrderWhateverTheReceiverAndTheCoordinatorDo) {
  std::mutex mutex;
  std::condition_variable changed;
  bool may_answer = false;
  std::vector<Heard> heard;
  SmallServer receiver([&](const std::string& request) -> std::optional<std::string> {
    std::unique_lock lock(mutex);
    heard.push_back(HeardOf(request));
    const auto number = heard.size();
    if (number == 1) return SmallServer::Answer("503 Service Unavailable", "", "Retry-After: 1\r\n");
    if (number == 2) return std::nullopt;
    if (number == 3) changed.wait(lock, [&] { return may_answer; });
    return SmallServer::Answer("204 No Content", "");
  });
  const auto count = [&] {
    std::lock_guard lock(mutex);
    return heard.size();
  };
  const auto fleet = FleetWith(receiver.Url("/hooks"));
  fleet->StartCoordinator(0);
  fleet->StartWorker(1);
  ASSERT_TRUE(fleet->AwaitReady());
  const std::string run = fleet->Submit(
      "name: tells\nversion: '1'\nsteps:\n"
      "  - {name: first, publish: {event: deploy.begun, to: hooks, data: {n: 1}}}\n"
      "  - {name: second, publish: {event: deploy.done, to: hooks, data: {n: 2}}}\n"
      "  - {name: nowhere, publish: {event: deploy.done, to: nobody}}\n"
      "  - {name: without_kafka, publish: {event: deploy.done, kafka: deploys}}\n");
  ASSERT_TRUE(fleet->AwaitStatus(run, "COMPLETED"));
  const auto failed = [&](int attempts) {
    return Ask(*fleet,
               "SELECT count(*) FROM deliveries WHERE event = 'deploy.begun' AND held_until IS NULL AND state = 'pending' AND attempts = " +
                   std::to_string(attempts)) == "1";
  };
  ASSERT_TRUE(WaitUntil([&] { return failed(1); })) << fleet->Logs();
  for (const char* name : {"acl_deliveries_total", "acl_deliveries", "acl_deliveries_oldest_seconds"})
    EXPECT_TRUE(WaitUntil([&] { return fleet->Metric(fleet->ApiUrl(), name) > 0; })) << name;
  const std::string first = Ask(*fleet, "SELECT message_id FROM deliveries WHERE event = 'deploy.begun'");
  EXPECT_EQ(Ask(*fleet, "SELECT last_error FROM deliveries WHERE message_id = '" + first + "'"), "answered 503");
  ASSERT_EQ(fleet->Cli({"deliveries", "retry", first}).exit_code, 0);
  ASSERT_TRUE(WaitUntil([&] { return failed(2); })) << fleet->Logs();
  ASSERT_EQ(fleet->Cli({"deliveries", "retry", first}).exit_code, 0);
  ASSERT_TRUE(WaitUntil([&] { return count() == 3; })) << fleet->Logs();
  fleet->coordinator(0).Kill();  // in the middle of the third
  fleet->StartCoordinator(1);
  {
    std::lock_guard lock(mutex);
    may_answer = true;
  }
  changed.notify_all();
  Ask(*fleet, "UPDATE deliveries SET next_attempt_at = now(), held_until = now() WHERE held_until IS NOT NULL");  // its time is over
  ASSERT_TRUE(WaitUntil([&] { return Ask(*fleet, "SELECT count(*) FROM deliveries WHERE state = 'delivered'") == "2"; })) << fleet->Logs();

  std::lock_guard lock(mutex);
  ASSERT_EQ(heard.size(), 5u);
  const auto old_key = webhook::Key::Parse(kOldSecret), new_key = webhook::Key::Parse(kNewSecret);
  for (std::size_t n = 0; n < heard.size(); ++n) {
    EXPECT_EQ(heard[n].headers.id == first, n < 4) << n;
    for (const auto& key : {*old_key, *new_key}) {
      const auto verified = webhook::Verify(heard[n].headers, heard[n].body, std::span(&key, 1), SystemClock().Wall());
      EXPECT_TRUE(verified.ok()) << verified.message();
    }
    EXPECT_EQ(heard[n].body.find("\"n\":1") != std::string::npos, n < 4) << heard[n].body;
  }
  fleet->StartCoordinator(0);  // airun asks this one
  ASSERT_TRUE(fleet->AwaitReady());
  const auto dead = fleet->Cli({"deliveries", "list", "--state", "dead"});
  EXPECT_NE(dead.out.find("this fleet has no endpoint 'nobody'"), std::string::npos) << dead.out << dead.err;
  EXPECT_NE(dead.out.find("this fleet has no Kafka"), std::string::npos) << dead.out;
  const std::string nowhere = Ask(*fleet, "SELECT message_id FROM deliveries WHERE endpoint = 'nobody'");
  EXPECT_EQ(fleet->Cli({"deliveries", "discard", nowhere}).exit_code, 0);
  EXPECT_EQ(fleet->Cli({"deliveries", "retry", first}).exit_code, 5);
  const auto shown = fleet->Cli({"deliveries", "show", first});
  EXPECT_NE(shown.out.find("answered 503"), std::string::npos) << shown.out;
  for (const char* secret : {kOldSecret, kNewSecret}) EXPECT_EQ(fleet->Logs().find(secret + 6), std::string::npos);
  fleet->ExpectVerified();
}

// The link is in the message and nowhere else; opening it decides nothing, its form decides once.
TEST_F(Webhooks, AnApprovalIsAskedForAndDecidedByItsLink) {
  std::mutex mutex;
  std::vector<Heard> heard;
  SmallServer receiver([&](const std::string& request) -> std::optional<std::string> {
    std::lock_guard lock(mutex);
    heard.push_back(HeardOf(request));
    return SmallServer::Answer("204 No Content", "");
  });
  auto fleet = FleetWith(receiver.Url("/hooks"), {{"ACL_APPROVAL_LINK_KEY", "hooks"}, {"ACL_APPROVAL_BASE_URL", "https://acl.test/"}});
  fleet->StartCoordinator(0);
  fleet->StartWorker(1);
  ASSERT_TRUE(fleet->AwaitReady());
  const std::string id = fleet->Submit(
      "name: deploy\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL, inputs: {message: 'go <now>?'}, approval_config: {notify: "
      "chat}}\n");
  ASSERT_TRUE(WaitUntil([&] {
    std::lock_guard lock(mutex);
    return !heard.empty();
  })) << fleet->Logs();
  const Json asked = *ParseJson(heard[0].body);
  EXPECT_EQ(asked["event"], "approval_required");
  EXPECT_EQ(asked["approval_id"], id + ":gate");
  const std::string url = asked["approve_url"];
  ASSERT_EQ(url.rfind("https://acl.test/approvals/", 0), 0u) << url;
  EXPECT_EQ(Ask(*fleet, "select count(*) from deliveries where body like '%token%'"), "0");
  const std::string path = fleet->ApiUrl() + url.substr(std::string("https://acl.test").size());
  for (int i = 0; i < 3; ++i) {
    const HttpAnswer page = HttpGet(path);
    EXPECT_EQ(page.status, 200) << page.body;
    EXPECT_NE(page.body.find("go &lt;now&gt;?"), std::string::npos) << page.body;
  }
  EXPECT_EQ(fleet->StatusOf(id), "PAUSED");
  EXPECT_EQ(HttpGet(path.substr(0, path.find('?'))).status, 403);
  HttpAsk form{"POST", path.substr(0, path.find('?')), "decision=approve&" + path.substr(path.find('?') + 1), {}, kHttpPatience};
  form.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  const HttpAnswer decided = Http(form);
  EXPECT_EQ(decided.status, 200) << decided.body;
  EXPECT_NE(decided.body.find("APPROVED by link:chat"), std::string::npos) << decided.body;
  ASSERT_TRUE(fleet->AwaitStatus(id, "COMPLETED"));
  EXPECT_EQ(Http(form).status, 409);
  EXPECT_NE(HttpGet(path).body.find("APPROVED by link:chat"), std::string::npos);
  fleet->ExpectVerified();
}

TEST_F(Webhooks, TheExampleShowsAMessageWithButtonsOnce) {
  const auto port = FreePort();
  const auto url = "http://127.0.0.1:" + std::to_string(port);
  const auto fleet = FleetWith(url + "/");
  const std::string example = std::string(ACL_SOURCE_DIR) + "/examples/webhook-receiver/";
  Process receiver({{"python3", example + "receiver.py", std::to_string(port), files_ / "keys"}, {}, {}, {}});
  ASSERT_TRUE(WaitUntil([&] { return HttpGet(url + "/").status == 200; }));
  fleet->StartCoordinator(0);
  fleet->StartWorker(1);
  ASSERT_TRUE(fleet->AwaitReady());
  const auto ran = fleet->Cli({"workflow", "run", example + "ask.yaml", "-i", "release=5.0", "--wait"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_TRUE(WaitUntil([&] { return !HttpGet(url + "/").body.empty(); })) << fleet->Logs();
  const auto message = ParseJson(HttpGet(url + "/").body);
  ASSERT_TRUE(message.ok());
  EXPECT_EQ((*message)["blocks"][0]["text"]["text"], "*deploy.question*\nMay 5.0 go out?");
  EXPECT_EQ((*message)["blocks"][1]["elements"].size(), 2u);
  EXPECT_EQ((*message)["blocks"][1]["elements"][0]["type"], "button");
  HttpAsk forged{"POST", url + "/", "{}", {}, kHttpPatience};
  forged.headers = {{"webhook-id", "m1"},
                    {"webhook-timestamp", std::to_string(MicrosOf(SystemClock().Wall()) / 1'000'000)},
                    {"webhook-signature", "v1,AAAA"}};
  EXPECT_EQ(Http(forged).body, "signed by nobody known\n");
}

}  // namespace
}  // namespace acl::test
