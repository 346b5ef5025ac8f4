// Which failures are repeated, and what a failure says.
#include "shared/aegis/provider/retry.h"

#include <gtest/gtest.h>

#include <set>

namespace acl::aegis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{1'000'000};

TEST(ModelRetry, OnlyWhatSurelyDidNotRunIsRepeated) {
  const std::set<Failure> safe = {Failure::kRateLimited, Failure::kOverloaded, Failure::kNotConnected};
  for (const Failure code : kFailures) {
    for (const Ran ran : {Ran::kNo, Ran::kMaybe, Ran::kYes}) {
      const ModelFailure failure{.code = code, .ran = ran};
      const bool expected = ran == Ran::kNo && safe.count(code) > 0;
      EXPECT_EQ(SafeToRepeat(failure), expected) << NameOf(code);
      EXPECT_EQ(DecideRetry(failure, 1, false, {}, kLong, 0.5).again, expected) << NameOf(code);
      EXPECT_FALSE(DecideRetry(failure, 1, true, {}, kLong, 0.5).again) << NameOf(code) << " after a piece was given out";
    }
  }
}

TEST(ModelRetry, AnUnknownOutcomeIsRepeatedOnlyWhereThatIsAllowed) {
  const ModelFailure unknown{.code = Failure::kOutcomeUnknown, .ran = Ran::kMaybe};
  EXPECT_FALSE(DecideRetry(unknown, 1, false, {}, kLong, 0).again);
  EXPECT_TRUE(DecideRetry(unknown, 1, false, {.when_unknown = true}, kLong, 0).again);
  const ModelFailure key{.code = Failure::kKeyRefused, .ran = Ran::kNo};
  EXPECT_FALSE(DecideRetry(key, 1, false, {.when_unknown = true}, kLong, 0).again);
}

TEST(ModelRetry, TheProvidersWishCountsAndTheDeadlineEndsIt) {
  const RetryRules rules{.most_attempts = 3, .first_wait = milliseconds(100), .most_wait = milliseconds(5'000)};
  ModelFailure failure{.code = Failure::kRateLimited, .ran = Ran::kNo, .retry_after = milliseconds(2'000)};
  EXPECT_EQ(DecideRetry(failure, 1, false, rules, kLong, 0.5).wait, milliseconds(2'000));
  EXPECT_FALSE(DecideRetry(failure, 3, false, rules, kLong, 0.5).again) << "three were allowed";
  EXPECT_FALSE(DecideRetry(failure, 1, false, rules, milliseconds(2'000), 0.5).again) << "the deadline comes first";
  failure.retry_after = milliseconds(6'000);
  EXPECT_FALSE(DecideRetry(failure, 1, false, rules, kLong, 0.5).again) << "longer than anybody waits";
  failure.retry_after.reset();
  EXPECT_LE(DecideRetry(failure, 1, false, rules, kLong, 0.999).wait, milliseconds(100));
  EXPECT_LE(DecideRetry(failure, 2, false, rules, kLong, 0.999).wait, milliseconds(200));
}

TEST(ModelFailureText, EveryCodeHasANameAndOneLine) {
  std::set<std::string_view> names;
  for (const Failure code : kFailures) {
    EXPECT_TRUE(names.insert(NameOf(code)).second) << NameOf(code);
    EXPECT_FALSE(HintOf(code).empty()) << NameOf(code);
    EXPECT_EQ(HintOf(code).find('\n'), std::string_view::npos);
  }
  const ModelFailure overflow{.code = Failure::kContextExceeded,
                              .ran = Ran::kNo,
                              .status = 400,
                              .prompt_tokens = 1431,
                              .context_tokens = 1024,
                              .provider = "local"};
  EXPECT_EQ(Describe(overflow),
            "provider local: context_exceeded (HTTP 400): the prompt has 1431 tokens, the context 1024; lower the kernel's caps, or take a "
            "model with a longer context");
}

TEST(ModelFailureText, WhatMayHaveRunIsAnUnknownOutcomeToEverybodyElse) {
  for (const Failure code : kFailures) {
    EXPECT_EQ(AsError({.code = code, .ran = Ran::kMaybe}).code, Code::kOutcomeUnknown) << NameOf(code);
    EXPECT_NE(AsError({.code = code, .ran = Ran::kNo}).code, Code::kOutcomeUnknown) << NameOf(code);
    EXPECT_EQ(AsError({.code = code, .ran = Ran::kNo, .unknown_attempts = 1}).code, Code::kOutcomeUnknown) << NameOf(code);
  }
}

}  // namespace
}  // namespace acl::aegis
