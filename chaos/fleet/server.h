#pragma once
// A PostgreSQL of the driver's own, durable, in a new folder, on a loopback port with a password: so that it may be crashed.

#include <memory>
#include <string>

#include "chaos/process/child.h"
#include "shared/postgres/connection.h"

namespace acl::chaos {

struct ServerOptions {
  std::filesystem::path folder;    // made anew
  std::filesystem::path programs;  // of PostgreSQL; empty: looked for
  int max_connections = 60;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> Make(const ServerOptions& options);
  ~Server();

  // As the owner of everything; `port` of a proxy in front, or its own.
  std::string Conninfo(std::uint16_t port = 0) const;
  std::uint16_t port() const { return port_; }
  // The login's secret, which must stand nowhere.
  const std::string& password() const { return password_; }
  // The postmaster; -1 when it is down.
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  bool Answers() const;
  Status Start();
  void Stop();           // fast shutdown: clean
  void StopImmediate();  // no checkpoint: recovery at the next start
  void KillAll();        // kill -9 of the postmaster and everything it started
  // Whether its log says that it recovered from a crash since this place in it.
  bool Recovered(std::size_t from) const;
  std::size_t LogSize() const;

 private:
  explicit Server(ServerOptions options) : options_(std::move(options)) {}
  std::vector<std::string> AsOwner(std::vector<std::string> argv) const;

  ServerOptions options_;
  std::string password_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Child> process_;
};

// Where PostgreSQL's own programs are: beside pg_config's, or the newest of Debian's folders.
Result<std::filesystem::path> FindPostgres();

// One statement's rows as text, on a connection of its own. For what the driver asks and does outside the product's own statements.
using TextRows = std::vector<std::vector<std::string>>;
Result<TextRows> Ask(const std::string& conninfo, const std::string& sql, milliseconds limit = milliseconds(5'000));
TextRows TextOf(const pg::Rows& rows);
// A connection as Ask makes them, to be kept.
Result<std::unique_ptr<pg::Connection>> Connect(const std::string& conninfo, milliseconds limit = milliseconds(5'000));

}  // namespace acl::chaos
