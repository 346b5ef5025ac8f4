// Contents over the kernel's store: what a lost answer does to them.
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/capability/content.h"
#include "shared/kernel/memory_store.h"

namespace acl {
namespace {

// A store that does what it is asked and loses the first answers, or is away at first.
class ForgetfulStore : public MemoryStore {
 public:
  ForgetfulStore(const Clock& clock, int lost, Code code) : MemoryStore(clock), lost_(lost), code_(code) {}
  Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) override {
    ++puts;
    if (code_ == Code::kUnavailable && puts <= lost_) return Error{code_, "too many clients already"};
    if (Status put = MemoryStore::PutContents(contents); !put) return put;
    return puts > lost_ ? Status() : Status(code_, "the connection broke");
  }
  Result<std::string> GetContent(const Hash256& hash) override {
    if (++gets <= lost_) return Error{code_, "lock timeout"};
    return MemoryStore::GetContent(hash);
  }
  int puts = 0, gets = 0;

 private:
  const int lost_;
  const Code code_;
};

TEST(KernelContentsTest, AStoreThatIsAwayForAMomentIsAskedAgain) {
  for (const Code code : {Code::kOutcomeUnknown, Code::kUnavailable, Code::kTimeout}) {
    SystemClock clock;
    ForgetfulStore store(clock, 3, code);
    KernelContents contents(store);
    const Hash256 hash = Sha256("bytes");
    EXPECT_TRUE(contents.Put(hash, "bytes").ok());
    EXPECT_EQ(store.puts, 4);
    EXPECT_EQ(*contents.Get(hash), "bytes");
  }
}

// What it gives up on may be tried again: it is not refused for good as what nobody knows the outcome of.
TEST(KernelContentsTest, AStoreThatNeverAnswersIsAwayAndNothingIsInDoubt) {
  SystemClock clock;
  ForgetfulStore store(clock, 1'000'000, Code::kOutcomeUnknown);
  KernelContents contents(store, std::chrono::milliseconds(50));
  const Status put = contents.Put(Sha256("bytes"), "bytes");
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.code(), Code::kUnavailable) << put.error();
}

TEST(KernelContentsTest, WhatIsNotThereIsNotWaitedFor) {
  SystemClock clock;
  ForgetfulStore store(clock, 0, Code::kTimeout);
  KernelContents contents(store);
  EXPECT_EQ(contents.Get(Sha256("never put")).code(), Code::kCorrupt);
  EXPECT_EQ(store.gets, 1);
}

}  // namespace
}  // namespace acl
