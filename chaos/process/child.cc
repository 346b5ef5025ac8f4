#include "chaos/process/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "chaos/process/patience.h"
#include "shared/runtime/spawn.h"

namespace acl::chaos {
namespace {

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The fields of /proc/PID/stat after the name, which may hold anything.
std::vector<std::string> StatFields(pid_t pid) {
  const std::string text = ReadAll("/proc/" + std::to_string(pid) + "/stat");
  const auto end = text.rfind(')');
  std::vector<std::string> fields;
  if (end == std::string::npos) return fields;
  std::istringstream rest(text.substr(end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

}  // namespace

Result<std::unique_ptr<Child>> Child::Start(const ChildOptions& options) {
  const std::string log = options.log.empty() ? "/dev/null" : options.log.string();
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC), out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (in < 0 || out < 0) return Error{Code::kUnavailable, "cannot open " + log};
  SpawnOptions spawn;
  spawn.argv = options.argv;
  spawn.environment = options.environment;
  spawn.without_our_settings = true;  // a setting of ours in the caller's shell must not change the fleet that is tested
  spawn.in = in;
  spawn.out = spawn.err = out;
  spawn.group = 0;  // Ctrl-C is for the driver, which ends them in order
  const auto pid = Spawn(spawn);
  close(in);
  close(out);
  if (!pid) return pid.error();
  return std::unique_ptr<Child>(new Child(options, *pid));
}

Child::~Child() {
  if (!Running()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Child::Running() {
  if (exit_code_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

void Child::Signal(int signal) {
  if (Running()) kill(pid_, signal);
}

int Child::End(int signal, milliseconds limit) {
  Signal(signal);
  if (!AwaitUnstoppably([&] { return !Running(); }, limit)) {
    Signal(SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    exit_code_ = 128 + SIGKILL;
  }
  return *exit_code_;
}

std::string Child::LogTail() const {
  const std::string all = ReadAll(log_);
  return all.size() > 2000 ? all.substr(all.size() - 2000) : all;
}

char StateOf(pid_t pid) {
  const auto fields = StatFields(pid);
  return fields.empty() || fields[0].empty() ? '-' : fields[0][0];
}

long long CpuTicksOf(pid_t pid) {
  const auto fields = StatFields(pid);
  return fields.size() < 13 ? 0 : std::stoll(fields[11]) + std::stoll(fields[12]);
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::istringstream list(ReadAll("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

Result<std::string> RunProgram(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
                               const std::filesystem::path& log, milliseconds limit) {
  std::error_code ignored;
  std::filesystem::remove(log, ignored);
  auto child = Child::Start({argv.front(), argv, environment, log});
  if (!child) return child.error();
  if (!Await([&] { return !(*child)->Running(); }, limit)) return Error{Code::kTimeout, argv.front() + " does not end"};
  const std::string out = ReadAll(log);
  if ((*child)->exit_code() != 0) return Error{Code::kInternal, argv.front() + " failed: " + (*child)->LogTail()};
  return out;
}

}  // namespace acl::chaos
