#include "shared/capability/egress.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

TEST(Egress, AddressesThatAreNotPublic) {
  const char* table[] = {
      "0.0.0.0",
      "0.1.2.3",
      "10.0.0.1",
      "10.255.255.255",
      "100.64.0.1",
      "100.127.255.255",
      "127.0.0.1",
      "127.255.255.254",
      "169.254.169.254",
      "169.254.0.1",
      "172.16.0.1",
      "172.31.255.255",
      "192.0.0.8",
      "192.0.2.1",
      "192.88.99.1",
      "192.168.0.1",
      "192.168.255.255",
      "198.18.0.1",
      "198.19.255.255",
      "198.51.100.7",
      "203.0.113.9",
      "224.0.0.1",
      "239.255.255.255",
      "240.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:169.254.169.254",
      "::ffff:10.0.0.1",
      "::ffff:7f00:1",
      "::127.0.0.1",
      "::8.8.8.8",
      "::ffff:0:127.0.0.1",
      "64:ff9b::10.0.0.1",
      "64:ff9b::7f00:1",
      "64:ff9b:1::8.8.8.8",
      "2002:7f00:1::",
      "2002:808:808::1",
      "2001::1",
      "2001:0:53aa:64c::1",
      "2001:10::1",
      "2001:db8::1",
      "fc00::1",
      "fd12:3456::1",
      "fe80::1",
      "febf::1",
      "fec0::1",
      "ff02::1",
      "ff0e::1",
      "100::1",
      "3fff::1",
      "5f00::1",
      "4000::1",
      "1::1",
      "e000::1",
  };
  for (const char* address : table) EXPECT_FALSE(NotPublicText(address).empty()) << address;
}

TEST(Egress, PublicAddresses) {
  for (const char* address :
       {"1.1.1.1",         "8.8.8.8",     "9.255.255.255",   "11.0.0.1",        "100.63.255.255", "100.128.0.0",          "126.1.1.1",
        "128.0.0.1",       "169.253.1.1", "172.15.0.1",      "172.32.0.1",      "192.0.1.1",      "192.167.1.1",          "192.169.1.1",
        "198.17.0.1",      "198.20.0.1",  "223.255.255.255", "2606:4700::1111", "2a00:1450::1",   "2001:4860:4860::8888", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8"}) {
    EXPECT_EQ(NotPublicText(address), "") << address;
  }
}

TEST(Egress, TextThatIsNoAddress) {
  for (const char* text : {"", "localhost", "0x7f.1", "2130706433", "127.1", "0177.0.0.1", "1.2.3.4.5", "[::1]", "::1%lo"})
    EXPECT_EQ(NotPublicText(text), "not an address") << text;
}

TEST(CheckUrl, TakesTheFormsOfPublicHosts) {
  HttpConfig config;
  auto checked = CheckUrl("HTTPS://Example.ORG/a?b=c#d", config);
  ASSERT_TRUE(checked) << checked.error();
  EXPECT_EQ(checked->origin(), "https://example.org:443");
  EXPECT_EQ(CheckUrl("http://example.org:8080", config)->origin(), "http://example.org:8080");
  EXPECT_TRUE(CheckUrl("http://example.org/a@b", config)) << "an @ in the path is no user";
}

TEST(CheckUrl, RefusesOtherForms) {
  HttpConfig config;
  for (const char* url : {"",
                          "example.org",
                          "/x",
                          "ftp://example.org/",
                          "file:///etc/passwd",
                          "gopher://x/",
                          "dict://x/",
                          "javascript:alert(1)",
                          "http://user@example.org/",
                          "http://user:pw@example.org/",
                          "http://example.org@evil/",
                          "http://:@example.org/",
                          "http://@example.org/",
                          "http://",
                          "http:///x",
                          "http://exa mple.org/",
                          "http://example.org/a\r\nX: y",
                          "http://example.org\\@evil/",
                          "http://[::1",
                          "http://example.org:99999/",
                          "http://example.org:x/",
                          "ldap://x/",
                          "smb://x/y"}) {
    EXPECT_FALSE(CheckUrl(url, config)) << url;
  }
}

TEST(CheckUrl, AListOfAllowedHostsIsHeld) {
  HttpConfig config;
  config.allowed_hosts = {"api.example.org", "*.example.net"};
  EXPECT_TRUE(CheckUrl("https://api.example.org/", config));
  EXPECT_TRUE(CheckUrl("https://API.example.org./", config));
  EXPECT_TRUE(CheckUrl("https://a.b.example.net/", config));
  for (const char* url : {"https://example.org/", "https://example.net/", "https://api.example.org.evil.com/", "https://evilexample.net/",
                          "https://xapi.example.org/"}) {
    EXPECT_FALSE(CheckUrl(url, config)) << url;
  }
}

}  // namespace
}  // namespace acl
