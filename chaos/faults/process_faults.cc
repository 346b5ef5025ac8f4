// What happens to processes: killed, frozen, starved, doubled, replaced.
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "chaos/faults/kinds.h"
#include "chaos/http/client.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class ProcessFault : public Fault {
 public:
  ProcessFault(TestBed& test_bed, Node& node) : test_bed_(test_bed), node_(node) {
    facts["process"] = node.name;
    facts["pid"] = pid();
  }
  Status AssertHealed() override {
    if (!Await([&] { return Fleet::Ready(node_); }, kHealedWithin)) return NotSeen(node_.name + " is ready again");
    return {};
  }

 protected:
  pid_t pid() const { return node_.process ? node_.process->pid() : -1; }
  TestBed& test_bed_;
  Node& node_;
};

class Killed final : public ProcessFault {
 public:
  using ProcessFault::ProcessFault;
  Status Inject() override {
    test_bed_.fleet->Kill(node_);
    return {};
  }
  Status AssertInjected() override {
    if (node_.process->exit_code() != 128 + SIGKILL) return NotSeen(node_.name + " ended by kill -9");
    return {};
  }
  Status Heal() override { return test_bed_.fleet->StartNode(node_); }
};

class Frozen : public ProcessFault {
 public:
  using ProcessFault::ProcessFault;
  Status Inject() override {
    node_.process->Signal(SIGSTOP);
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return StateOf(pid()) == 'T'; }, kSeenWithin)) return NotSeen(node_.name + " is stopped");
    if (!node_.is_worker) {
      HttpAsk ask;
      ask.url = node_.Url("/livez");
      ask.timeout = milliseconds(300);
      if (Http(ask).status != 0) return NotSeen(node_.name + " does not answer");
      return {};
    }
    // Past its lease: its session is dead and what it held is free for others.
    if (!Await([&] { return !HasSession(test_bed_, pid()) && !HasLeases(test_bed_, pid()); }, kSeenWithin))
      return NotSeen("the session of " + node_.name + " is dead and its leases are free");
    facts["lease_lost"] = true;
    return {};
  }
  Status Heal() override {
    node_.process->Signal(SIGCONT);
    return {};
  }
  Status AssertHealed() override {
    if (StateOf(pid()) == 'T') return NotSeen(node_.name + " goes on");
    return ProcessFault::AssertHealed();
  }
};

// Frozen with a commit on its way, which reaches the database when the lease is somebody else's.
class FrozenInCommit final : public Frozen {
 public:
  using Frozen::Frozen;
  Status Inject() override {
    before_ = Refusals();
    node_.database->ArmHold();
    if (!Await([&] { return node_.database->Holding(); }, kSeenWithin)) {
      node_.database->Disarm();
      return NotSeen("a commit of " + node_.name + " on its way");
    }
    return Frozen::Inject();
  }
  Status Heal() override {
    node_.database->Release();
    return Frozen::Heal();
  }
  Status AssertHealed() override {
    if (!Await([&] { return Refusals() > before_; }, kHealedWithin)) return NotSeen("the late commit of " + node_.name + " was refused");
    facts["late_commits_refused"] = Refusals() - before_;
    return Frozen::AssertHealed();
  }

 private:
  double Refusals() const {
    HttpAsk ask;
    ask.url = node_.Url("/metrics");
    return MetricOf(Http(ask).body, "acl_fence_refusals_total");
  }
  double before_ = 0;
};

class AllFrozen final : public Fault {
 public:
  explicit AllFrozen(TestBed& test_bed) : test_bed_(test_bed) {}
  Status Inject() override {
    for (int n = 0; n < test_bed_.fleet->workers(); ++n) test_bed_.fleet->worker(n).process->Signal(SIGSTOP);
    facts["processes"] = test_bed_.fleet->workers();
    return {};
  }
  Status AssertInjected() override {
    for (int n = 0; n < test_bed_.fleet->workers(); ++n) {
      const pid_t pid = test_bed_.fleet->worker(n).process->pid();
      if (!Await([&] { return StateOf(pid) == 'T' && !HasSession(test_bed_, pid) && !HasLeases(test_bed_, pid); }, kSeenWithin))
        return NotSeen("every worker is stopped and has lost its leases");
    }
    return {};
  }
  Status Heal() override {
    for (int n = 0; n < test_bed_.fleet->workers(); ++n) test_bed_.fleet->worker(n).process->Signal(SIGCONT);
    return {};
  }
  Status AssertHealed() override {
    if (!test_bed_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every worker is ready again");
    return {};
  }

 private:
  TestBed& test_bed_;
};

class Doubled final : public Frozen {
 public:
  using Frozen::Frozen;
  Status Inject() override {
    auto twin = test_bed_.fleet->StartTwin(node_);
    if (!twin) return twin.error();
    twin_ = std::move(*twin);
    return Frozen::Inject();
  }
  Status AssertInjected() override {
    if (Status frozen = Frozen::AssertInjected(); !frozen) return frozen;
    if (!Await([&] { return HasSession(test_bed_, twin_->pid()); }, kSeenWithin))
      return NotSeen("the second process of the same name has a session");
    facts["twin"] = twin_->pid();
    return {};
  }
  Status AssertHealed() override {
    Status healed = Frozen::AssertHealed();
    twin_->End(SIGTERM, kHealedWithin);
    return healed;
  }

 private:
  std::unique_ptr<Child> twin_;
};

// A twentieth of the time, in slices: what a container with too little CPU sees.
class Starved final : public ProcessFault {
 public:
  using ProcessFault::ProcessFault;
  ~Starved() override { EndSlicing(); }
  Status Inject() override {
    slicing_ = std::thread([this, pid = pid()] {
      while (!stop_) {
        kill(pid, SIGSTOP);
        poll(nullptr, 0, 95);
        kill(pid, SIGCONT);
        poll(nullptr, 0, 5);
        ++slices_;
      }
    });
    return {};
  }
  Status AssertInjected() override {
    bool stopped = false;
    if (!Await([&] { return (stopped |= StateOf(pid()) == 'T') && slices_ >= 5; }, kSeenWithin))
      return NotSeen(node_.name + " runs in slices");
    return {};
  }
  Status Heal() override {
    EndSlicing();
    facts["slices"] = slices_.load();
    return {};
  }

 private:
  void EndSlicing() {
    stop_ = true;
    if (slicing_.joinable()) slicing_.join();
  }
  std::atomic<bool> stop_{false};
  std::atomic<int> slices_{0};
  std::thread slicing_;
};

// Each worker in turn drains, ends and is started again, as a rolling upgrade does it; to the version to come, the coordinators after them.
class Rolled final : public Fault {
 public:
  Rolled(TestBed& test_bed, bool upgrade) : test_bed_(test_bed), upgrade_(upgrade) {}
  Status Inject() override {
    for (int n = 0; n < test_bed_.fleet->workers(); ++n) {
      if (Status rolled = Roll(test_bed_.fleet->worker(n)); !rolled) return rolled;
    }
    for (int n = 0; upgrade_ && n < test_bed_.fleet->coordinators(); ++n) {
      if (Status rolled = Roll(test_bed_.fleet->coordinator(n)); !rolled) return rolled;
    }
    return {};
  }
  Status AssertInjected() override {
    facts["drained"] = drained_;
    if (drained_ != test_bed_.fleet->workers() + (upgrade_ ? test_bed_.fleet->coordinators() : 0))
      return NotSeen("every process drained and ended with 0");
    const auto newer = [&] {
      const auto rows = Ask(test_bed_.conninfo, "SELECT count(*) FROM event_rows WHERE schema_version = 2");
      facts["events_of_the_next_version"] = rows ? std::stoll(rows->front().front()) : 0;
      return facts["events_of_the_next_version"] != 0;
    };
    return !upgrade_ || Await(newer, kSeenWithin) ? Status() : Status(NotSeen("an event of the version to come"));
  }
  Status Heal() override { return {}; }
  Status AssertHealed() override {
    return test_bed_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 private:
  Status Roll(Node& node) {
    test_bed_.fleet->EndCleanly(node);
    if (node.process->exit_code() == 0) ++drained_;
    node.upgraded = node.upgraded || upgrade_;
    if (Status started = test_bed_.fleet->StartNode(node); !started) return started;
    return Await([&] { return Fleet::Ready(node); }, kHealedWithin) ? Status() : Status(NotSeen(node.name + " is ready again"));
  }
  TestBed& test_bed_;
  const bool upgrade_;
  int drained_ = 0;
};

}  // namespace

int BusyWorker(TestBed& test_bed, std::uint64_t draw) {
  const int count = test_bed.fleet->workers();
  const auto rows = Ask(test_bed.conninfo,
                        "SELECT s.pid FROM worker_sessions s JOIN leases l USING (session_id) WHERE s.dead_at IS NULL "
                        "GROUP BY s.pid ORDER BY count(*) DESC, s.pid LIMIT 1");
  for (int n = 0; rows && !rows->empty() && n < count; ++n) {
    const auto& process = test_bed.fleet->worker(n).process;
    if (process && std::to_string(process->pid()) == rows->front().front()) return n;
  }
  return int(draw % std::uint64_t(count));
}

bool HasSession(const TestBed& test_bed, pid_t pid) {
  const auto rows = Ask(test_bed.conninfo, "SELECT count(*) FROM worker_sessions WHERE dead_at IS NULL AND pid = " + std::to_string(pid));
  return !rows || rows->front().front() != "0";
}

bool HasLeases(const TestBed& test_bed, pid_t pid) {
  const auto rows =
      Ask(test_bed.conninfo,
          "SELECT count(*) FROM leases JOIN worker_sessions USING (session_id) WHERE dead_at IS NOT NULL AND pid = " + std::to_string(pid));
  return !rows || rows->front().front() != "0";
}

Made KillWorker(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Killed>(test_bed, AWorker(test_bed, draw)); }
Made KillCoordinator(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Killed>(test_bed, ACoordinator(test_bed, draw)); }
Made FreezeWorker(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Frozen>(test_bed, AWorker(test_bed, draw)); }
Made FreezeCoordinator(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Frozen>(test_bed, ACoordinator(test_bed, draw)); }
Made FreezeAll(TestBed& test_bed, std::uint64_t) { return std::make_unique<AllFrozen>(test_bed); }
Made LateCommit(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<FrozenInCommit>(test_bed, AWorker(test_bed, draw)); }
Made Twin(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Doubled>(test_bed, AWorker(test_bed, draw)); }
Made Starve(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Starved>(test_bed, AWorker(test_bed, draw)); }
Made RollingRestart(TestBed& test_bed, std::uint64_t) { return std::make_unique<Rolled>(test_bed, false); }
Made RollingUpgrade(TestBed& test_bed, std::uint64_t) { return std::make_unique<Rolled>(test_bed, true); }

std::optional<std::string> NoNextVersion(const TestBed& test_bed) {
  const auto next = test_bed.fleet->options().programs / "acl-worker-next";
  if (!std::filesystem::exists(next)) return "needs the programs of the version to come (tests/versions)";
  return std::nullopt;
}

}  // namespace acl::chaos
