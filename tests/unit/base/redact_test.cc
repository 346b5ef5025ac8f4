#include "shared/base/redact.h"

#include <gtest/gtest.h>

#include "shared/base/host_port.h"

namespace acl {
namespace {

TEST(RedactText, MasksPasswordsInUrlsAndConnectionStrings) {
  EXPECT_EQ(RedactText("postgresql://acl:s3cret@db:5432/acl"), "postgresql://acl:***@db:5432/acl");
  EXPECT_EQ(RedactText("cannot reach postgresql://acl:p@ss@db/acl: refused"), "cannot reach postgresql://acl:***@db/acl: refused");
  EXPECT_EQ(RedactText("http://u:a@x and http://u:b@y"), "http://u:***@x and http://u:***@y");
  EXPECT_EQ(RedactText("host=db password=s3cret dbname=acl"), "host=db password=*** dbname=acl");
  EXPECT_EQ(RedactText("host=db Password = 's3 \\'cret' dbname=acl"), "host=db Password = *** dbname=acl");
  EXPECT_EQ(RedactText("postgresql:///acl?host=/run&password=s3cret&x=1"), "postgresql:///acl?host=/run&password=***&x=1");
}

TEST(RedactText, LeavesOtherTextAlone) {
  for (const char* text :
       {"", "postgresql://acl@db/acl", "http://[::1]:80/a@b:c", "a://", "mail me@here.example", "password", "password="}) {
    EXPECT_EQ(RedactText(text), text);
  }
}

TEST(IsSecretName, KnowsSecretsButNotLeaseTokens) {
  for (const char* name :
       {"password", "DB_PASSWORD", "api-key", "apiKey", "Authorization", "Set-Cookie", "client_secret", "access_token"}) {
    EXPECT_TRUE(IsSecretName(name)) << name;
  }
  for (const char* name : {"token", "fencing_token", "run_id", "key", "step", "worker"}) EXPECT_FALSE(IsSecretName(name)) << name;
}

TEST(HostPort, ParsesAndPrints) {
  for (const char* text : {"127.0.0.1:8733", "localhost:0", "[::1]:8733", "db.example:65535"}) {
    auto parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->ToString(), text);
  }
  EXPECT_TRUE(ParseHostPort("127.0.0.9:1")->is_loopback());
  EXPECT_TRUE(ParseHostPort("[::1]:1")->is_loopback());
  EXPECT_FALSE(ParseHostPort("0.0.0.0:1")->is_loopback());
  for (const char* text : {"", "127.0.0.1", ":80", "::1:80", "[::1]", "[::1", "a:65536", "a:-1", "a:8x", "a:", "http://a:1", "a b:1"}) {
    auto parsed = ParseHostPort(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.code(), Code::kInvalid);
  }
}

}  // namespace
}  // namespace acl
