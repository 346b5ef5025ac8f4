#include "shared/runtime/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace acl {
namespace {

std::vector<std::string> VariablesOf(const SpawnOptions& options) {
  std::vector<std::string> variables;
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string text = *item;
    if (options.environment.contains(text.substr(0, text.find('=')))) continue;
    if (options.without_our_settings && (text.starts_with("ACL_") || text.starts_with("PG"))) continue;
    variables.push_back(text);
  }
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, where only calls that are safe between fork and exec are made. Comes back only if something failed.
void Become(const SpawnOptions& options, pid_t parent, char* const* arguments, char* const* variables) {
  prctl(PR_SET_PDEATHSIG, options.death_signal);
  if (getppid() != parent) _exit(127);
  if (options.group) setpgid(0, *options.group);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) std::signal(signal, SIG_DFL);
  if (options.signal_mask != nullptr) sigprocmask(SIG_SETMASK, options.signal_mask, nullptr);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) return;
  const int streams[] = {options.in, options.out, options.err};
  for (int stream = 0; stream < 3; ++stream) {
    if (streams[stream] >= 0 && dup2(streams[stream], stream) < 0) return;
  }
  execvpe(arguments[0], arguments, variables);
}

}  // namespace

Result<pid_t> Spawn(const SpawnOptions& options) {
  const auto variables = VariablesOf(options);
  const auto arguments = Pointers(options.argv), environment = Pointers(variables);
  int failure[2];  // closed by the exec, or carries errno
  if (pipe2(failure, O_CLOEXEC) != 0) return Error{Code::kUnavailable, std::string("no pipe: ") + std::strerror(errno)};
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    Become(options, parent, arguments.data(), environment.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = write(failure[1], &why, sizeof why);
    _exit(127);
  }
  const int why_no_child = errno;
  close(failure[1]);
  int why = 0;
  const bool failed = child > 0 && read(failure[0], &why, sizeof why) == sizeof why;
  close(failure[0]);
  if (child < 0) return Error{Code::kUnavailable, std::string("cannot start a process: ") + std::strerror(why_no_child)};
  if (options.group && !failed) setpgid(child, *options.group);  // as the child does: whoever comes first
  if (failed) {
    waitpid(child, nullptr, 0);
    return Error{Code::kNotFound, "cannot start " + options.argv.front() + ": " + std::strerror(why)};
  }
  return child;
}

}  // namespace acl
