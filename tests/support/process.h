#pragma once
// A real child process of a test: started, signalled, stopped, killed, waited for. Its output goes to a file. It never outlives the test:
// the kernel kills it if the test dies, the destructor otherwise.

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace acl::test {

class Process {
 public:
  struct Options {
    std::vector<std::string> argv;                   // argv[0] is the path of the program
    std::map<std::string, std::string> environment;  // on top of the test's own
    std::filesystem::path output;                    // stdout and stderr, appended
    std::filesystem::path working_directory;         // empty: the test's
  };

  Process() = default;
  explicit Process(Options options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  bool running();
  void Signal(int signal);
  // kill -9, and waits until it is gone.
  void Kill();
  // Exit code, or 128 + signal. Fails the test and kills it after a minute.
  int Wait();
  // What it has written so far.
  std::string Output() const;

 private:
  void Reap(bool block);

  Options options_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

struct RunResult {
  int exit_code = -1;
  std::string out, err;
};

// Runs a program to its end.
RunResult RunProgram(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment = {},
                     const std::filesystem::path& working_directory = {});

std::string ReadFile(const std::filesystem::path& path);
void WriteFile(const std::filesystem::path& path, const std::string& text);

// A folder of its own for a test, removed at its end (kept, and named, if the test failed).
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace acl::test
