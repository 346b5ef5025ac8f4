// Request smuggling: shapes of requests on whose ends two parsers may disagree (tests/data/smuggling_cases.json), sent to our server over a
// real connection. What handlers were given is compared too: the request hidden in a body must never be among it.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>

#include "shared/http/server.h"
#include "shared/telemetry/log.h"
#include "tests/outside/corpus.h"

namespace acl::outside {
namespace {

// The text as bytes: a character is a byte, <NUL> too.
std::string BytesOf(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text.compare(i, 5, "<NUL>") == 0) {
      out += '\0';
      i += 4;
    } else if (byte >= 0xc2 && byte <= 0xc3 && i + 1 < text.size()) {
      out += char((byte << 6 & 0xc0) | (text[++i] & 0x3f));
    } else {
      out += text[i];
    }
  }
  return out;
}

// Sends everything, says that nothing more comes, and reads until the server is done.
std::string Exchange(std::uint16_t port, std::string_view bytes) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const timeval patience{20, 0};  // a hang fails the test instead of stopping it
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    bytes.remove_prefix(std::size_t(sent));
  }
  ::shutdown(fd, SHUT_WR);
  std::string all;
  char chunk[4096];
  for (ssize_t got; (got = ::recv(fd, chunk, sizeof chunk, 0)) > 0;) all.append(chunk, std::size_t(got));
  ::close(fd);
  return all;
}

std::vector<int> StatusesOf(std::string_view answers) {
  std::vector<int> out;
  while (answers.starts_with("HTTP/1.1 ")) {
    out.push_back(std::stoi(std::string(answers.substr(9, 3))));
    const auto end = answers.find("\r\n\r\n"), length = answers.find("Content-Length: ");
    const std::size_t body = length < end ? std::stoul(std::string(answers.substr(length + 16, 10))) : 0;
    answers.remove_prefix(std::min(answers.size(), end + 4 + body));
  }
  EXPECT_EQ(answers, "");
  return out;
}

TEST(SmugglingCorpus, HttpServer) {
  SetLogLevel(LogLevel::kOff);
  std::mutex mutex;
  std::vector<std::string> seen;
  const auto note = [&](const HttpRequest& request, const std::string& what) {
    std::lock_guard lock(mutex);
    seen.push_back(request.method + " " + request.path + what);
    return HttpResponse::OfText(200, "ok");
  };
  Router router;
  router.Add("POST", "/echo", {.max_body = 1000}, [&](const HttpRequest& request) { return note(request, " " + request.body); });
  router.Add("GET", "/plain", {}, [&](const HttpRequest& request) { return note(request, ""); });
  router.Add("GET", "/smuggled", {}, [&](const HttpRequest& request) { return note(request, ""); });
  Metrics metrics;
  BlockingPool pool({.name = "test", .threads = 1, .max_queued = 8});
  HttpServerOptions options;
  HttpServer server(options, std::move(router), &pool, &metrics);
  ASSERT_TRUE(server.Start().ok());

  Held held("request smuggling", {});
  const Json corpus = ReadJsonFile(ACL_SOURCE_DIR "/tests/data/smuggling_cases.json");
  for (const Json& one : corpus["cases"]) {
    seen.clear();
    const auto answers = StatusesOf(Exchange(server.address().port, BytesOf(one["send"])));
    const Json told = {{"answers", answers}, {"seen", seen}};
    held.Check(one["name"], told["answers"] == one["answers"] && told["seen"] == one["seen"],
               told.dump() + ", wanted " + one["answers"].dump() + " " + one["seen"].dump());
  }
  EXPECT_EQ(held.ran(), int(corpus["cases"].size()));
  EXPECT_GE(held.ran(), 150);
  server.Stop();
  pool.Stop();
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace acl::outside
