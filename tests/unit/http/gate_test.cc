#include "shared/http/gate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace acl {
namespace {

// A head with one Host; `extra` are further lines.
std::string Head(const std::string& extra = "", const std::string& line = "POST /a?b=c HTTP/1.1") {
  return line + "\r\nHost: localhost:8733\r\n" + extra + "\r\n";
}

std::string CodeOf(const std::string& text, const GateOptions& options = {}) {
  auto checked = CheckHead(text, options);
  if (const auto* refusal = std::get_if<GateRefusal>(&checked)) return refusal->code;
  return "ok";
}

struct Vector {
  const char* name;
  std::string text;
  const char* code;
};

class GateVectors : public ::testing::TestWithParam<Vector> {};

TEST_P(GateVectors, AreReadInOneWayOrRefused) { EXPECT_EQ(CodeOf(GetParam().text), GetParam().code); }

const Vector kVectors[] = {
    // the eight of the note
    {"te_unknown", Head("Transfer-Encoding: xchunked\r\n"), "bad-transfer-encoding"},
    {"te_identity", Head("Transfer-Encoding: identity\r\n"), "bad-transfer-encoding"},
    {"te_chunked_not_last", Head("Transfer-Encoding: chunked, identity\r\n"), "bad-transfer-encoding"},
    {"te_gzip_chunked", Head("Transfer-Encoding: gzip, chunked\r\n"), "bad-transfer-encoding"},
    {"te_twice", Head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "bad-transfer-encoding"},
    {"te_chunked_chunked", Head("Transfer-Encoding: chunked, chunked\r\n"), "bad-transfer-encoding"},
    {"te_empty", Head("Transfer-Encoding:\r\n"), "bad-transfer-encoding"},
    {"fold", Head("X-A: 1\r\n 2\r\n"), "folded-header"},
    {"fold_tab", Head("X-A: 1\r\n\t2\r\n"), "folded-header"},
    {"fold_in_te", Head("Transfer-Encoding:\r\n chunked\r\n"), "folded-header"},
    {"fold_first", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "folded-header"},
    {"te_on_10", Head("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0"), "bad-transfer-encoding"},
    {"no_host", "GET / HTTP/1.1\r\nX: y\r\n\r\n", "bad-host"},
    {"two_hosts", Head("Host: localhost:8733\r\n"), "bad-host"},
    {"host_with_path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "bad-host"},
    {"host_with_user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "bad-host"},
    {"host_empty", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "bad-host"},
    {"host_list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "bad-host"},
    {"cl_list", Head("Content-Length: 1, 1\r\n"), "bad-content-length"},
    {"cl_twice_equal", Head("Content-Length: 1\r\nContent-Length: 1\r\n"), "bad-content-length"},
    {"cl_signed", Head("Content-Length: +1\r\n"), "bad-content-length"},
    {"cl_hex", Head("Content-Length: 0x1\r\n"), "bad-content-length"},
    {"cl_empty", Head("Content-Length:\r\n"), "bad-content-length"},
    {"cl_overflow", Head("Content-Length: 99999999999999999999\r\n"), "bad-content-length"},
    {"cl_and_te", Head("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "bad-framing"},
    {"te_and_cl", Head("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), "bad-framing"},
    {"target_high_byte", Head("", "GET /\xc3\xa9 HTTP/1.1"), "bad-target"},
    {"target_del", Head("", "GET /\x7f HTTP/1.1"), "bad-head"},
    {"target_space", Head("", "GET /a b HTTP/1.1"), "bad-target"},
    {"target_fragment", Head("", "GET /a#b HTTP/1.1"), "bad-target"},
    {"absolute_other", Head("", "GET http://evil/ HTTP/1.1"), "bad-target"},
    {"absolute_user", Head("", "GET http://u@localhost:8733/ HTTP/1.1"), "bad-target"},
    {"absolute_ftp", Head("", "GET ftp://localhost:8733/ HTTP/1.1"), "bad-target"},
    {"connect", Head("", "CONNECT localhost:8733 HTTP/1.1"), "bad-target"},
    {"star", Head("", "GET * HTTP/1.1"), "bad-target"},
    {"underscore", Head("X_A: 1\r\n"), "bad-header"},
    // beside them
    {"space_before_colon", Head("X-A : 1\r\n"), "bad-header"},
    {"no_colon", Head("X-A\r\n"), "bad-header"},
    {"empty_name", Head(": 1\r\n"), "bad-header"},
    {"name_with_high_byte", Head("X-\xc3\xa9: 1\r\n"), "bad-header"},
    {"bare_lf", "GET / HTTP/1.1\nHost: a\r\n\r\n", "bad-head"},
    {"bare_cr", Head("X-A: 1\r2\r\n"), "bad-head"},
    {"nul", Head(std::string("X-A: 1\0002\r\n", 9)), "bad-head"},
    {"no_end", "GET / HTTP/1.1\r\nHost: a", "bad-head"},
    {"empty", "\r\n", "bad-request-line"},
    {"two_words", Head("", "GET /"), "bad-request-line"},
    {"method_bad", Head("", "G(T / HTTP/1.1"), "bad-method"},
    {"version_2", Head("", "GET / HTTP/2.0"), "version-not-supported"},
    {"version_lower", Head("", "GET / http/1.1"), "bad-version"},
    {"version_long", Head("", "GET / HTTP/1.10"), "bad-version"},
    {"two_keys", Head("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), "bad-header"},
    {"origin_other", Head("Origin: http://evil.example\r\n"), "foreign-origin"},
    {"origin_other_port", Head("Origin: http://localhost:3000\r\n"), "foreign-origin"},
    {"origin_null", Head("Origin: null\r\n"), "foreign-origin"},
    {"origin_longer", Head("Origin: http://localhost:87331\r\n"), "foreign-origin"},
    {"site_cross", Head("Sec-Fetch-Site: cross-site\r\n"), "foreign-origin"},
    {"site_same_site", Head("Sec-Fetch-Site: same-site\r\n"), "foreign-origin"},
    {"delete_origin_other", Head("Origin: http://evil.example\r\n", "DELETE /a HTTP/1.1"), "foreign-origin"},
    {"expect_other", Head("Expect: the-best\r\n"), "expectation-failed"},
    // what is fine
    {"plain", Head(), "ok"},
    {"origin_ours", Head("Origin: http://LOCALHOST:8733\r\nSec-Fetch-Site: same-origin\r\n"), "ok"},
    {"origin_ours_behind_tls", Head("Origin: https://localhost:8733\r\n"), "ok"},
    {"site_none", Head("Sec-Fetch-Site: none\r\n"), "ok"},
    {"origin_other_reads", Head("Origin: http://evil.example\r\n", "GET /a HTTP/1.1"), "ok"},
    {"chunked", Head("Transfer-Encoding: Chunked\r\n"), "ok"},
    {"length", Head("Content-Length: 5\r\n"), "ok"},
    {"http10_no_host", "GET / HTTP/1.0\r\n\r\n", "ok"},
    {"absolute_same", Head("", "GET http://LOCALHOST:8733/x?y HTTP/1.1"), "ok"},
    {"options_star", Head("", "OPTIONS * HTTP/1.1"), "ok"},
    {"ipv6", "GET / HTTP/1.1\r\nHost: [::1]:8733\r\n\r\n", "ok"},
    {"high_byte_in_value", Head("User-Agent: caf\xc3\xa9\r\n"), "ok"},
    {"empty_value", Head("X-A:\r\n"), "ok"},
};

INSTANTIATE_TEST_SUITE_P(Gate, GateVectors, ::testing::ValuesIn(kVectors), [](const auto& test) { return std::string(test.param.name); });

TEST(Gate, ReadsWhatItTakes) {
  auto checked = CheckHead(Head("Content-Length: 5\r\nConnection: Foo, close\r\nX-A:  b \t\r\nExpect: 100-continue\r\n"), {});
  const auto& head = std::get<HttpHead>(checked);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a?b=c");
  EXPECT_EQ(head.content_length, 5u);
  EXPECT_FALSE(head.keep_alive);
  EXPECT_TRUE(head.expect_continue);
  EXPECT_EQ(*FindHeader(head.headers, "x-a"), "b");
}

TEST(Gate, AbsoluteFormBecomesOriginForm) {
  EXPECT_EQ(std::get<HttpHead>(CheckHead(Head("", "GET http://localhost:8733?x HTTP/1.1"), {})).target, "/?x");
  EXPECT_EQ(std::get<HttpHead>(CheckHead(Head("", "GET http://localhost:8733/p HTTP/1.1"), {})).target, "/p");
}

TEST(Gate, TakesOnlyAllowedHosts) {
  GateOptions options;
  options.allowed_hosts = {"localhost", "[::1]"};
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nHost: LocalHost:99\r\n\r\n", options), "ok");
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", options), "ok");
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", options), "bad-host");
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", options), "bad-host");
}

TEST(Gate, BoundsTargetAndHeaders) {
  GateOptions options;
  options.max_target = 10;
  options.max_headers = 2;
  EXPECT_EQ(CodeOf(Head("", "GET /0123456789 HTTP/1.1"), options), "target-too-long");
  EXPECT_EQ(CodeOf(Head("A: 1\r\n", "GET / HTTP/1.1"), options), "ok");
  EXPECT_EQ(CodeOf(Head("A: 1\r\nB: 2\r\n", "GET / HTTP/1.1"), options), "too-many-headers");
}

TEST(Gate, SaysEarlyWhatCanBecomeNoHead) {
  for (const std::string fine : {"", "GET", "GET / HTTP/1.1\r", "GET / HTTP/1.1\r\nHost: a\r\n", "X-A:\tcaf\xc3\xa9", "\r\n"})
    EXPECT_TRUE(MayBecomeHead(fine, 0)) << fine;
  for (const std::string wrong : {"\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET\rX", "\x16\x03\x01", "a\x7f"})
    EXPECT_FALSE(MayBecomeHead(wrong, 0)) << wrong;
  EXPECT_FALSE(MayBecomeHead("GET\rX", 4)) << "what came last before is looked at with what comes now";
  EXPECT_TRUE(MayBecomeHead("GET\r\n", 4));
}

RC_GTEST_PROP(Gate, NeverFailsOnAnyBytes, (const std::string& noise)) {
  CheckHead(noise, {});
  CheckHead(Head(noise + "\r\n"), {});
  CheckHead(Head("", noise), {});
}

}  // namespace
}  // namespace acl
