#pragma once
// A PostgreSQL of the driver's own, durable, in a new folder, on a loopback port with a password: so that it may be crashed, moved to a
// standby, or restored.

#include <memory>
#include <string>

#include "chaos/fleet/disk.h"
#include "chaos/process/child.h"
#include "shared/postgres/connection.h"

namespace acl::chaos {

struct ServerOptions {
  std::filesystem::path folder;    // made anew
  std::filesystem::path programs;  // of PostgreSQL; empty: looked for
  int max_connections = 60;
  bool disk = false;                               // its folder is a disk of its own, where that can be made
  std::map<std::string, std::string> environment;  // of the server alone
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
  std::string LogSince(std::size_t from) const;
  // Null unless it was asked for and can be made.
  Disk* disk() { return disk_.get(); }

  // A standby, made new from a copy of this server and following it. Synchronous: a commit is acknowledged when the standby has it on disk.
  Status AddStandby(bool synchronous);
  // The standby hears nothing of this server any more.
  Status CutOffStandby();
  bool HasStandby() const { return standby_ != nullptr; }
  std::string StandbyConninfo() const { return Conninfo(standby_port_); }
  // After this server was killed: the standby takes over its address, and is promoted.
  Status FailOver();

  // A copy of the whole server as it is now, and the return to it: a server that stands at the copy's end, on a timeline of its own.
  Status BackUp(const std::filesystem::path& to);
  Status Restore(const std::filesystem::path& from);

 private:
  explicit Server(ServerOptions options) : options_(std::move(options)) {}
  std::vector<std::string> AsOwner(std::vector<std::string> argv) const;
  Status Copy(const std::filesystem::path& to, bool to_follow);
  Result<std::unique_ptr<Child>> Launch(const std::filesystem::path& data, const std::string& name) const;
  std::filesystem::path NewFolder(const char* name) { return options_.folder / (name + std::to_string(++folders_)); }
  std::filesystem::path Log() const { return options_.folder.string() + ".log"; }

  ServerOptions options_;
  std::string password_;
  std::uint16_t port_ = 0, standby_port_ = 0;
  std::unique_ptr<Disk> disk_;
  std::filesystem::path data_, standby_data_;
  int folders_ = 0;
  std::unique_ptr<Child> process_, standby_;
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
