#include "tests/support/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "shared/base/check.h"
#include "shared/runtime/spawn.h"
#include "tests/support/wait.h"

namespace acl::test {
namespace fs = std::filesystem;
namespace {

pid_t SpawnOrDie(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment, const fs::path& directory,
                 int in, int out, int err) {
  SpawnOptions options;
  options.argv = argv;
  options.environment = environment;
  options.directory = directory;
  options.in = in;
  options.out = out;
  options.err = err;
  const auto pid = Spawn(options);
  ACL_CHECK(pid.ok(), pid.message().c_str());
  return *pid;
}

int OpenOrDie(const fs::path& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  ACL_CHECK(fd >= 0, "open a test's file");
  return fd;
}

}  // namespace

Process::Process(Options options) : options_(std::move(options)) {
  const int in = OpenOrDie("/dev/null", O_RDONLY);
  const int out = OpenOrDie(options_.output.empty() ? "/dev/null" : options_.output, O_WRONLY | O_CREAT | O_APPEND);
  pid_ = SpawnOrDie(options_.argv, options_.environment, options_.working_directory, in, out, out);
  close(in);
  close(out);
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  std::swap(options_, other.options_);
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  return *this;
}

Process::~Process() {
  if (pid_ > 0) Kill();
}

void Process::Reap(bool block) {
  if (exit_code_ || pid_ <= 0) return;
  int status = 0;
  if (waitpid(pid_, &status, block ? 0 : WNOHANG) == pid_) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Process::running() {
  Reap(false);
  return pid_ > 0 && !exit_code_;
}

void Process::Signal(int signal) {
  if (running()) kill(pid_, signal);
}

void Process::Kill() {
  Signal(SIGKILL);
  Reap(true);
}

int Process::Wait() {
  if (!WaitUntil([&] { return !running(); })) {
    ADD_FAILURE() << options_.argv[0] << " did not end; its output:\n" << Output();
    Kill();
  }
  return exit_code_.value_or(-1);
}

std::string Process::Output() const { return options_.output.empty() ? "" : ReadFile(options_.output); }

RunResult RunProgram(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
                     const fs::path& directory) {
  TestFolder folder;
  const int in = OpenOrDie("/dev/null", O_RDONLY);
  const int out = OpenOrDie(folder / "out", O_WRONLY | O_CREAT);
  const int err = OpenOrDie(folder / "err", O_WRONLY | O_CREAT);
  const pid_t pid = SpawnOrDie(argv, environment, directory, in, out, err);
  close(in);
  close(out);
  close(err);
  int status = 0;
  const bool ended = WaitUntil([&] { return waitpid(pid, &status, WNOHANG) == pid; }, std::chrono::seconds(280));
  if (!ended) {
    ADD_FAILURE() << argv[0] << " did not end; its errors:\n" << ReadFile(folder / "err");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ReadFile(folder / "out"), ReadFile(folder / "err")};
}

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteFile(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

TestFolder::TestFolder() {
  std::string pattern = (fs::temp_directory_path() / "acl-test-XXXXXX").string();
  ACL_CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
  path_ = pattern;
}

TestFolder::~TestFolder() {
  if (::testing::Test::HasFailure()) {
    std::fprintf(stderr, "kept for a look: %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace acl::test
