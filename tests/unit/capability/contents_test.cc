// Contents over the kernel's store: what a lost answer does to them.
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/capability/content.h"
#include "shared/kernel/memory_store.h"

namespace acl {
namespace {

// A store that does what it is asked and loses the first answers.
class ForgetfulStore : public MemoryStore {
 public:
  ForgetfulStore(const Clock& clock, int lost) : MemoryStore(clock), lost_(lost) {}
  Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) override {
    ++puts;
    if (Status put = MemoryStore::PutContents(contents); !put) return put;
    return puts > lost_ ? Status() : Status(Code::kOutcomeUnknown, "the connection broke");
  }
  int puts = 0;

 private:
  int lost_;
};

TEST(KernelContentsTest, ALostAnswerIsAskedForAgain) {
  SystemClock clock;
  ForgetfulStore store(clock, 2);
  KernelContents contents(store);
  const Hash256 hash = Sha256("bytes");
  EXPECT_TRUE(contents.Put(hash, "bytes").ok());
  EXPECT_EQ(store.puts, 3);
  EXPECT_EQ(*contents.Get(hash), "bytes");
}

// A step that cannot store a file may try again: it is not refused for good as what nobody knows the outcome of.
TEST(KernelContentsTest, AStoreThatNeverAnswersIsAwayAndNothingIsInDoubt) {
  SystemClock clock;
  ForgetfulStore store(clock, 1000);
  KernelContents contents(store);
  const Status put = contents.Put(Sha256("bytes"), "bytes");
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.code(), Code::kUnavailable) << put.error();
}

}  // namespace
}  // namespace acl
