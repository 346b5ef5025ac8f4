#include "tests/support/kafka_server.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "shared/base/random.h"
#include "tests/support/fleet.h"

namespace acl::test {

namespace {

RunResult Dev(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {std::string(ACL_SOURCE_DIR) + "/dev", "kafka"});
  return RunProgram(arguments);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string RunName() {
  const char* name = std::getenv("ACL_TEST_KAFKA_NAME");
  EXPECT_NE(name, nullptr) << "run ./dev test kafka";
  return name ? name : "test";
}

}  // namespace

TestKafka TestKafka::OfThisRun() {
  const char* address = std::getenv("ACL_TEST_KAFKA");
  EXPECT_NE(address, nullptr) << "run ./dev test kafka, or export ACL_TEST_KAFKA=$(./dev kafka start)";
  return {RunName(), address ? address : "", false};
}

TestKafka TestKafka::Own(const std::string& suffix) {
  TestKafka kafka(RunName() + "-" + suffix, "", true);
  kafka.Start();
  return kafka;
}

TestKafka::~TestKafka() {
  if (!name_.empty() && own_) (void)Dev({"remove", name_});
}

void TestKafka::Start() {
  const auto started = Dev({"start", name_});
  EXPECT_EQ(started.exit_code, 0) << started.err;
  url_ = FirstLine(started.out);
}

void TestKafka::Kill() { EXPECT_EQ(Dev({"kill", name_}).exit_code, 0); }

RunResult TestKafka::Tool(const std::string& tool, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"tool", name_, tool});
  return Dev(arguments);
}

std::pair<std::string, std::string> TestKafka::Tls() {
  const auto said = Dev({"tls", name_});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  const std::string line = FirstLine(said.out);
  const auto space = line.find(' ');
  return {line.substr(0, space), line.substr(space + 1)};
}

std::map<std::string, std::string> TestKafka::FleetEnvironment(const std::string& prefix, std::vector<std::string> queues, int partitions) {
  std::map<std::string, std::string> environment = {
      {"ACL_QUEUE_DRIVER", "kafka"}, {"ACL_KAFKA_BOOTSTRAP", url_}, {"ACL_KAFKA_PREFIX", prefix}};
  std::vector<std::string> arguments = {Binary("airun"), "queue", "init", "--partitions", std::to_string(partitions)};
  arguments.insert(arguments.end(), queues.begin(), queues.end());
  const auto made = RunProgram(arguments, environment);
  EXPECT_EQ(made.exit_code, 0) << made.out << made.err;
  return environment;
}

std::string NewPrefix() {
  SystemRandom random;
  return "f" + std::to_string(random.Next() % 1'000'000'000);
}

}  // namespace acl::test
