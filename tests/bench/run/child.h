#pragma once
// Processes that the runner starts: in a process group of their own (Ctrl-C is for the runner, which ends them in order), killed by the
// kernel if the runner dies, ended by the destructor otherwise.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace acl::bench {

// Thrown wherever the runner waits once it was asked to stop (SIGINT, SIGTERM).
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped") {}
};
void StopOnSignals();

struct ChildOptions {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // on top of the runner's own
  std::filesystem::path log;                       // stderr, and stdout unless it is read; appended
  bool read_lines = false;                         // stdout is read by ReadLine
};

class Child {
 public:
  explicit Child(const ChildOptions& options);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  bool Running();
  // The next line of its output; nothing when it has ended. Throws after `limit`, and Stopped.
  std::optional<std::string> ReadLine(std::chrono::milliseconds limit);
  // Sends the signal and waits for the end; kill -9 if it takes longer than `limit`. The exit code, 128 + signal if killed.
  int End(int signal, std::chrono::milliseconds limit = std::chrono::seconds(30));
  int Wait(std::chrono::milliseconds limit);
  // The last lines of its log.
  std::string LogTail() const;
  const std::string& name() const { return name_; }

 private:
  bool Reap();

  std::string name_;
  std::filesystem::path log_;
  pid_t pid_ = -1;
  int out_ = -1;
  std::string read_;
  std::optional<int> exit_code_;
};

// Runs it to its end; throws with the end of its output unless it exits with 0. Its stdout.
std::string RunToEnd(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment = {},
                     std::chrono::milliseconds limit = std::chrono::minutes(10));
// Waits until `done`, looking every few milliseconds; false after `limit`. Throws Stopped.
template <class Done>
bool AwaitThat(Done done, std::chrono::milliseconds limit);
// A pause in which the runner can be stopped.
void Pause(std::chrono::milliseconds time);

template <class Done>
bool AwaitThat(Done done, std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kLook{20};
  for (auto waited = std::chrono::milliseconds(0); !done(); waited += kLook) {
    if (waited >= limit) return false;
    Pause(kLook);
  }
  return true;
}

}  // namespace acl::bench
