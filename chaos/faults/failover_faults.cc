// The database moves: to a standby that has everything, to one that has not, to a copy of yesterday. What only the lost one knew is gone,
// and the history says from when to when (history/loss.h); everything else must hold, and tokens must go on rising.
#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

std::int64_t NumberOf(const std::string& conninfo, const std::string& sql) {
  const auto rows = Ask(conninfo, sql);
  return rows ? std::stoll(rows->front().front()) : -1;
}
constexpr const char* kEpoch = "SELECT current_epoch()";
constexpr const char* kEvents = "SELECT count(*) FROM events";

class Moved : public Fault {
 public:
  explicit Moved(World& world) : world_(world) {}
  Status AssertInjected() override {
    const auto now = NumberOf(world_.conninfo, kEpoch);
    facts["epoch_before"] = epoch_;
    facts["epoch"] = now;
    if (now <= epoch_) return NotSeen("an epoch above that of before");
    return {};
  }
  Status AssertHealed() override {
    return world_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 protected:
  Server& server() const { return world_.fleet->database(); }
  World& world_;
  std::int64_t epoch_ = 0;
};

class FailedOver final : public Moved {
 public:
  FailedOver(World& world, bool synchronous) : Moved(world), synchronous_(synchronous) {}
  Status Inject() override {
    epoch_ = NumberOf(world_.conninfo, kEpoch);
    if (Status added = server().AddStandby(synchronous_); !added) return added;
    Pause(milliseconds(500));
    if (!synchronous_) {
      facts["loses_from"] = world_.Now();
      if (Status alone = server().CutOffStandby(); !alone) return alone;
      const auto had = NumberOf(server().StandbyConninfo(), kEvents);
      Pause(milliseconds(1'500));
      facts["events_lost_at_least"] = NumberOf(world_.conninfo, kEvents) - had;
    }
    server().KillAll();
    const Status moved = server().FailOver();
    if (!synchronous_) facts["loses_until"] = world_.Now();
    return moved;
  }
  Status AssertInjected() override {
    if (!synchronous_ && facts["events_lost_at_least"].get<std::int64_t>() <= 0) return NotSeen("a commit that the standby had not");
    return Moved::AssertInjected();
  }
  Status Heal() override { return {}; }

 private:
  const bool synchronous_;
};

// Everything stops, the database is put back to a copy, and the epoch is raised as docs/operate/operations.md asks for.
class Restored final : public Moved {
 public:
  using Moved::Moved;
  Status Inject() override {
    static int copies = 0;
    const auto copy = world_.fleet->options().folder / "postgres" / ("copy-" + std::to_string(++copies));
    epoch_ = NumberOf(world_.conninfo, kEpoch);
    facts["loses_from"] = world_.Now();
    if (Status copied = server().BackUp(copy); !copied) return copied;
    const auto had = NumberOf(world_.conninfo, kEvents);
    Pause(milliseconds(1'500));
    facts["events_lost_about"] = NumberOf(world_.conninfo, kEvents) - had;
    for (Node* node : world_.fleet->nodes()) world_.fleet->Kill(*node);
    server().KillAll();
    if (Status restored = server().Restore(copy); !restored) return restored;
    facts["loses_until"] = world_.Now();
    return world_.fleet->NewEpoch();
  }
  Status Heal() override {
    for (Node* node : world_.fleet->nodes()) {
      if (Status started = world_.fleet->StartNode(*node); !started) return started;
    }
    return {};
  }
};

}  // namespace

Made FailOverSync(World& world, std::uint64_t) { return std::make_unique<FailedOver>(world, true); }
Made FailOverAsync(World& world, std::uint64_t) { return std::make_unique<FailedOver>(world, false); }
Made RestoreBackup(World& world, std::uint64_t) { return std::make_unique<Restored>(world); }

}  // namespace acl::chaos
