// Every input that is kept, through its target: what fuzzing found once stays mended, without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/targets/targets.h"

namespace acl::fuzz {
namespace {

const std::filesystem::path kCorpus = std::filesystem::path(ACL_SOURCE_DIR) / "tests/fuzz/corpus";

class Replay : public ::testing::TestWithParam<Target> {};

TEST_P(Replay, Corpus) {
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus / GetParam().name)) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    GetParam().run(bytes);
    ++inputs;
  }
  EXPECT_GE(inputs, 5);
  std::cout << GetParam().name << ": " << inputs << " inputs\n";
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, ::testing::ValuesIn(Targets()), [](const auto& test) { return std::string(test.param.name); });

TEST(Replay, EveryCorpusHasATarget) {
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    const auto name = entry.path().filename().string();
    EXPECT_TRUE(std::any_of(Targets().begin(), Targets().end(), [&](const Target& target) { return target.name == name; })) << name;
  }
}

}  // namespace
}  // namespace acl::fuzz
