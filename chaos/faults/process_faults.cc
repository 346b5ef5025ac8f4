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
  ProcessFault(World& world, Node& node) : world_(world), node_(node) {
    facts["process"] = node.name;
    facts["pid"] = pid();
  }
  Status AssertHealed() override {
    if (!Await([&] { return Fleet::Ready(node_); }, kHealedWithin)) return NotSeen(node_.name + " is ready again");
    return {};
  }

 protected:
  pid_t pid() const { return node_.process ? node_.process->pid() : -1; }
  World& world_;
  Node& node_;
};

class Killed final : public ProcessFault {
 public:
  using ProcessFault::ProcessFault;
  Status Inject() override {
    world_.fleet->Kill(node_);
    return {};
  }
  Status AssertInjected() override {
    if (node_.process->exit_code() != 128 + SIGKILL) return NotSeen(node_.name + " ended by kill -9");
    return {};
  }
  Status Heal() override { return world_.fleet->StartNode(node_); }
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
    if (!Await([&] { return !HasSession(world_, pid()) && !HasLeases(world_, pid()); }, kSeenWithin))
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
  explicit AllFrozen(World& world) : world_(world) {}
  Status Inject() override {
    for (int n = 0; n < world_.fleet->workers(); ++n) world_.fleet->worker(n).process->Signal(SIGSTOP);
    facts["processes"] = world_.fleet->workers();
    return {};
  }
  Status AssertInjected() override {
    for (int n = 0; n < world_.fleet->workers(); ++n) {
      const pid_t pid = world_.fleet->worker(n).process->pid();
      if (!Await([&] { return StateOf(pid) == 'T' && !HasSession(world_, pid) && !HasLeases(world_, pid); }, kSeenWithin))
        return NotSeen("every worker is stopped and has lost its leases");
    }
    return {};
  }
  Status Heal() override {
    for (int n = 0; n < world_.fleet->workers(); ++n) world_.fleet->worker(n).process->Signal(SIGCONT);
    return {};
  }
  Status AssertHealed() override {
    if (!world_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every worker is ready again");
    return {};
  }

 private:
  World& world_;
};

class Doubled final : public Frozen {
 public:
  using Frozen::Frozen;
  Status Inject() override {
    auto twin = world_.fleet->StartTwin(node_);
    if (!twin) return twin.error();
    twin_ = std::move(*twin);
    return Frozen::Inject();
  }
  Status AssertInjected() override {
    if (Status frozen = Frozen::AssertInjected(); !frozen) return frozen;
    if (!Await([&] { return HasSession(world_, twin_->pid()); }, kSeenWithin))
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
  Rolled(World& world, bool upgrade) : world_(world), upgrade_(upgrade) {}
  Status Inject() override {
    for (int n = 0; n < world_.fleet->workers(); ++n) {
      if (Status rolled = Roll(world_.fleet->worker(n)); !rolled) return rolled;
    }
    for (int n = 0; upgrade_ && n < world_.fleet->coordinators(); ++n) {
      if (Status rolled = Roll(world_.fleet->coordinator(n)); !rolled) return rolled;
    }
    return {};
  }
  Status AssertInjected() override {
    facts["drained"] = drained_;
    if (drained_ != world_.fleet->workers() + (upgrade_ ? world_.fleet->coordinators() : 0))
      return NotSeen("every process drained and ended with 0");
    const auto newer = [&] {
      const auto rows = Ask(world_.conninfo, "SELECT count(*) FROM event_rows WHERE schema_version = 2");
      facts["events_of_the_next_version"] = rows ? std::stoll(rows->front().front()) : 0;
      return facts["events_of_the_next_version"] != 0;
    };
    return !upgrade_ || Await(newer, kSeenWithin) ? Status() : Status(NotSeen("an event of the version to come"));
  }
  Status Heal() override { return {}; }
  Status AssertHealed() override {
    return world_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 private:
  Status Roll(Node& node) {
    world_.fleet->EndCleanly(node);
    if (node.process->exit_code() == 0) ++drained_;
    node.upgraded = node.upgraded || upgrade_;
    if (Status started = world_.fleet->StartNode(node); !started) return started;
    return Await([&] { return Fleet::Ready(node); }, kHealedWithin) ? Status() : Status(NotSeen(node.name + " is ready again"));
  }
  World& world_;
  const bool upgrade_;
  int drained_ = 0;
};

}  // namespace

int BusyWorker(World& world, std::uint64_t draw) {
  const int count = world.fleet->workers();
  const auto rows = Ask(world.conninfo,
                        "SELECT s.pid FROM worker_sessions s JOIN leases l USING (session_id) WHERE s.dead_at IS NULL "
                        "GROUP BY s.pid ORDER BY count(*) DESC, s.pid LIMIT 1");
  for (int n = 0; rows && !rows->empty() && n < count; ++n) {
    const auto& process = world.fleet->worker(n).process;
    if (process && std::to_string(process->pid()) == rows->front().front()) return n;
  }
  return int(draw % std::uint64_t(count));
}

bool HasSession(const World& world, pid_t pid) {
  const auto rows = Ask(world.conninfo, "SELECT count(*) FROM worker_sessions WHERE dead_at IS NULL AND pid = " + std::to_string(pid));
  return !rows || rows->front().front() != "0";
}

bool HasLeases(const World& world, pid_t pid) {
  const auto rows =
      Ask(world.conninfo,
          "SELECT count(*) FROM leases JOIN worker_sessions USING (session_id) WHERE dead_at IS NOT NULL AND pid = " + std::to_string(pid));
  return !rows || rows->front().front() != "0";
}

Made KillWorker(World& world, std::uint64_t draw) { return std::make_unique<Killed>(world, AWorker(world, draw)); }
Made KillCoordinator(World& world, std::uint64_t draw) { return std::make_unique<Killed>(world, ACoordinator(world, draw)); }
Made FreezeWorker(World& world, std::uint64_t draw) { return std::make_unique<Frozen>(world, AWorker(world, draw)); }
Made FreezeCoordinator(World& world, std::uint64_t draw) { return std::make_unique<Frozen>(world, ACoordinator(world, draw)); }
Made FreezeAll(World& world, std::uint64_t) { return std::make_unique<AllFrozen>(world); }
Made LateCommit(World& world, std::uint64_t draw) { return std::make_unique<FrozenInCommit>(world, AWorker(world, draw)); }
Made Twin(World& world, std::uint64_t draw) { return std::make_unique<Doubled>(world, AWorker(world, draw)); }
Made Starve(World& world, std::uint64_t draw) { return std::make_unique<Starved>(world, AWorker(world, draw)); }
Made RollingRestart(World& world, std::uint64_t) { return std::make_unique<Rolled>(world, false); }
Made RollingUpgrade(World& world, std::uint64_t) { return std::make_unique<Rolled>(world, true); }

std::optional<std::string> NoNextVersion(const World& world) {
  const auto next = world.fleet->options().programs / "acl-worker-next";
  if (!std::filesystem::exists(next)) return "needs the programs of the version to come (tests/versions)";
  return std::nullopt;
}

}  // namespace acl::chaos
