#pragma once
// A real process that the driver starts and does bad things to: signalled, frozen, killed, started again. Its output goes to a file. It
// never outlives the driver: the kernel kills it if the driver dies, the destructor otherwise.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace acl::chaos {

using std::chrono::milliseconds;

struct ChildOptions {
  std::string name;  // for people
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // on top of the driver's own, of which ACL_... and PG... are not passed on
  std::filesystem::path log;                       // stdout and stderr, appended
};

class Child {
 public:
  static Result<std::unique_ptr<Child>> Start(const ChildOptions& options);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  const std::string& name() const { return name_; }
  bool Running();
  void Signal(int signal);
  // Sends the signal and waits for the end; kill -9 after `limit`. The exit code, 128 + signal if a signal ended it.
  int End(int signal, milliseconds limit);
  std::optional<int> exit_code() const { return exit_code_; }
  std::string LogTail() const;

 private:
  Child(const ChildOptions& options, pid_t pid) : name_(options.name), log_(options.log), pid_(pid) {}

  std::string name_;
  std::filesystem::path log_;
  pid_t pid_;
  std::optional<int> exit_code_;
};

// The state letter of /proc/PID/stat (R S D T Z ...), '-' if there is no such process.
char StateOf(pid_t pid);
// CPU time of a process so far (user and system), in clock ticks.
long long CpuTicksOf(pid_t pid);
std::vector<pid_t> ChildrenOf(pid_t pid);

// A program run to its end: its output, or an error with the end of what it wrote.
Result<std::string> RunProgram(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
                               const std::filesystem::path& log, milliseconds limit);

}  // namespace acl::chaos
