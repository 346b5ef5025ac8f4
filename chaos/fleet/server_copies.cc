// Copies of the server: a standby that follows it and takes over, and backups to which it returns.
#include <signal.h>

#include <fstream>

#include "chaos/fleet/server.h"
#include "chaos/process/patience.h"
#include "chaos/proxy/proxy.h"

namespace acl::chaos {
namespace fs = std::filesystem;
namespace {

constexpr milliseconds kCopied{120'000}, kUp{60'000};

void Set(const fs::path& data, const std::string& lines) { std::ofstream(data / "postgresql.conf", std::ios::app) << lines; }

}  // namespace

Status Server::Copy(const fs::path& to, bool to_follow) {
  std::vector<std::string> argv = {
      options_.programs / "pg_basebackup", "-d", Conninfo() + " dbname=replication", "-D", to, "-X", "stream", "-c", "fast", "--no-sync"};
  if (to_follow) argv.push_back("-R");
  auto copied = RunProgram(AsOwner(argv), {}, options_.folder.string() + ".copy.log", kCopied);
  return copied ? Status() : Status(copied.error());
}

Status Server::AddStandby(bool synchronous) {
  if (standby_) standby_->End(SIGQUIT, kUp);
  standby_data_ = NewFolder("standby-");
  standby_port_ = FreePort();
  if (Status copied = Copy(standby_data_, true); !copied) return copied;
  Set(standby_data_, "port = " + std::to_string(standby_port_) + "\n");
  auto started = Launch(standby_data_, "standby");
  if (!started) return started.error();
  standby_ = std::move(*started);
  const auto follows = [&] {
    const auto rows = Ask(Conninfo(), "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'");
    return rows && rows->front().front() == "1" && Ask(StandbyConninfo(), "SELECT 1").ok();
  };
  if (!Await(follows, kUp)) return Error{Code::kTimeout, "the standby does not follow"};
  for (const std::string& sql : {std::string("ALTER SYSTEM SET synchronous_standby_names = ") + (synchronous ? "'*'" : "''"),
                                 std::string("SELECT pg_reload_conf()")}) {
    if (auto done = Ask(Conninfo(), sql); !done) return done.error();
  }
  const auto as_told = [&] {
    const auto rows = Ask(Conninfo(), "SELECT sync_state FROM pg_stat_replication");
    return rows && rows->size() == 1 && rows->front().front() == (synchronous ? "sync" : "async");
  };
  return Await(as_told, kUp) ? Status() : Status(Error{Code::kTimeout, "the standby is not as told"});
}

Status Server::CutOffStandby() {
  for (const char* sql : {"ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"}) {
    if (auto done = Ask(StandbyConninfo(), sql); !done) return done.error();
  }
  const auto alone = [&] {
    const auto rows = Ask(Conninfo(), "SELECT count(*) FROM pg_stat_replication");
    return rows && rows->front().front() == "0";
  };
  return Await(alone, kUp) ? Status() : Status(Error{Code::kTimeout, "the standby still follows"});
}

Status Server::FailOver() {
  if (!standby_) return Error{Code::kInternal, "there is no standby"};
  standby_->End(SIGINT, kUp);
  standby_.reset();
  Set(standby_data_, "port = " + std::to_string(port_) + "\n");
  data_ = standby_data_;
  auto started = Launch(data_, "PostgreSQL");
  if (!started) return started.error();
  process_ = std::move(*started);
  if (!Await([&] { return Answers(); }, kUp)) return Error{Code::kTimeout, "the standby does not answer at the new address"};
  // Its commits wait for nobody: what it copied of this setting was its own primary's.
  for (const char* sql : {"SELECT pg_promote(true, 60)", "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"}) {
    if (auto done = Ask(Conninfo(), sql, kUp); !done) return done.error();
  }
  return {};
}

Status Server::BackUp(const fs::path& to) { return Copy(to, false); }

Status Server::Restore(const fs::path& from) {
  // Recovery to the end of what the copy has: that, and not a plain start, gives the server a timeline of its own.
  Set(from, "restore_command = 'false'\n");
  const fs::path signal = from / "recovery.signal";
  std::ofstream(signal).flush();
  if (auto owned = RunProgram({"chown", "--reference", from, signal}, {}, options_.folder.string() + ".copy.log", kUp); !owned)
    return owned.error();
  data_ = from;
  if (Status started = Start(); !started) return started;
  const auto writes = [&] {
    const auto rows = Ask(Conninfo(), "SELECT pg_is_in_recovery()");
    return rows && rows->front().front() == "f";
  };
  return Await(writes, kUp) ? Status() : Status(Error{Code::kTimeout, "the restored server takes no writes"});
}

}  // namespace acl::chaos
