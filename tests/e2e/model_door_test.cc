// One door to a language model (D-r1), in the programs as they are linked: who reads their bytes finds the model client in the coordinator
// alone. In the sources: tests/unit/house/model_door_test.cc.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

// The name of the client's class, which stays when symbols are stripped, and the path that it asks.
constexpr const char* kTraces[] = {"N3acl5aegis15HttpModelClientE", "/chat/completions"};

std::string BytesOf(const std::string& program) {
  std::ifstream file(Binary(program), std::ios::binary);
  EXPECT_TRUE(file) << program;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ModelDoor, OnlyTheCoordinatorHoldsTheModelClient) {
  const std::string coordinator = BytesOf("acl-coordinator");
  for (const char* trace : kTraces) EXPECT_NE(coordinator.find(trace), std::string::npos) << trace << ": else this test looks for nothing";
  for (const char* program : {"acl-worker", "airun"}) {
    const std::string bytes = BytesOf(program);
    ASSERT_GT(bytes.size(), 1'000'000u);
    for (const char* trace : kTraces) EXPECT_EQ(bytes.find(trace), std::string::npos) << program << " holds " << trace;
  }
}

}  // namespace
}  // namespace acl::test
