#pragma once
// SIGTERM and SIGINT: the first asks the process to end cleanly, a second one ends it at once.
//
//   int main() {
//     ShutdownSignals signals;        // first thing, before any thread: it blocks both signals in all of them
//     app.Start();
//     signals.Wait();                 // from here on a second signal ends the process with 128 + its number
//     app.Stop();
//   }
//
// SIGPIPE is ignored from then on: a peer that went away is an error of the write, not the end of the process. Child processes
// inherit both; whoever starts one resets the signal mask and SIGPIPE in it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace acl {

class ShutdownSignals {
 public:
  // `at_once` is what a second signal does; by default a line on stderr and _exit(128 + signal). At most one object a process.
  explicit ShutdownSignals(std::function<void(int signal)> at_once = {});
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;

  // Returns at the first signal, with its number (0: Request was called).
  int Wait();
  bool WaitFor(std::chrono::milliseconds timeout);  // true once it was asked for
  bool requested() const { return requested_.load(std::memory_order_acquire); }
  // As the first signal does, from within the process (a part that cannot go on, `airun dev`). A second call changes nothing.
  void Request();

 private:
  void RunUntilStopped();
  void Note(int signal);

  std::function<void(int)> at_once_;
  int signal_fd_ = -1, stop_fd_ = -1;
  std::atomic<bool> requested_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int first_signal_ = 0;
  std::thread thread_;
};

// Ends the process if ending it cleanly takes too long: for a process that keeps nothing, so that what it still does may be dropped at any
// moment. Destroyed in time it does nothing.
class EndingDeadline {
 public:
  // `at_late` runs on a thread of its own; by default a line on stderr and _exit(1). If there is no thread to be had, SIGALRM ends the
  // process.
  explicit EndingDeadline(std::chrono::milliseconds within, std::function<void()> at_late = {});
  ~EndingDeadline();
  EndingDeadline(const EndingDeadline&) = delete;
  EndingDeadline& operator=(const EndingDeadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool in_time_ = false;
  std::thread thread_;
};

}  // namespace acl
