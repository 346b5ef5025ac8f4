#pragma once
// What an installation allows its capabilities to do. Defaults are the careful ones.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace acl {

namespace webhook {
struct SigningKeys;
using Keyring = std::map<std::string, SigningKeys>;  // as in webhook/key_file.h
}  // namespace webhook

// Limits on the files of one run. Reaching one is a clear failure of the attempt; nothing is half done.
struct FileLimits {
  std::int64_t max_file_bytes = 64ll << 20;
  std::int64_t max_total_bytes = 1ll << 30;
  std::int64_t max_files = 20'000;  // directories count
};

// On a machine of one's own a workflow may start a shell (setting allowed_programs: @dev); a real fleet lists what it needs. The other
// runtime's list is in it (docs/reference/other-runtimes.md#capabilities), so that its files run there as they are.
inline const std::vector<std::string>& DevelopmentPrograms() {
  static const std::vector<std::string> programs{"sh",   "bash", "python3",   "python", "node", "npm",  "git", "ls",
                                                 "cat",  "echo", "pwd",       "whoami", "grep", "find", "wc",  "head",
                                                 "tail", "sort", "sha256sum", "sleep",  "true", "false"};
  return programs;
}

struct ExecConfig {
  // Bare names. By default none that starts other programs or runs code (launchers.h): who needs one has an operator who says so.
  std::vector<std::string> allowed_programs{"ls", "cat", "echo", "pwd", "whoami", "grep", "wc", "head", "tail"};
  std::vector<std::string> program_folders{"/usr/local/bin", "/usr/bin", "/bin"};  // where they are looked up; also the program's PATH
  std::map<std::string, std::string> environment;                                  // added to the clean environment
  std::size_t max_output_bytes = 1u << 20;  // of stdout and of stderr; the rest is dropped and said so
  std::size_t max_argument_bytes = 128u << 10;
  std::int64_t max_memory_bytes = 0;  // address space; 0 = no limit
  int max_processes = 4096;           // of the user the worker runs as
  int at_once = 0;                    // programs that run at once on this worker, the others wait; 0 = four for each processor
  int max_open_files = 1024;
};

struct HttpConfig {
  std::vector<std::string> schemes{"http", "https"};
  std::vector<std::string> allowed_hosts;  // exact names or "*.example.org"; empty = every public host
  bool allow_private_networks = false;     // loopback, private, link-local ... (egress.h)
  int max_redirects = 5;
  std::size_t max_body_bytes = 4u << 20;  // of an answer, decompressed
  std::size_t max_header_bytes = 64u << 10;
  std::chrono::milliseconds connect_timeout{10'000};
  std::string ca_file;  // empty = the system's
  std::string user_agent = "acl/0.1";
  std::shared_ptr<const webhook::Keyring> webhook_keys;  // what `sign_with` names; null: none
};

// Where llm.ask asks: coordinators, which ask the model (docs/guides/aegis.md).
struct AskConfig {
  std::vector<std::string> urls;  // empty: nowhere
  std::string api_key;            // secret; empty: none is sent
  std::string ca_file;            // empty = the system's
};

struct CapabilityConfig {
  ExecConfig exec;
  HttpConfig http;
  AskConfig ask;
  FileLimits files;
  // Environment variables of the worker that sys.info.get_env_var may show.
  std::vector<std::string> readable_env{"PATH", "HOME", "USER",   "LANG",           "LC_ALL",      "SHELL",
                                        "TERM", "PWD",  "EDITOR", "PYTHON_VERSION", "NODE_VERSION"};
  std::size_t max_output_bytes = 8u << 20;  // of one step's outputs as JSON text
};

}  // namespace acl
