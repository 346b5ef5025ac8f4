#pragma once
// The PostgreSQL that is measured: a server of the runner's own in a new folder, durable, reached by a socket in that folder.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/run/child.h"

namespace acl::bench {

struct ServerOptions {
  std::filesystem::path folder;    // made anew, removed at the end
  std::filesystem::path programs;  // of PostgreSQL
  int flush_delay_us = 0;          // what `shim` adds to each fdatasync
  std::filesystem::path shim;
};

class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string Conninfo(const std::string& database) const;
  pid_t pid() const { return process_->pid(); }
  std::string Log() const { return process_->LogTail(); }
  // Of those that matter here, as the server says them.
  std::vector<std::pair<std::string, std::string>> Settings() const;
  // Empty, or a copy of another one; one that is there under this name is dropped.
  void MakeDatabase(const std::string& name, const std::string& of = "");
  void DropDatabase(const std::string& name);
  void Checkpoint();
  // One write-ahead log flush by fdatasync, in microseconds, as pg_test_fsync measures it on this disk (with the shim, if there is one).
  double FlushMicros() const;
  // Starts it anew with another delay.
  void Restart(int flush_delay_us);

 private:
  std::vector<std::string> AsOwner(std::vector<std::string> argv) const;
  std::map<std::string, std::string> Environment() const;
  void Start();
  void Stop();

  ServerOptions options_;
  std::unique_ptr<Child> process_;
};

}  // namespace acl::bench
