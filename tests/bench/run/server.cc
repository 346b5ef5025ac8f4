#include "tests/bench/run/server.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/bench/run/machine.h"
#include "tests/bench/wire/database.h"

namespace acl::bench {
namespace fs = std::filesystem;

Server::Server(ServerOptions options) : options_(std::move(options)) {
  fs::create_directories(options_.folder.parent_path());
  if (!fs::create_directory(options_.folder)) throw std::runtime_error(options_.folder.string() + " is there already");
  fs::permissions(options_.folder, fs::perms::owner_all);
  if (geteuid() == 0) {
    const passwd* owner = getpwnam("postgres");
    if (owner == nullptr || chown(options_.folder.c_str(), owner->pw_uid, owner->pw_gid) != 0)
      throw std::runtime_error("chown to postgres");
  }
  // The folder is its owner's alone, so whoever reaches the socket may connect.
  RunToEnd(AsOwner({options_.programs / "initdb", "-D", options_.folder / "data", "-U", "acl", "-A", "trust", "--encoding=UTF8",
                    "--locale=C.UTF-8", "--no-sync", "--no-instructions"}));
  const std::int64_t gib = std::int64_t(1) << 30;
  const std::int64_t buffers = std::min(4 * gib, MemoryBytes() / 4), wal = std::min(16 * gib, FreeBytes(options_.folder) / 4);
  std::ofstream(options_.folder / "data" / "postgresql.conf", std::ios::app) << fmt::format(
      "listen_addresses = ''\nunix_socket_directories = '{}'\nmax_connections = 200\nfsync = on\nsynchronous_commit = on\n"
      "full_page_writes = on\nshared_buffers = {}MB\nmax_wal_size = {}MB\nmin_wal_size = {}MB\ncheckpoint_timeout = 30min\n"
      "shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.track = none\npg_stat_statements.save = off\n",
      options_.folder.string(), buffers >> 20, wal >> 20, wal >> 22);
  Start();
}

Server::~Server() {
  Stop();
  std::error_code ignored;
  fs::remove_all(options_.folder, ignored);
}

// PostgreSQL refuses to run as root. The kernel's signal on the runner's death is unset when the user changes, so setpriv sets it again.
std::vector<std::string> Server::AsOwner(std::vector<std::string> argv) const {
  if (geteuid() != 0) return argv;
  std::vector<std::string> all = {"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig", "SIGINT", "--"};
  all.insert(all.end(), argv.begin(), argv.end());
  return all;
}

std::map<std::string, std::string> Server::Environment() const {
  if (options_.flush_delay_us == 0) return {};
  return {{"LD_PRELOAD", options_.shim.string()}, {"ACL_BENCH_FLUSH_DELAY_US", std::to_string(options_.flush_delay_us)}};
}

void Server::Start() {
  process_ = std::make_unique<Child>(ChildOptions{AsOwner({options_.programs / "postgres", "-D", options_.folder / "data"}), Environment(),
                                                  options_.folder / "server.log"});
  const bool up =
      AwaitThat([&] { return !process_->Running() || PQping(Conninfo("postgres").c_str()) == PQPING_OK; }, std::chrono::seconds(60));
  if (!up || !process_->Running()) throw std::runtime_error("PostgreSQL does not start: " + Log());
}

void Server::Stop() {
  if (process_) process_->End(SIGINT, std::chrono::seconds(60));  // a fast shutdown: sessions are ended
  process_.reset();
}

void Server::Restart(int flush_delay_us) {
  Stop();
  options_.flush_delay_us = flush_delay_us;
  Start();
}

std::string Server::Conninfo(const std::string& database) const {
  return "host=" + options_.folder.string() + " user=acl dbname=" + database;
}

std::vector<std::pair<std::string, std::string>> Server::Settings() const {
  Database database(Conninfo("postgres"));
  std::vector<std::pair<std::string, std::string>> settings = {{"version", database.Value("SHOW server_version")}};
  for (const char* name : {"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers", "max_wal_size",
                           "checkpoint_timeout", "wal_compression"}) {
    settings.emplace_back(name, database.Value(std::string("SHOW ") + name));
  }
  return settings;
}

void Server::MakeDatabase(const std::string& name, const std::string& of) {
  DropDatabase(name);
  Database(Conninfo("postgres")).Run("CREATE DATABASE " + name + (of.empty() ? "" : " TEMPLATE " + of));
}

void Server::DropDatabase(const std::string& name) {
  Database(Conninfo("postgres")).Run("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
}

void Server::Checkpoint() { Database(Conninfo("postgres")).Run("CHECKPOINT"); }

double Server::FlushMicros() const {
  // Its first part is what is wanted: one 8 kB write, each method in turn; it is ended once fdatasync has its line.
  Child test({AsOwner({options_.programs / "pg_test_fsync", "-s", "1", "-f", options_.folder / "flush"}), Environment(),
              options_.folder / "flush.log", true});
  double micros = 0;
  while (auto line = test.ReadLine(std::chrono::seconds(30))) {
    const auto at = line->find("ops/sec");
    if (line->find("fdatasync") == std::string::npos || at == std::string::npos) continue;
    micros = std::stod(line->substr(at + 7));
    break;
  }
  test.End(SIGTERM);
  std::error_code ignored;
  fs::remove(options_.folder / "flush", ignored);
  if (micros <= 0) throw std::runtime_error("pg_test_fsync says no time for fdatasync: " + test.LogTail());
  return micros;
}

}  // namespace acl::bench
