// bench-handler: a step's handler in another process. Answers every request with the same 150 bytes of JSON over keep-alive HTTP/1.1; one
// thread, after `--delay MS`. Prints its port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace acl::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kBody =
    R"({"order":"order-0001","amount":4200,"currency":"EUR","note":"a line of text as long as such a line tends to be in an order","ok":true,"parts":[3,5,8]})";

std::string AnswerText() {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(kBody.size()) + "\r\n\r\n" +
         std::string(kBody);
}

// The length of the request that `text` begins with; 0: not all of it is there.
std::size_t RequestLength(std::string_view text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  std::size_t body = 0;
  constexpr std::string_view kName = "\r\ncontent-length:";
  for (std::size_t at = 0; at < end; at = text.find("\r\n", at + 2)) {
    if (strncasecmp(text.data() + at, kName.data(), kName.size()) == 0) body = std::stoul(std::string(text.substr(at + kName.size(), 20)));
  }
  return text.size() >= end + 4 + body ? end + 4 + body : 0;
}

int Serve(std::chrono::milliseconds delay) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), poller = epoll_create1(EPOLL_CLOEXEC);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 4096) != 0) return 1;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  const auto watch = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
  };
  watch(listener);
  const std::string answer = AnswerText();
  std::map<int, std::string> open;
  std::deque<std::pair<Clock::time_point, int>> owed;  // answers, in the order they are due
  for (;;) {
    int wait = -1;
    if (!owed.empty())
      wait = int(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(owed.front().first - Clock::now()).count()));
    epoll_event events[64];
    const int n = epoll_wait(poller, events, 64, wait);
    for (; !owed.empty() && owed.front().first <= Clock::now(); owed.pop_front()) {
      if (open.contains(owed.front().second)) send(owed.front().second, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        const int on = 1;
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        open[peer];
        watch(peer);
        continue;
      }
      char buffer[8192];
      const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      if (got <= 0) {
        open.erase(fd);
        close(fd);
        continue;
      }
      std::string& text = open[fd];
      text.append(buffer, static_cast<std::size_t>(got));
      while (const std::size_t length = RequestLength(text)) {
        text.erase(0, length);
        if (delay.count() > 0) {
          owed.emplace_back(Clock::now() + delay, fd);
        } else if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) {
          break;
        }
      }
    }
  }
}

}  // namespace
}  // namespace acl::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const bool slow = argc == 3 && std::string_view(argv[1]) == "--delay";
  return acl::bench::Serve(std::chrono::milliseconds(slow ? std::stoi(argv[2]) : 0));
}
