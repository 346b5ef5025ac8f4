#include "shared/base/trace_context.h"

#include <gtest/gtest.h>

#include <set>

#include "shared/base/uuid7.h"

namespace acl {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c", kSpan = "b7ad6b7169203331";

TEST(TraceParent, IsReadAndWritten) {
  auto context = ParseTraceparent("00-" + kTrace + "-" + kSpan + "-01");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, kTrace);
  EXPECT_EQ(context->span_id, kSpan);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(FormatTraceparent(*context), "00-" + kTrace + "-" + kSpan + "-01");
  context = ParseTraceparent("00-" + kTrace + "-" + kSpan + "-00");
  ASSERT_TRUE(context);
  EXPECT_FALSE(context->sampled);
  EXPECT_EQ(FormatTraceparent(*context), "00-" + kTrace + "-" + kSpan + "-00");
  EXPECT_TRUE(ParseTraceparent("00-" + kTrace + "-" + kSpan + "-0b")->sampled) << "unknown flags are ignored";
  EXPECT_TRUE(ParseTraceparent("cc-" + kTrace + "-" + kSpan + "-01-what-comes-later")) << "a later version may say more";
  EXPECT_EQ(FormatTraceparent({kTrace, "", true}), "");
}

TEST(TraceParent, IsTakenOnlyIfWellFormed) {
  const std::string zeros(32, '0');
  for (const std::string& text :
       {std::string(), std::string("nonsense"), "00-" + zeros + "-" + kSpan + "-01", "00-" + kTrace + "-" + zeros.substr(16) + "-01",
        "ff-" + kTrace + "-" + kSpan + "-01", "00-0AF7651916cd43dd8448eb211c80319c-" + kSpan + "-01", "00-" + kTrace + "-" + kSpan + "-0x",
        "00-" + kTrace + "-" + kSpan + "-01-more", "cc-" + kTrace + "-" + kSpan + "-01more", "00-" + kTrace + "_" + kSpan + "-01",
        "00-" + kTrace + "-" + kSpan}) {
    EXPECT_FALSE(ParseTraceparent(text)) << text;
  }
}

TEST(SpanIds, AreOfWhatTheySpanAndOfNothingElse) {
  const SubjectId run{NewUuid7()}, other{NewUuid7()};
  std::set<std::string> ids;
  for (const SubjectId& subject : {run, other}) {
    ids.insert(RunSpanId(subject));
    for (const char* step : {"a", "b"}) {
      ids.insert(StepSpanId(subject, step));
      for (int attempt : {1, 2}) {
        for (std::int64_t token : {1, 2}) ids.insert(AttemptSpanId(subject, step, attempt, Token{token}));
      }
    }
    for (std::int64_t token : {1, 2}) ids.insert(ClaimSpanId(subject, Token{token}));
  }
  EXPECT_EQ(ids.size(), 2u * (1 + 2 + 8 + 2)) << "no two alike";
  EXPECT_EQ(AttemptSpanId(run, "a", 1, Token{7}), AttemptSpanId(run, "a", 1, Token{7})) << "whoever asks";
  for (const std::string& id : ids) EXPECT_TRUE(ParseTraceparent("00-" + kTrace + "-" + id + "-01")) << id;
}

}  // namespace
}  // namespace acl
