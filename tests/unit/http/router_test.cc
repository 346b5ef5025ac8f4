#include "shared/http/router.h"
#include "shared/base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "shared/http/request_context.h"
#include "shared/http/sse.h"
#include "shared/http/url.h"

namespace acl {
namespace {

Router MakeRouter() {
  Router router;
  const auto none = [](const HttpRequest&) { return HttpResponse::Empty(); };
  router.Add("GET", "/v1/runs", {}, none);
  router.Add("POST", "/v1/runs", {}, none);
  router.Add("GET", "/v1/runs/{id}", {}, none);
  router.Add("GET", "/v1/runs/newest", {}, none);
  router.Add("GET", "/v1/runs/{id}/files/{path...}", {}, none);
  return router;
}

TEST(Router, FindsRoutesAndParameters) {
  const auto router = MakeRouter();
  auto match = router.Find("GET", "/v1/runs/a%20b");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->pattern, "/v1/runs/{id}");
  EXPECT_EQ(match.params.at("id"), "a b");
  EXPECT_EQ(router.Find("GET", "/v1/runs/newest").route->pattern, "/v1/runs/newest");
  match = router.Find("GET", "/v1/runs/7/files/a/b%2Fc.txt");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.params.at("path"), "a/b/c.txt");
  EXPECT_EQ(router.Find("HEAD", "/v1/runs").route->method, "GET");
}

// Found by Schemathesis: what /v1/items/{id} takes was said to be what /v1/items/batch takes.
TEST(Router, APathThatIsNamedIsNoParameter) {
  Router router;
  const auto nothing = [](const HttpRequest&) { return HttpResponse::Empty(); };
  router.Add("GET", "/v1/items/{id}", {}, nothing);
  router.Add("POST", "/v1/items/batch", {}, nothing);
  EXPECT_EQ(router.Find("POST", "/v1/items/batch").route->pattern, "/v1/items/batch");
  const auto match = router.Find("GET", "/v1/items/batch");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allowed, std::set<std::string>{"POST"});
  EXPECT_EQ(router.Find("GET", "/v1/items/other").params.at("id"), "other");
}

TEST(Router, TellsNoPathFromNoMethod) {
  const auto router = MakeRouter();
  const auto match = router.Find("DELETE", "/v1/runs");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allowed, (std::set<std::string>{"GET", "HEAD", "POST"}));
  for (const char* path : {"/", "/v1", "/v1/runs/", "/v1//runs", "/v1/runs/7/files/", "/v1/runs/7/8", "v1/runs", ""}) {
    const auto none = router.Find("GET", path);
    EXPECT_EQ(none.route, nullptr) << path;
    EXPECT_TRUE(none.allowed.empty()) << path;
  }
  EXPECT_TRUE(router.Find("GET", "/v1/runs/%zz").malformed);
  EXPECT_TRUE(router.Find("GET", "/v1/runs/%00").malformed);
  EXPECT_TRUE(router.Find("GET", "/v1/runs/%ff").malformed);
}

TEST(Url, DecodesAndEncodes) {
  EXPECT_EQ(PercentDecode("a%2Bb+c"), "a+b+c");
  EXPECT_EQ(PercentDecode("a%2Bb+c", true), "a+b c");
  EXPECT_EQ(PercentDecode("%C3%A9"), "é");
  EXPECT_FALSE(PercentDecode("%"));
  EXPECT_FALSE(PercentDecode("%4"));
  EXPECT_FALSE(PercentDecode("%c3"));
  EXPECT_EQ(PercentEncode("a b/é"), "a%20b%2F%C3%A9");
  const auto query = ParseQuery("a=1&&b=x%20y&c&a=2");
  ASSERT_TRUE(query);
  ASSERT_EQ(query->size(), 4u);
  EXPECT_EQ((*query)[1].second, "x y");
  EXPECT_FALSE(ParseQuery("a=%zz"));
}

RC_GTEST_PROP(Url, RoundTrips, (const std::string& text)) {
  const auto back = PercentDecode(PercentEncode(text));
  if (IsUtf8(text) && text.find('\0') == std::string::npos) {
    RC_ASSERT(back == text);
  } else {
    RC_ASSERT(!back);
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndCutOff) {
  EXPECT_TRUE(IsUtf8("é€😀"));
  for (const char* text : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98", "\x80", "\xff"})
    EXPECT_FALSE(IsUtf8(text));
}

TEST(Sse, SplitsDataIntoLines) {
  EXPECT_EQ(FormatSseEvent("7", "step.completed", "{\"a\":1}"), "id: 7\nevent: step.completed\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(FormatSseEvent("7", "x", "a\nb\r\nc\r"), "id: 7\nevent: x\ndata: a\ndata: b\ndata: c\ndata: \n\n");
}

}  // namespace
}  // namespace acl
