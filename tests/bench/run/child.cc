#include "tests/bench/run/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "shared/runtime/spawn.h"

namespace acl::bench {
namespace {

volatile std::sig_atomic_t stop_asked = 0;
int stop_pipe[2] = {-1, -1};

void OnStop(int) {
  stop_asked = 1;
  [[maybe_unused]] const ssize_t ignored = write(stop_pipe[1], "x", 1);
}

// Until `fd` (or -1: none) has something, or the time is over; throws Stopped.
bool PollOrStop(int fd, std::chrono::milliseconds time) {
  pollfd waits[2] = {{stop_pipe[0], POLLIN, 0}, {fd, POLLIN, 0}};
  const int n = poll(waits, fd < 0 ? 1 : 2, static_cast<int>(time.count()));
  if (stop_asked != 0) throw Stopped();
  return n > 0 && waits[1].revents != 0;
}

}  // namespace

void StopOnSignals() {
  if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("pipe");
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, OnStop);
}

void Pause(std::chrono::milliseconds time) { PollOrStop(-1, time); }

Child::Child(const ChildOptions& options) : name_(std::filesystem::path(options.argv.at(0)).filename()), log_(options.log) {
  const std::string log = options.log.empty() ? "/dev/null" : options.log.string();
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC), err = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int lines[2] = {-1, -1};
  if (in < 0 || err < 0 || (options.read_lines && pipe2(lines, O_CLOEXEC) != 0)) throw std::runtime_error("cannot open " + log);
  SpawnOptions spawn;
  spawn.argv = options.argv;
  spawn.environment = options.environment;
  spawn.without_our_settings = true;  // a setting of ours in the caller's shell must not change what is measured
  spawn.in = in;
  spawn.out = options.read_lines ? lines[1] : err;
  spawn.err = err;
  spawn.group = 0;
  const auto pid = Spawn(spawn);
  close(in);
  close(err);
  if (options.read_lines) close(lines[1]);
  out_ = lines[0];
  if (!pid) {
    if (out_ >= 0) close(out_);
    throw std::runtime_error(pid.message());
  }
  pid_ = *pid;
}

Child::~Child() {
  if (!Reap()) {
    kill(-pid_, SIGKILL);  // and what it started
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
}

bool Child::Reap() {
  if (exit_code_) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

bool Child::Running() { return !Reap(); }

std::optional<std::string> Child::ReadLine(std::chrono::milliseconds limit) {
  for (auto left = limit;;) {
    if (const auto end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (left.count() <= 0) throw std::runtime_error(name_ + " says nothing; its log: " + LogTail());
    if (!PollOrStop(out_, std::chrono::milliseconds(100))) {
      left -= std::chrono::milliseconds(100);
      continue;
    }
    char buffer[4096];
    const ssize_t n = read(out_, buffer, sizeof buffer);
    if (n <= 0) return std::nullopt;
    read_.append(buffer, static_cast<std::size_t>(n));
  }
}

int Child::Wait(std::chrono::milliseconds limit) {
  if (!AwaitThat([&] { return Reap(); }, limit)) throw std::runtime_error(name_ + " does not end");
  return *exit_code_;
}

int Child::End(int signal, std::chrono::milliseconds limit) {
  if (Reap()) return *exit_code_;
  kill(pid_, signal);
  // Also while the runner is being stopped, so without Pause.
  for (auto waited = std::chrono::milliseconds(0); !Reap() && waited < limit; waited += std::chrono::milliseconds(10)) poll(nullptr, 0, 10);
  if (!Reap()) {
    kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    exit_code_ = 128 + SIGKILL;
  }
  return *exit_code_;
}

std::string Child::LogTail() const {
  std::ifstream in(log_, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  return all.size() > 3000 ? all.substr(all.size() - 3000) : all;
}

std::string RunToEnd(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
                     std::chrono::milliseconds limit) {
  std::string pattern = (std::filesystem::temp_directory_path() / "acl-bench-out-XXXXXX").string();
  const int fd = mkstemp(pattern.data());
  if (fd < 0) throw std::runtime_error("mkstemp");
  close(fd);
  Child child({argv, environment, pattern, true});
  std::string out;
  while (auto line = child.ReadLine(limit)) out += *line + "\n";
  const int code = child.Wait(std::chrono::seconds(60));
  const std::string errors = child.LogTail();
  std::filesystem::remove(pattern);
  if (code != 0) throw std::runtime_error(argv[0] + " ended with " + std::to_string(code) + ": " + out + errors);
  return out;
}

}  // namespace acl::bench
