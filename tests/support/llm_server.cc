#include "tests/support/llm_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "shared/base/json.h"
#include "shared/base/random.h"
#include "tests/support/process.h"

namespace acl::test {
namespace {

std::string DevLlm(const std::string& action, const std::string& name) {
  const auto result = RunProgram({ACL_SOURCE_DIR "/dev", "llm", action, name});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::string out = result.out;
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace

TestLlm::TestLlm() {
  SystemRandom random;
  name_ = "t" + std::to_string(getpid()) + "-" + std::to_string(random.Below(1'000'000'000));
  base_url_ = DevLlm("start", name_);
  portable_ = DevLlm("kind", name_) == "portable";
}
TestLlm::~TestLlm() { DevLlm("remove", name_); }

std::string TestLlm::Providers() const { return DevLlm("providers", name_); }
void TestLlm::Kill() { DevLlm("kill", name_); }

bool TestLlm::Busy() const {
  const auto slots = RunProgram({"/usr/bin/curl", "--silent", "--fail", "--noproxy", "*", "--max-time", "20",
                                 base_url_.substr(0, base_url_.rfind("/v1")) + "/slots"});
  EXPECT_EQ(slots.exit_code, 0) << slots.err;
  const auto parsed = ParseJson(slots.out);
  return parsed && parsed->is_array() && !parsed->empty() && (*parsed)[0].value("is_processing", false);
}

}  // namespace acl::test
