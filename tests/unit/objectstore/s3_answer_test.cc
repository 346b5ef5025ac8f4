#include "shared/objectstore/s3_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl::s3 {
namespace {

using ::testing::HasSubstr;

const WallTime kNow = *ParseWallTime("2026-11-22T08:00:00Z");

Answer Refusal(int status, const std::string& code, const std::string& message = "why") {
  return {status,
          {{"date", "Sun, 22 Nov 2026 07:30:00 GMT"}},
          "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>"};
}

TEST(S3Answer, TextOfATag) {
  EXPECT_EQ(XmlText("<a><Code>x &lt;&amp;&gt; &quot;y&quot; &#x41;&#66;</Code></a>", "Code"), "x <&> \"y\" AB");
  EXPECT_EQ(XmlText("<Code>", "Code"), std::nullopt);
  EXPECT_EQ(XmlText("<Code>&nosuch;</Code>", "Code"), std::nullopt);
  EXPECT_EQ(XmlText("<Code>&", "Code"), std::nullopt);
  EXPECT_EQ(XmlText("", "Code"), std::nullopt);
}

TEST(S3Answer, Listing) {
  const std::string head = "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  const std::string object =
      "<Contents><Key>a/b&amp;c</Key><LastModified>2026-11-22T07:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag><Size>42</Size></"
      "Contents>";
  auto page = ReadListing(head + object + object +
                          "<IsTruncated>true</IsTruncated><NextContinuationToken>t=</NextContinuationToken></ListBucketResult>");
  ASSERT_TRUE(page) << page.message();
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a/b&c");
  EXPECT_EQ(page->objects[0].size, 42);
  EXPECT_EQ(FormatWallTime(page->objects[0].modified), "2026-11-22T07:00:00.000000Z");
  EXPECT_EQ(page->next, "t=");
  page = ReadListing(head + "<IsTruncated>false</IsTruncated></ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->objects.empty() && page->next.empty());
}

TEST(S3Answer, AListingThatCannotBeReadIsNotAnEmptyOne) {
  const std::string head = "<ListBucketResult>";
  for (const std::string& text :
       {std::string(), std::string("<html>hello</html>"), head, head + "<Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>",
        head + "<Contents><Key>a</Key><LastModified>now</LastModified><Size>1</Size></Contents></ListBucketResult>",
        head + "<Contents><Key>a</Key><LastModified>2026-11-22T07:00:00Z</LastModified><Size>-</Size></Contents></ListBucketResult>",
        head + "<IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    EXPECT_EQ(ReadListing(text).ok() ? Code::kInternal : ReadListing(text).code(), Code::kUnavailable) << text;
  }
}

TEST(S3Answer, WhatARefusalMeans) {
  const auto judged = [](int status, const std::string& code) { return Judge(Refusal(status, code), "GET s3://b/k", kNow); };
  EXPECT_EQ(judged(404, "NoSuchKey").error.code, Code::kNotFound);
  EXPECT_EQ(judged(404, "NoSuchBucket").error.code, Code::kInvalid) << "a lost bucket is not a lost object";
  EXPECT_THAT(judged(403, "SignatureDoesNotMatch").error.message, HasSubstr("s3_secret_key"));
  EXPECT_EQ(judged(403, "AccessDenied").error.code, Code::kDenied);
  EXPECT_FALSE(judged(403, "AccessDenied").again);
  EXPECT_EQ(judged(301, "PermanentRedirect").error.code, Code::kInvalid);
  for (auto [status, code] : std::vector<std::pair<int, std::string>>{
           {503, "SlowDown"}, {500, "InternalError"}, {502, ""}, {429, ""}, {409, "ConditionalRequestConflict"}, {400, "BadDigest"}}) {
    EXPECT_TRUE(judged(status, code).again) << status << code;
    EXPECT_EQ(judged(status, code).error.code, Code::kUnavailable);
  }
  EXPECT_FALSE(judged(400, "InvalidRequest").again);
}

TEST(S3Answer, AWrongClockIsMeasured) {
  const Verdict verdict = Judge(Refusal(403, "RequestTimeTooSkewed"), "PUT s3://b/k", kNow);
  EXPECT_EQ(verdict.error.code, Code::kDenied);
  EXPECT_THAT(verdict.error.message, HasSubstr("1800 s ahead"));
  EXPECT_EQ(ClockAhead(Refusal(403, ""), *ParseWallTime("2026-11-22T07:29:00Z")), std::chrono::seconds(-60));
  EXPECT_EQ(ClockAhead({200, {{"date", "yesterday"}}, ""}, kNow), std::nullopt);
}

TEST(S3Answer, WhatAServerSaysIsShortAndOneLine) {
  const Verdict verdict = Judge(Refusal(400, "X", std::string(10'000, 'a') + "\n"), "GET s3://b/k", kNow);
  EXPECT_LT(verdict.error.message.size(), 400u);
  EXPECT_EQ(verdict.error.message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace acl::s3
