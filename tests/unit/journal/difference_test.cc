// What differs is what was changed; nothing is left out, and what two states share is not named.
#include "shared/journal/difference.h"

#include <gtest/gtest.h>

#include <set>

#include "shared/base/random.h"

namespace acl {
namespace {

std::string KeyOf(std::uint64_t i) { return "entry:" + std::to_string(i); }

std::set<std::string> Differ(const Document& before, const Document& after) {
  const auto changed = Difference(before, after);
  const std::set<std::string> once(changed.begin(), changed.end());
  EXPECT_EQ(once.size(), changed.size()) << "an entry is named twice";
  return once;
}

TEST(Difference, NamesWhatWasPutAndWhatWasRemoved) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SeededRandom random(seed);
    Document before;
    const std::uint64_t entries = random.Below(40);
    for (std::uint64_t i = 0; i < entries; ++i) before.Set(KeyOf(i), Json{{"n", i}});
    Document after = before;
    std::set<std::string> touched;
    for (std::uint64_t n = random.Below(6); n > 0; --n) {
      const std::string key = KeyOf(random.Below(50));
      if (random.Below(3) == 0) {
        if (!after.Has(key)) continue;
        after.Remove(key);
      } else {
        after.Set(key, Json{{"seed", seed}, {"n", n}});
      }
      touched.insert(key);
    }
    for (auto one = touched.begin(); one != touched.end();) {  // put and removed again
      one = !before.Has(*one) && !after.Has(*one) ? touched.erase(one) : std::next(one);
    }
    EXPECT_EQ(Differ(before, after), touched) << "seed " << seed;
    EXPECT_EQ(Differ(after, before), touched) << "seed " << seed;
    EXPECT_TRUE(Differ(after, after).empty());
  }
}

TEST(Difference, StatesThatShareNothingDifferInEverything) {
  Document one, other;
  for (std::uint64_t i = 0; i < 10; ++i) one.Set(KeyOf(i), Json(i)), other.Set(KeyOf(i), Json(i));
  EXPECT_EQ(Differ(one, other).size(), 10u);
  EXPECT_EQ(Differ(Document(), other).size(), 10u);
  EXPECT_EQ(Differ(one, Document()).size(), 10u);
}

}  // namespace
}  // namespace acl
