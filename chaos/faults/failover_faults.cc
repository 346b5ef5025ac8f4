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
  explicit Moved(TestBed& test_bed) : test_bed_(test_bed) {}
  Status AssertInjected() override {
    const auto now = NumberOf(test_bed_.conninfo, kEpoch);
    facts["epoch_before"] = epoch_;
    facts["epoch"] = now;
    if (now <= epoch_) return NotSeen("an epoch above that of before");
    return {};
  }
  Status AssertHealed() override {
    return test_bed_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 protected:
  Server& server() const { return test_bed_.fleet->database(); }
  TestBed& test_bed_;
  std::int64_t epoch_ = 0;
};

class FailedOver final : public Moved {
 public:
  FailedOver(TestBed& test_bed, bool synchronous) : Moved(test_bed), synchronous_(synchronous) {}
  Status Inject() override {
    epoch_ = NumberOf(test_bed_.conninfo, kEpoch);
    if (Status added = server().AddStandby(synchronous_); !added) return added;
    Pause(milliseconds(500));
    if (!synchronous_) {
      facts["loses_from"] = test_bed_.Now();
      if (Status alone = server().CutOffStandby(); !alone) return alone;
      const auto had = NumberOf(server().StandbyConninfo(), kEvents);
      Pause(milliseconds(1'500));
      facts["events_lost_at_least"] = NumberOf(test_bed_.conninfo, kEvents) - had;
    }
    server().KillAll();
    const Status moved = server().FailOver();
    if (!synchronous_) facts["loses_until"] = test_bed_.Now();
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
    const auto copy = test_bed_.fleet->options().folder / "postgres" / ("copy-" + std::to_string(++copies));
    epoch_ = NumberOf(test_bed_.conninfo, kEpoch);
    facts["loses_from"] = test_bed_.Now();
    if (Status copied = server().BackUp(copy); !copied) return copied;
    const auto had = NumberOf(test_bed_.conninfo, kEvents);
    Pause(milliseconds(1'500));
    facts["events_lost_about"] = NumberOf(test_bed_.conninfo, kEvents) - had;
    for (Node* node : test_bed_.fleet->nodes()) test_bed_.fleet->Kill(*node);
    server().KillAll();
    if (Status restored = server().Restore(copy); !restored) return restored;
    facts["loses_until"] = test_bed_.Now();
    return test_bed_.fleet->NewEpoch();
  }
  Status Heal() override {
    for (Node* node : test_bed_.fleet->nodes()) {
      if (Status started = test_bed_.fleet->StartNode(*node); !started) return started;
    }
    return {};
  }
};

}  // namespace

Made FailOverSync(TestBed& test_bed, std::uint64_t) { return std::make_unique<FailedOver>(test_bed, true); }
Made FailOverAsync(TestBed& test_bed, std::uint64_t) { return std::make_unique<FailedOver>(test_bed, false); }
Made RestoreBackup(TestBed& test_bed, std::uint64_t) { return std::make_unique<Restored>(test_bed); }

}  // namespace acl::chaos
