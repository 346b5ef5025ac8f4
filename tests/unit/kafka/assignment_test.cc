#include "shared/kafka/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl::kafka {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Version 0; topics "ab" (partitions 1 and 258) and "c" (none); user data of three bytes.
const std::string kAssignment(
    "\x00\x00\x00\x00\x00\x02\x00\x02\x61\x62\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x01\x02"
    "\x00\x01\x63\x00\x00\x00\x00\x00\x00\x00\x03xyz",
    36);

TEST(Assignment, IsReadAsItWasWritten) {
  EXPECT_THAT(ReadAssignment(kAssignment), ElementsAre(Pair("ab", 1), Pair("ab", 258)));
  EXPECT_THAT(ReadAssignment(std::string("\x00\x03", 2) + kAssignment.substr(2)), ElementsAre(Pair("ab", 1), Pair("ab", 258)))
      << "a later version begins as this one";
}

TEST(Assignment, OfNothingIsEmpty) {
  EXPECT_THAT(ReadAssignment(""), IsEmpty());
  EXPECT_THAT(ReadAssignment(std::string("\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff", 10)), IsEmpty());
}

TEST(Assignment, ThatIsCutOffOrSaysImpossibleNumbersIsNone) {
  for (std::size_t size = 0; size < 29; ++size) EXPECT_THAT(ReadAssignment(kAssignment.substr(0, size)), IsEmpty()) << size;
  for (const std::size_t at : {2u, 6u, 10u}) {  // counts and a length, as large and as negative as may be
    for (const char c : {'\x7f', '\xff'}) {
      std::string spoilt = kAssignment;
      spoilt[at] = c;
      EXPECT_THAT(ReadAssignment(spoilt), IsEmpty()) << at;
    }
  }
}

}  // namespace
}  // namespace acl::kafka
