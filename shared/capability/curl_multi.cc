#include "shared/capability/curl_multi.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "shared/base/check.h"
#include "shared/base/memory.h"
#include "shared/base/mutant.h"

namespace acl {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kEventsAtOnce = 256;

// Rounded up: a wait that ends just before its time is one for nothing.
int WaitOf(steady_clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
  return int(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

}  // namespace

CurlMulti::CurlMulti() {
  multi_ = ::curl_multi_init();
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ACL_CHECK(multi_ != nullptr && epoll_ >= 0 && wake_ >= 0, "no memory or no file descriptor is left for an HTTP client");
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
  ACL_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0, "an event cannot be waited for");
  ::curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &OnSocket);
  ::curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  ::curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &OnTimer);
  ::curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlMulti::~CurlMulti() {
  ::curl_multi_cleanup(multi_);
  ::close(wake_);
  ::close(epoll_);
}

void CurlMulti::Wake() const {
  const std::uint64_t one = 1;
  // Full: it is awake already.
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void CurlMulti::Add(CURL* easy) {
  ::curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &OnClose);
  ::curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
  ::curl_multi_add_handle(multi_, easy);
}

void CurlMulti::EndIfResting(int socket) {
  if (resting_.erase(socket) == 0) return;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
  ::shutdown(socket, SHUT_RDWR);  // libcurl sees that when it looks for a connection, and closes it
}

void CurlMulti::Act(steady_clock::time_point until) {
  closed_.clear();  // what was taken out since may be no more
  if (timer_) until = std::min(until, *timer_);
  std::array<epoll_event, kEventsAtOnce> events;
  const int happened = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, WaitOf(until));
  int running = 0;
  for (int i = 0; i < happened; ++i) {
    const epoll_event& event = events[std::size_t(i)];
    if (event.data.fd == wake_) {
      std::uint64_t rung = 0;
      [[maybe_unused]] const auto read = ::read(wake_, &rung, sizeof rung);
      continue;
    }
    EndIfResting(event.data.fd);
    const int what = (event.events & EPOLLIN ? CURL_CSELECT_IN : 0) | (event.events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                     (event.events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    ::curl_multi_socket_action(multi_, event.data.fd, what, &running);
  }
  if (timer_ && *timer_ <= steady_clock::now()) {
    timer_.reset();  // before: it may set another
    ::curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
  // Called by its sockets alone, libcurl 7.88 does not go on to a name's next address when one has refused: it closes the socket and waits
  // for its own timers, of which the second is half the time to connect. A change of pause has it look at the transfer at once.
  for (CURL* easy : std::exchange(closed_, {})) {  // a pause may close another
    ::curl_easy_pause(easy, CURLPAUSE_RECV);
    ::curl_easy_pause(easy, CURLPAUSE_CONT);
  }
}

// `known`: not null while a transfer has the socket and it is in the epoll.
int CurlMulti::OnSocket(CURL* easy, curl_socket_t socket, int what, void* self, void* known) {
  auto& multi = *static_cast<CurlMulti*>(self);
  if (what == CURL_POLL_REMOVE) {
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = socket}};
    if (Mutant("resting_unwatched")) event.events = 0;
    if (known != nullptr && ::epoll_ctl(multi.epoll_, EPOLL_CTL_MOD, socket, &event) == 0)
      UntilThereIsMemory([&] { multi.resting_.insert(socket); });  // no exception goes through libcurl
    ::curl_multi_assign(multi.multi_, socket, nullptr);
    UntilThereIsMemory([&] { multi.closed_.push_back(easy); });
    return 0;
  }
  const bool there = multi.resting_.erase(socket) > 0 || known != nullptr;
  epoll_event event{.events = (what & CURL_POLL_IN ? std::uint32_t(EPOLLIN) : 0) | (what & CURL_POLL_OUT ? std::uint32_t(EPOLLOUT) : 0),
                    .data = {.fd = socket}};
  // What the kernel has no memory to watch ends at its deadline. To say so here would end every other transfer, for ever.
  if (::epoll_ctl(multi.epoll_, there ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) == 0) {
    ::curl_multi_assign(multi.multi_, socket, self);
  }
  return 0;
}

// Out of the epoll before it is closed: a child between fork and exec has it still, and its events would come under a number that is
// somebody else's by then.
int CurlMulti::OnClose(void* self, curl_socket_t socket) {
  auto& multi = *static_cast<CurlMulti*>(self);
  multi.resting_.erase(socket);
  ::epoll_ctl(multi.epoll_, EPOLL_CTL_DEL, socket, nullptr);
  return ::close(socket);
}

int CurlMulti::OnTimer(CURLM*, long wait, void* self) {
  auto& timer = static_cast<CurlMulti*>(self)->timer_;
  timer = wait < 0 ? std::nullopt : std::optional(steady_clock::now() + milliseconds(wait));
  return 0;
}

}  // namespace acl
