// What happens to PostgreSQL and in it: crashes, frozen backends, locks held too long, no connection left.
#include <signal.h>

#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

// A backend of a worker, busy ones first.
Result<pid_t> ABackend(const TestBed& test_bed) {
  pid_t found = -1;
  Await(
      [&] {
        const auto rows = Ask(test_bed.conninfo,
                              "SELECT pid FROM pg_stat_activity WHERE application_name = 'acl-worker' ORDER BY (state = 'active') DESC, "
                              "state_change DESC LIMIT 1");
        if (rows && !rows->empty()) found = pid_t(std::stol(rows->front().front()));
        return found > 0;
      },
      kSeenWithin);
  if (found <= 0) return Error{Code::kTimeout, "no backend of a worker found"};
  return found;
}

// The server is gone and comes back; acknowledged work must be there.
class Crash final : public Fault {
 public:
  enum class How { kBackend, kImmediate, kEverything };
  Crash(TestBed& test_bed, How how) : test_bed_(test_bed), how_(how), log_(test_bed.fleet->database().LogSize()) {}

  Status Inject() override {
    Server& server = test_bed_.fleet->database();
    if (how_ == How::kImmediate) server.StopImmediate();
    if (how_ == How::kEverything) server.KillAll();
    if (how_ != How::kBackend) return {};
    auto backend = ABackend(test_bed_);
    if (!backend) return backend.error();
    facts["backend"] = *backend;
    if (kill(*backend, SIGKILL) != 0) return Error{Code::kDenied, "kill -9 of a backend"};
    return {};
  }
  Status AssertInjected() override {
    if (how_ != How::kBackend)
      return StateOf(test_bed_.fleet->database().pid()) == '-' ? Status() : Status(NotSeen("the postmaster is gone"));
    if (!Await([&] { return test_bed_.fleet->database().Recovered(log_); }, kSeenWithin))
      return NotSeen("PostgreSQL restarts after its backend was killed");
    return {};
  }
  Status Heal() override { return how_ == How::kBackend ? Status() : test_bed_.fleet->database().Start(); }
  Status AssertHealed() override {
    if (!Await([&] { return test_bed_.fleet->database().Answers(); }, kHealedWithin)) return NotSeen("PostgreSQL answers again");
    if (!test_bed_.fleet->database().Recovered(log_)) return NotSeen("PostgreSQL recovered from a crash");
    if (!test_bed_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every process is ready again");
    return {};
  }

 private:
  TestBed& test_bed_;
  const How how_;
  const std::size_t log_;
};

class BackendFrozen final : public Fault {
 public:
  explicit BackendFrozen(TestBed& test_bed) : test_bed_(test_bed) {}
  ~BackendFrozen() override {
    if (pid_ > 0) kill(pid_, SIGCONT);
  }
  Status Inject() override {
    auto backend = ABackend(test_bed_);
    if (!backend) return backend.error();
    pid_ = *backend;
    facts["backend"] = pid_;
    if (kill(pid_, SIGSTOP) != 0) return Error{Code::kDenied, "SIGSTOP of a backend"};
    return {};
  }
  Status AssertInjected() override {
    return Await([&] { return StateOf(pid_) == 'T'; }, kSeenWithin) ? Status() : Status(NotSeen("the backend is stopped"));
  }
  Status Heal() override {
    kill(pid_, SIGCONT);
    return {};
  }
  Status AssertHealed() override {
    if (StateOf(pid_) == 'T') return NotSeen("the backend goes on");
    return test_bed_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 private:
  TestBed& test_bed_;
  pid_t pid_ = -1;
};

// The rows of every living session are locked, only locked, for longer than a lease lives: renewals that waited must be refused.
class SessionsLocked final : public Fault {
 public:
  explicit SessionsLocked(TestBed& test_bed) : test_bed_(test_bed) {}
  Status Inject() override {
    auto connection = Connect(test_bed_.conninfo);
    if (!connection) return connection.error();
    holder_ = std::move(*connection);
    if (Status begun = holder_->Begin(); !begun) return begun;
    auto locked = holder_->RunScript("SELECT pg_backend_pid() FROM worker_sessions WHERE dead_at IS NULL FOR UPDATE");
    if (!locked) return locked.error();
    facts["sessions"] = locked->size();
    if (locked->size() == 0) return NotSeen("a living session to lock");
    pid_ = locked->Text(0, 0);
    return {};
  }
  Status AssertInjected() override {
    const std::string waiting = "SELECT count(*) FROM pg_stat_activity WHERE " + pid_ + " = ANY (pg_blocking_pids(pid))";
    int most = 0;
    const bool seen = Await(
        [&] {
          const auto rows = Ask(test_bed_.conninfo, waiting);
          if (rows) most = std::max(most, std::stoi(rows->front().front()));
          return most > 0;
        },
        kSeenWithin);
    facts["backends_waiting"] = most;
    if (!seen) return NotSeen("a heartbeat that waits for the lock");
    Pause(test_bed_.lease_ttl + milliseconds(500));
    return {};
  }
  Status Heal() override {
    holder_.reset();
    return {};
  }
  Status AssertHealed() override {
    const auto free = [&] {
      const auto rows =
          Ask(test_bed_.conninfo, "SELECT count(*) FROM worker_sessions WHERE dead_at IS NULL AND expires_at > clock_timestamp()");
      return rows && rows->front().front() != "0";
    };
    if (!Await(free, kHealedWithin)) return NotSeen("a session that lives again");
    if (test_bed_.fleet != nullptr && !test_bed_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every process is ready again");
    return {};
  }

 private:
  TestBed& test_bed_;
  std::unique_ptr<pg::Connection> holder_;
  std::string pid_;
};

// Somebody else takes every connection there is, and those of one process are cut.
class NoConnectionLeft final : public Fault {
 public:
  NoConnectionLeft(TestBed& test_bed, std::uint64_t draw) : test_bed_(test_bed), node_(test_bed.fleet->worker(BusyWorker(test_bed, draw))) {
    facts["process"] = node_.name;
  }
  Status Inject() override {
    TakeAll();
    node_.database->ResetAll();
    const auto before = node_.database->counters().resets;
    Await([&] { return node_.database->counters().resets > before; }, milliseconds(2'000));
    TakeAll();  // those that the process gave back
    facts["connections_taken"] = taken_.size();
    return {};
  }
  Status AssertInjected() override {
    if (refused_.find("too many clients") == std::string::npos && refused_.find("connection slots are reserved") == std::string::npos)
      return NotSeen("PostgreSQL refuses another connection: " + refused_);
    return {};
  }
  Status Heal() override {
    taken_.clear();
    return {};
  }
  Status AssertHealed() override {
    if (!test_bed_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every process is ready again");
    return {};
  }

 private:
  void TakeAll() {
    for (int i = 0; i < 500; ++i) {
      auto connection = Connect(test_bed_.conninfo);
      if (!connection) {
        refused_ = connection.message();
        return;
      }
      taken_.push_back(std::move(*connection));
    }
  }
  TestBed& test_bed_;
  Node& node_;
  std::vector<std::unique_ptr<pg::Connection>> taken_;
  std::string refused_;
};

// A reader that holds back what vacuum may remove.
class ReaderHeld final : public Fault {
 public:
  explicit ReaderHeld(TestBed& test_bed) : test_bed_(test_bed) {}
  Status Inject() override {
    auto connection = Connect(test_bed_.conninfo);
    if (!connection) return connection.error();
    reader_ = std::move(*connection);
    if (Status begun = reader_->Begin(); !begun) return begun;
    auto read = reader_->RunScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT pg_backend_pid(), count(*) FROM leases");
    if (!read) return read.error();
    pid_ = read->Text(0, 0);
    return {};
  }
  Status AssertInjected() override {
    const auto rows = Ask(test_bed_.conninfo, "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid = " + pid_);
    return rows && rows->front().front() == "1" ? Status() : Status(NotSeen("a reader that holds the horizon back"));
  }
  Status Heal() override {
    reader_.reset();
    return {};
  }
  Status AssertHealed() override { return {}; }

 private:
  TestBed& test_bed_;
  std::unique_ptr<pg::Connection> reader_;
  std::string pid_;
};

class Terminated final : public Fault {
 public:
  explicit Terminated(TestBed& test_bed) : test_bed_(test_bed) {}
  Status Inject() override {
    auto rows =
        Ask(test_bed_.conninfo,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name IN ('acl-worker', 'acl-coordinator')");
    if (!rows) return rows.error();
    facts["connections"] = std::stoi(rows->front().front());
    return {};
  }
  Status AssertInjected() override {
    return facts["connections"].get<int>() > 0 ? Status() : Status(NotSeen("connections that were ended"));
  }
  Status Heal() override { return {}; }
  Status AssertHealed() override {
    const auto back = [&] {
      const auto rows =
          Ask(test_bed_.conninfo, "SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('acl-worker', 'acl-coordinator')");
      return rows && rows->front().front() != "0";
    };
    if (!Await(back, kHealedWithin)) return NotSeen("connections of the fleet again");
    if (test_bed_.fleet != nullptr && !test_bed_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every process is ready again");
    return {};
  }

 private:
  TestBed& test_bed_;
};

}  // namespace

Made KillBackend(TestBed& test_bed, std::uint64_t) { return std::make_unique<Crash>(test_bed, Crash::How::kBackend); }
Made ImmediateStop(TestBed& test_bed, std::uint64_t) { return std::make_unique<Crash>(test_bed, Crash::How::kImmediate); }
Made KillPostmaster(TestBed& test_bed, std::uint64_t) { return std::make_unique<Crash>(test_bed, Crash::How::kEverything); }
Made FreezeBackend(TestBed& test_bed, std::uint64_t) { return std::make_unique<BackendFrozen>(test_bed); }
Made LockSessions(TestBed& test_bed, std::uint64_t) { return std::make_unique<SessionsLocked>(test_bed); }
Made PoolExhaustion(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<NoConnectionLeft>(test_bed, draw); }
Made LongReader(TestBed& test_bed, std::uint64_t) { return std::make_unique<ReaderHeld>(test_bed); }
Made TerminateBackends(TestBed& test_bed, std::uint64_t) { return std::make_unique<Terminated>(test_bed); }

}  // namespace acl::chaos
