// The proxy between a client and a server of this test that speaks just enough of PostgreSQL's protocol.
#include "chaos/proxy/proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

using namespace std::string_literals;
using std::chrono::milliseconds;

std::string WireMessage(char type, const std::string& payload) {
  const std::size_t n = payload.size() + 4;
  return std::string(1, type) + std::string{char(n >> 24), char(n >> 16), char(n >> 8), char(n)} + payload;
}
const std::string kWireStartup = "\0\0\0\x08\0\3\0\0"s;
const std::string kCommit = WireMessage('B', "\0commit.run\0"s) + WireMessage('S', "");
const std::string kReady = WireMessage('C', "SELECT 1\0"s) + WireMessage('Z', "I");

// Counts the commits it was sent, and answers each.
class FakeServer {
 public:
  FakeServer() {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    listen(listener_, 8);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::uint16_t port = 0;
  std::atomic<int> commits{0};

 private:
  void Serve() {
    for (int peer; (peer = accept(listener_, nullptr, nullptr)) >= 0; close(peer)) {
      std::string got;
      char bytes[512];
      for (ssize_t n; (n = recv(peer, bytes, sizeof bytes, 0)) > 0;) {
        got.append(bytes, std::size_t(n));
        for (std::size_t at; (at = got.find(kCommit)) != std::string::npos; got.erase(0, at + kCommit.size())) {
          ++commits;
          send(peer, kReady.data(), kReady.size(), MSG_NOSIGNAL);
        }
      }
    }
  }
  int listener_ = -1;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(std::uint16_t port, const std::string& first = kWireStartup) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (!first.empty()) Send(first);
  }
  ~Client() { close(fd_); }
  void Send(const std::string& bytes) { send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // An answer, or "" if the connection ended.
  std::string Answer() {
    std::string got;
    char bytes[512];
    while (got.size() < kReady.size()) {
      const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
      if (n <= 0) return "";
      got.append(bytes, std::size_t(n));
    }
    return got;
  }
  // What comes until the connection ends.
  std::string Everything() {
    std::string got;
    char bytes[512];
    for (ssize_t n; (n = recv(fd_, bytes, sizeof bytes, 0)) > 0;) got.append(bytes, std::size_t(n));
    return got;
  }
  bool HasAnswer() {
    pollfd wait{fd_, POLLIN, 0};
    return poll(&wait, 1, 0) > 0;
  }

 private:
  int fd_;
};

struct ProxyTest : ::testing::Test {
  ProxyTest() : proxy(std::move(*Proxy::Start(server.port, Proxy::Protocol::kPostgres))) {}
  FakeServer server;
  std::unique_ptr<Proxy> proxy;
};

TEST_F(ProxyTest, PassesThrough) {
  Client client(proxy->port());
  client.Send(kCommit);
  EXPECT_EQ(client.Answer(), kReady);
  EXPECT_EQ(proxy->counters().commits, 1);
}

TEST_F(ProxyTest, CutsWhereItIsTold) {
  struct Case {
    Proxy::Cut cut;
    int commits, unseen;
  };
  for (const Case& one :
       {Case{Proxy::Cut::kBeforeServer, 0, 0}, Case{Proxy::Cut::kWhenSent, 1, 0}, Case{Proxy::Cut::kWhenAnswered, 2, 1}}) {
    proxy->ArmCuts(one.cut, 1);
    Client client(proxy->port());
    client.Send(kCommit);
    EXPECT_EQ(client.Answer(), "");
    EXPECT_TRUE(Await([&] { return server.commits == one.commits; }, milliseconds(10'000))) << server.commits;
    EXPECT_EQ(proxy->counters().committed_unseen, one.unseen);
  }
  EXPECT_EQ(proxy->counters().cuts, 3);
  Client client(proxy->port());
  client.Send(kCommit);
  EXPECT_EQ(client.Answer(), kReady) << "only as often as it was told";
}

TEST_F(ProxyTest, BreaksOffInAnAnswerAndAnswersInTheServersPlace) {
  auto bytes = std::move(*Proxy::Start(server.port, Proxy::Protocol::kBytes));
  const auto all = [&](Proxy::Cut cut) {
    bytes->ArmCuts(cut, 1);
    Client client(bytes->port(), "");
    client.Send(kCommit);
    return client.Everything();
  };
  EXPECT_EQ(all(Proxy::Cut::kHalfAnswer), kReady.substr(0, kReady.size() / 2));
  EXPECT_EQ(server.commits, 1);
  EXPECT_TRUE(all(Proxy::Cut::kBusy).starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(server.commits, 1) << "it heard nothing";
  EXPECT_EQ(bytes->counters().cuts, 2);
}

TEST_F(ProxyTest, HoldsACommitUntilItIsReleased) {
  proxy->ArmHold();
  Client held(proxy->port()), other(proxy->port());
  held.Send(kCommit);
  ASSERT_TRUE(Await([&] { return proxy->Holding(); }, milliseconds(10'000)));
  EXPECT_EQ(server.commits, 0);
  proxy->Release();
  EXPECT_EQ(held.Answer(), kReady);
  EXPECT_FALSE(proxy->Holding());
}

TEST_F(ProxyTest, SilenceLetsNothingThroughAndTellsNobody) {
  Client client(proxy->port());
  client.Send(kCommit);
  EXPECT_EQ(client.Answer(), kReady);
  proxy->SetSilence(Proxy::Silence::kAnswers);
  client.Send(kCommit);
  ASSERT_TRUE(Await([&] { return server.commits == 2; }, milliseconds(10'000))) << "one way is open";
  EXPECT_FALSE(client.HasAnswer());
  EXPECT_EQ(proxy->counters().silenced, 1);
  proxy->SetSilence(Proxy::Silence::kNone);
  EXPECT_EQ(client.Answer(), kReady);
}

TEST_F(ProxyTest, ResetsAndDelays) {
  Client client(proxy->port());
  client.Send(kCommit);
  EXPECT_EQ(client.Answer(), kReady);
  proxy->ResetAll();
  EXPECT_EQ(client.Answer(), "");
  EXPECT_EQ(proxy->counters().resets, 1);
  proxy->SetDelay(milliseconds(5), 3);
  Client slow(proxy->port());
  slow.Send(kCommit);
  EXPECT_EQ(slow.Answer(), kReady) << "late and in pieces, and whole";
  EXPECT_GT(proxy->counters().pieces, 5);
  EXPECT_GT(proxy->counters().delayed_bytes, 0);
}

}  // namespace
}  // namespace acl::chaos
