#include "tests/sim/fiber.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace acl::test {
namespace {

struct Notes {
  std::string& text;
  std::string of;
  ~Notes() { text += of; }
};

TEST(FiberTest, GoesOnWhereItStopped) {
  std::string said;
  Fiber* self = nullptr;
  Fiber fiber([&] {
    for (const char* word : {"a", "b", "c"}) {
      said += word;
      self->Suspend();
    }
  });
  self = &fiber;
  EXPECT_EQ(said, "");
  fiber.Resume();
  said += "-";
  fiber.Resume();
  said += "-";
  fiber.Resume();
  EXPECT_FALSE(fiber.ended());
  fiber.Resume();
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(said, "a-b-c");
}

TEST(FiberTest, ManyTakeTurns) {
  std::vector<std::unique_ptr<Fiber>> fibers(20);
  std::vector<int> done(20);
  for (int n = 0; n < 20; ++n) {
    fibers[std::size_t(n)] = std::make_unique<Fiber>([&, n] {
      for (int round = 0; round < n; ++round) fibers[std::size_t(n)]->Suspend();
      done[std::size_t(n)] = n;
    });
  }
  for (int round = 0; round < 20; ++round) {
    for (auto& fiber : fibers) {
      if (!fiber->ended()) fiber->Resume();
    }
  }
  for (int n = 0; n < 20; ++n) EXPECT_EQ(done[std::size_t(n)], n);
}

// As a process that is killed: what it holds is released, and what would block while that happens does not.
TEST(FiberTest, ItsStackIsUnwoundWhenItGoes) {
  std::string said;
  Fiber* self = nullptr;
  auto fiber = std::make_unique<Fiber>([&] {
    const Notes outer{said, "outer "};
    struct Stops {
      Fiber*& fiber;
      ~Stops() { fiber->Suspend(); }
    } stops{self};
    const Notes inner{said, "inner "};
    self->Suspend();
    said += "never";
  });
  self = fiber.get();
  fiber->Resume();
  EXPECT_EQ(said, "");
  fiber.reset();
  EXPECT_EQ(said, "inner outer ");
  Fiber never([&] { said += "never"; });
  EXPECT_EQ(said, "inner outer ") << "one that never began has nothing to unwind";
}

TEST(FiberTest, WhatItThrowsComesOut) {
  Fiber fiber([] { throw std::runtime_error("out"); });
  EXPECT_THROW(fiber.Resume(), std::runtime_error);
  EXPECT_TRUE(fiber.ended());
}

}  // namespace
}  // namespace acl::test
