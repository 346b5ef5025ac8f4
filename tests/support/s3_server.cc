#include "tests/support/s3_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "shared/base/check.h"
#include "shared/base/random.h"
#include "tests/support/process.h"

namespace acl::test {
namespace {

std::string DevS3(const std::string& action, const std::string& name) {
  const auto result = RunProgram({ACL_SOURCE_DIR "/dev", "s3", action, name});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

}  // namespace

TestS3::TestS3() {
  SystemRandom random;
  name_ = "t" + std::to_string(getpid()) + "-" + std::to_string(random.Below(1'000'000'000));
  Start();
}
TestS3::~TestS3() { DevS3("remove", name_); }

void TestS3::Start() {
  DevS3("start", name_);
  std::istringstream lines(DevS3("env", name_));
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    environment_[line.substr(0, equals)] = line.substr(equals + 1);
  }
}
void TestS3::Kill() { DevS3("kill", name_); }

std::uint16_t TestS3::port() const {
  const std::string& endpoint = environment_.at("ACL_S3_ENDPOINT");
  return std::uint16_t(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

std::map<std::string, std::string> TestS3::Environment(std::uint16_t through) const {
  auto environment = environment_;
  if (through != 0) environment["ACL_S3_ENDPOINT"] = "http://127.0.0.1:" + std::to_string(through);
  return environment;
}

S3Options TestS3::Options(std::uint16_t through) const {
  const auto environment = Environment(through);
  S3Options options;
  options.endpoint = environment.at("ACL_S3_ENDPOINT");
  options.bucket = environment.at("ACL_S3_BUCKET");
  options.credentials = {environment.at("ACL_S3_ACCESS_KEY"), environment.at("ACL_S3_SECRET_KEY"), ""};
  return options;
}

std::unique_ptr<S3Store> TestS3::Store(const Clock& clock, S3Options options) const {
  auto made = S3Store::Make(std::move(options), clock);
  ACL_CHECK(made.ok(), made ? "" : made.message().c_str());
  return std::move(*made);
}

std::filesystem::path TestS3::FileOf(const std::string& key) const {
  return std::filesystem::path(ACL_SOURCE_DIR) / ".local" / "s3" / name_ / "root" / environment_.at("ACL_S3_BUCKET") / key;
}

}  // namespace acl::test
