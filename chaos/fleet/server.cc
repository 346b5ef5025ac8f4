#include "chaos/fleet/server.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "chaos/process/patience.h"
#include "chaos/proxy/proxy.h"
#include "shared/base/random.h"

namespace acl::chaos {
namespace fs = std::filesystem;

Result<fs::path> FindPostgres() {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (fs::exists(entry.path() / "bin/initdb")) found.push_back(entry.path() / "bin");
  }
  if (found.empty() && fs::exists("/usr/bin/initdb")) found.emplace_back("/usr/bin");
  if (found.empty()) return Error{Code::kNotFound, "PostgreSQL's server is not installed here (apt-get install postgresql-15)"};
  std::sort(found.begin(), found.end());
  return found.back();
}

TextRows TextOf(const pg::Rows& rows) {
  TextRows out;
  for (int row = 0; row < rows.size(); ++row) {
    auto& line = out.emplace_back();
    for (int column = 0; column < rows.columns(); ++column) line.push_back(rows.IsNull(row, column) ? "" : rows.Text(row, column));
  }
  return out;
}

Result<std::unique_ptr<pg::Connection>> Connect(const std::string& conninfo, milliseconds limit) {
  pg::ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "airun-chaos";
  settings.statement_timeout = settings.lock_timeout = limit;
  settings.idle_in_transaction_timeout = milliseconds(600'000);  // some faults hold a transaction open
  return pg::Connection::Open(settings);
}

Result<TextRows> Ask(const std::string& conninfo, const std::string& sql, milliseconds limit) {
  auto connection = Connect(conninfo, limit);
  if (!connection) return connection.error();
  auto rows = (*connection)->RunScript(sql);
  if (!rows) return rows.error();
  return TextOf(*rows);
}

Result<std::unique_ptr<Server>> Server::Make(const ServerOptions& given) {
  ServerOptions options = given;
  if (options.programs.empty()) {
    auto found = FindPostgres();
    if (!found) return found.error();
    options.programs = *found;
  }
  std::error_code failed;
  fs::create_directories(options.folder, failed);
  if (failed) return Error{Code::kUnavailable, "cannot make " + options.folder.string() + ": " + failed.message()};
  std::unique_ptr<Disk> disk;
  if (options.disk && !Disk::UnsupportedReason()) {
    auto made = Disk::Make(options.folder.string() + ".disk", options.folder);
    if (!made) return made.error();
    disk = std::move(*made);
  }
  fs::permissions(options.folder, fs::perms::owner_all);
  SystemRandom random;
  std::unique_ptr<Server> server(new Server(options));
  server->disk_ = std::move(disk);
  server->data_ = options.folder / "data";
  server->password_ = fmt::format("{:016x}", random.Next());
  const fs::path password_file = options.folder / "password";
  std::ofstream(password_file) << server->password_;
  if (geteuid() == 0) {
    const passwd* owner = getpwnam("postgres");
    if (owner == nullptr) return Error{Code::kNotFound, "there is no user postgres, and PostgreSQL refuses to run as root"};
    for (const fs::path& path : {options.folder, password_file}) {
      if (chown(path.c_str(), owner->pw_uid, owner->pw_gid) != 0) return Error{Code::kDenied, "chown to postgres"};
    }
  }
  auto made = RunProgram(server->AsOwner({options.programs / "initdb", "-D", server->data_, "-U", "acl", "-A", "scram-sha-256", "--pwfile",
                                          password_file, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"}),
                         {}, options.folder.string() + ".initdb.log", milliseconds(60'000));
  if (!made) return made.error();
  server->port_ = FreePort();
  std::ofstream(server->data_ / "postgresql.conf", std::ios::app) << fmt::format(
      "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\nmax_connections = {}\nshared_buffers = 64MB\n"
      "max_wal_size = 256MB\nfsync = on\nsynchronous_commit = on\nfull_page_writes = on\nlog_line_prefix = '%m [%p] '\n",
      server->port_, options.folder.string(), options.max_connections);
  if (Status started = server->Start(); !started) return started.error();
  if (auto created = Ask(server->Conninfo() + " dbname=postgres", "CREATE DATABASE acl"); !created) return created.error();
  if (server->disk_) server->disk_->Flush();  // initdb did not, and the power may go at once
  return server;
}

Server::~Server() {
  if (standby_ && standby_->Running()) standby_->End(SIGQUIT, milliseconds(20'000));
  if (process_ && process_->Running()) process_->End(SIGINT, milliseconds(20'000));
}

// PostgreSQL refuses to run as root. The kernel's signal on the driver's death is unset when the user changes, so setpriv sets it again.
std::vector<std::string> Server::AsOwner(std::vector<std::string> argv) const {
  if (geteuid() != 0) return argv;
  std::vector<std::string> all = {"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig", "SIGINT", "--"};
  all.insert(all.end(), argv.begin(), argv.end());
  return all;
}

std::string Server::Conninfo(std::uint16_t port) const {
  return fmt::format("host=127.0.0.1 port={} user=acl password={} sslmode=disable gssencmode=disable dbname=acl", port == 0 ? port_ : port,
                     password_);
}

bool Server::Answers() const { return Ask(Conninfo() + " dbname=postgres", "SELECT 1", milliseconds(2'000)).ok(); }

Result<std::unique_ptr<Child>> Server::Launch(const fs::path& data, const std::string& name) const {
  std::vector<std::string> argv = {"env"};  // behind setpriv: what is preloaded is for the server alone
  for (const auto& [key, value] : options_.environment) argv.push_back(key + "=" + value);
  argv.insert(argv.end(), {options_.programs / "postgres", "-D", data});
  return Child::Start({name, AsOwner(argv), {}, Log()});
}

Status Server::Start() {
  // Orphans of a killed postmaster keep its shared memory for a moment; it refuses to start beside them.
  for (int attempt = 0; attempt < 50 && !StopAsked(); ++attempt) {
    std::error_code ignored;
    fs::remove(data_ / "postmaster.pid", ignored);
    auto started = Launch(data_, "PostgreSQL");
    if (!started) return started.error();
    process_ = std::move(*started);
    Await([&] { return !process_->Running() || Answers(); }, milliseconds(60'000));
    if (process_->Running()) return {};
    Pause(milliseconds(100));
  }
  return Error{Code::kUnavailable, "PostgreSQL does not start: " + (process_ ? process_->LogTail() : "")};
}

void Server::Stop() {
  if (process_) process_->End(SIGINT, milliseconds(30'000));
}

void Server::StopImmediate() {
  if (process_) process_->End(SIGQUIT, milliseconds(30'000));
}

void Server::KillAll() {
  if (!process_) return;
  const auto children = ChildrenOf(process_->pid());
  process_->End(SIGKILL, milliseconds(5'000));
  for (const pid_t pid : children) kill(pid, SIGKILL);
  AwaitUnstoppably(
      [&] { return std::all_of(children.begin(), children.end(), [](pid_t pid) { return StateOf(pid) == '-' || StateOf(pid) == 'Z'; }); },
      milliseconds(5'000));
}

std::size_t Server::LogSize() const {
  std::error_code ignored;
  const auto size = fs::file_size(Log(), ignored);
  return ignored ? 0 : std::size_t(size);
}

std::string Server::LogSince(std::size_t from) const {
  std::ifstream in(Log(), std::ios::binary);
  in.seekg(std::streamoff(from));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool Server::Recovered(std::size_t from) const {
  const std::string log = LogSince(from);
  return log.find("automatic recovery in progress") != std::string::npos || log.find("reinitializing") != std::string::npos;
}

}  // namespace acl::chaos
