// Clocks that are wrong: libfaketime, loaded into every process of the fleet and steered by a file each. The monotonic clocks stay right,
// as they do on a machine whose wall clock is set.
#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"
#include "shared/base/clock.h"

namespace acl::chaos {
namespace {

using std::chrono::seconds;

class ProcessClock final : public Fault {
 public:
  ProcessClock(World& world, Node& node, seconds by) : world_(world), node_(node), by_(by) {
    facts["process"] = node.name;
    facts["by_s"] = by.count();
  }
  Status Inject() override { return world_.fleet->SetClock(node_.name, by_); }
  Status AssertInjected() override {
    return Await([&] { return SaysItIs(by_); }, kSeenWithin) ? Status() : Status(NotSeen(node_.name + " writes another time into its log"));
  }
  Status Heal() override { return world_.fleet->SetClock(node_.name, seconds(0)); }
  Status AssertHealed() override {
    if (!Await([&] { return SaysItIs(seconds(0)); }, kHealedWithin)) return NotSeen(node_.name + " writes the right time into its log");
    return Await([&] { return Fleet::Ready(node_); }, kHealedWithin) ? Status() : Status(NotSeen(node_.name + " is ready"));
  }

 private:
  // The time in the last line of its log, which may be a minute old.
  bool SaysItIs(seconds ahead) const {
    const std::string tail = node_.process->LogTail(), mark = "\"ts\":\"";
    const auto at = tail.rfind(mark);
    if (at == std::string::npos) return false;
    const std::string minute = tail.substr(at + mark.size(), 16);
    const WallTime expected = clock_.Wall() + ahead;
    return minute == FormatWallTime(expected).substr(0, 16) || minute == FormatWallTime(expected - seconds(60)).substr(0, 16);
  }

  World& world_;
  Node& node_;
  const seconds by_;
  const SystemClock clock_;
};

class DatabaseClock final : public Fault {
 public:
  DatabaseClock(World& world, seconds by) : world_(world), by_(by) { facts["by_s"] = by.count(); }
  Status Inject() override { return world_.fleet->SetClock("postgres", by_); }
  Status AssertInjected() override {
    if (!Await([&] { return IsAhead(by_); }, kSeenWithin)) return NotSeen("PostgreSQL has another time");
    // What was leased is due at once, or not for an hour: both for longer than a lease lives.
    Pause(world_.lease_ttl + milliseconds(500));
    return {};
  }
  Status Heal() override { return world_.fleet->SetClock("postgres", seconds(0)); }
  Status AssertHealed() override {
    if (!Await([&] { return IsAhead(seconds(0)); }, kHealedWithin)) return NotSeen("PostgreSQL has the right time again");
    return world_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 private:
  bool IsAhead(seconds by) const {
    const auto rows = Ask(world_.conninfo, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    if (!rows) return false;
    const auto off = std::stoll(rows->front().front()) - MicrosOf(clock_.Wall() + by);
    return off > -1'500'000 && off < 1'500'000;
  }
  World& world_;
  const seconds by_;
  const SystemClock clock_;
};

seconds AnHour(std::uint64_t draw) { return (draw >> 16) % 2 == 0 ? seconds(3'600) : seconds(-3'600); }

}  // namespace

Made WorkerClock(World& world, std::uint64_t draw) { return std::make_unique<ProcessClock>(world, AWorker(world, draw), AnHour(draw)); }
Made CoordinatorClock(World& world, std::uint64_t draw) {
  return std::make_unique<ProcessClock>(world, world.fleet->coordinator(int(draw % std::uint64_t(world.fleet->coordinators()))),
                                        AnHour(draw));
}
// Further than leases live. What is written down as due meanwhile is late by as much once the clock is right again, so it is seconds.
Made DatabaseClockAhead(World& world, std::uint64_t draw) {
  return std::make_unique<DatabaseClock>(world, std::chrono::ceil<seconds>(2 * world.lease_ttl) + seconds(draw % 4));
}
Made DatabaseClockBehind(World& world, std::uint64_t) { return std::make_unique<DatabaseClock>(world, seconds(-3'600)); }

std::optional<std::string> NoClocks(const World& world) {
  if (!world.fleet->options().clocks) return "needs a profile with clocks";
  if (Fleet::FakeTimeLibrary().empty()) return "needs libfaketime (Debian: libfaketime)";
  return std::nullopt;
}

}  // namespace acl::chaos
