#pragma once
// Apache Kafka for tests: the broker of the test run, or one of a test's own that it may kill. `./dev kafka` makes them; they keep their
// ports.

#include <string>
#include <vector>

#include "tests/support/process.h"

namespace acl::test {

class TestKafka {
 public:
  // The run's own, from ./dev test; fails the test if there is none.
  static TestKafka OfThisRun();
  // One of this test alone, started; gone with this object.
  static TestKafka Own(const std::string& suffix);
  TestKafka(TestKafka&& other) noexcept : name_(std::exchange(other.name_, "")), url_(std::move(other.url_)), own_(other.own_) {}
  TestKafka& operator=(TestKafka&&) = delete;
  ~TestKafka();

  const std::string& url() const { return url_; }
  void Start();
  void Kill();  // kill -9
  // One of Kafka's own tools: topics, groups, configs.
  RunResult Tool(const std::string& tool, std::vector<std::string> arguments);
  // HOST:PORT that speaks TLS, and the file of the certificate that it shows.
  std::pair<std::string, std::string> Tls();
  // Settings of a fleet on this broker with topics of its own; the topics are made.
  std::map<std::string, std::string> FleetEnvironment(const std::string& prefix, std::vector<std::string> queues = {"default"},
                                                      int partitions = 6);

 private:
  TestKafka(std::string name, std::string url, bool own) : name_(std::move(name)), url_(std::move(url)), own_(own) {}
  std::string name_, url_;
  bool own_;
};

// A prefix that no other test has.
std::string NewPrefix();

}  // namespace acl::test
