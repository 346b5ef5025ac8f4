#include "shared/runtime/shutdown.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "shared/base/check.h"
#include "shared/base/late_thread.h"

namespace acl {
namespace {

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

void EndAtOnce(int signal) {
  static constexpr char kText[] = "second signal: ending at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(128 + signal);
}

void EndLate() {
  static constexpr char kText[] = "ending takes too long: what is under way is dropped\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(1);
}

}  // namespace

EndingDeadline::EndingDeadline(std::chrono::milliseconds within, std::function<void()> at_late) {
  const Status watched = StartThread(thread_, [this, within, at_late = at_late ? std::move(at_late) : EndLate] {
    pthread_setname_np(pthread_self(), "ending");
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, within, [this] { return in_time_; })) at_late();
  });
  if (!watched) ::alarm(unsigned(std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(within).count(), 1)));
}

EndingDeadline::~EndingDeadline() {
  {
    std::lock_guard lock(mutex_);
    in_time_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    ::alarm(0);
  }
}

ShutdownSignals::ShutdownSignals(std::function<void(int)> at_once) : at_once_(std::move(at_once)) {
  if (!at_once_) at_once_ = EndAtOnce;
  const sigset_t set = Signals();
  ACL_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0, "pthread_sigmask");
  ::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  signal_fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  ACL_CHECK(signal_fd_ >= 0 && stop_fd_ >= 0, "signalfd and eventfd");
  thread_ = std::thread([this] { RunUntilStopped(); });
}

ShutdownSignals::~ShutdownSignals() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_fd_, &one, sizeof one);
  thread_.join();
  ::close(signal_fd_);
  ::close(stop_fd_);
}

int ShutdownSignals::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return requested(); });
  return first_signal_;
}

bool ShutdownSignals::WaitFor(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return requested(); });
}

void ShutdownSignals::Request() {
  {
    std::lock_guard lock(mutex_);
    requested_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

void ShutdownSignals::Note(int signal) {
  {
    std::lock_guard lock(mutex_);
    if (first_signal_ == 0) {
      first_signal_ = signal;
      signal = 0;
    }
    requested_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
  if (signal != 0) at_once_(signal);
}

void ShutdownSignals::RunUntilStopped() {
  pthread_setname_np(pthread_self(), "signals");
  pollfd fds[2] = {{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  for (;;) {
    if (::poll(fds, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (fds[1].revents != 0) return;
    signalfd_siginfo info{};
    while (::read(signal_fd_, &info, sizeof info) == sizeof info) Note(int(info.ssi_signo));
  }
}

}  // namespace acl
