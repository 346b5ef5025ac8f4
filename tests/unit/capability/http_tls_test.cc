// Calls over TLS: what is kept of a connection, and whom it believes.
#include "tests/support/small_server.h"
#include "tests/support/tls_front.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

class HttpTls : public CapabilityTest {
 protected:
  void Allow(const std::string& ca_file) {
    CapabilityConfig config;
    config.http.allow_private_networks = true;  // the servers of these tests are on loopback
    config.http.ca_file = ca_file;
    Start(config);
  }
  TemporaryFolder folder_;
};

TEST_F(HttpTls, ACertificateThatNobodyVouchesForIsRefusedBeforeAnythingIsSent) {
  SmallServer server([](const std::string&) { return SmallServer::Kept("200 OK", "here"); });
  TlsFront front(server.port(), folder_.path);
  Allow("");
  const StepResult result = Call("net.http.post", {{"url", front.Url()}, {"body", "secret"}});
  EXPECT_EQ(result.outcome, Outcome::kFailed) << "known: nothing was sent";
  EXPECT_THAT(result.error, testing::HasSubstr("certificate"));
  EXPECT_TRUE(server.requests().empty());
}

// A server's tickets for later handshakes come over the connection unasked, before its first answer: they must not make it a broken one.
TEST_F(HttpTls, AConnectionIsKeptAndTakenAgain) {
  SmallServer server([](const std::string&) { return SmallServer::Kept("200 OK", "here"); });
  TlsFront front(server.port(), folder_.path);
  Allow(front.certificate_file());
  for (const char* capability : {"net.http.get", "net.http.put", "net.http.get", "net.http.get"}) {
    EXPECT_EQ(Apply(capability, {{"url", front.Url()}}).outputs["body"], "here");
  }
  EXPECT_EQ(front.handshakes(), 1);
  EXPECT_EQ(server.requests().size(), 4u);
  // A POST has a connection of its own, whose handshake is shortened by a ticket of before.
  for (int i = 0; i < 3; ++i) Apply("net.http.post", {{"url", front.Url()}});
  EXPECT_EQ(front.handshakes(), 4);
  EXPECT_EQ(front.resumed(), 3);
}

TEST_F(HttpTls, AnAnswerThatNobodyAskedForIsNobodysAnswer) {
  std::atomic<int> requests{0};
  SmallServer server([&](const std::string&) { return SmallServer::Kept("200 OK", std::to_string(++requests)); });
  TlsFront front(server.port(), folder_.path);
  Allow(front.certificate_file());
  EXPECT_EQ(Apply("net.http.get", {{"url", front.Url()}}).outputs["body"], "1");
  const int before = front.told();
  server.Say(SmallServer::Kept("200 OK", "false"));
  front.AwaitMore(before);
  EXPECT_EQ(Apply("net.http.get", {{"url", front.Url()}}).outputs["body"], "2");
  EXPECT_EQ(front.handshakes(), 2) << "the first is not trusted any more";
}

}  // namespace
}  // namespace acl
