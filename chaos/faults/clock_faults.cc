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
  ProcessClock(TestBed& test_bed, Node& node, seconds by) : test_bed_(test_bed), node_(node), by_(by) {
    facts["process"] = node.name;
    facts["by_s"] = by.count();
  }
  Status Inject() override { return test_bed_.fleet->SetClock(node_.name, by_); }
  Status AssertInjected() override {
    return Await([&] { return SaysItIs(by_); }, kSeenWithin) ? Status() : Status(NotSeen(node_.name + " writes another time into its log"));
  }
  Status Heal() override { return test_bed_.fleet->SetClock(node_.name, seconds(0)); }
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

  TestBed& test_bed_;
  Node& node_;
  const seconds by_;
  const SystemClock clock_;
};

class DatabaseClock final : public Fault {
 public:
  DatabaseClock(TestBed& test_bed, seconds by) : test_bed_(test_bed), by_(by) { facts["by_s"] = by.count(); }
  Status Inject() override { return test_bed_.fleet->SetClock("postgres", by_); }
  Status AssertInjected() override {
    if (!Await([&] { return IsAhead(by_); }, kSeenWithin)) return NotSeen("PostgreSQL has another time");
    // What was leased is due at once, or not for an hour: both for longer than a lease lives.
    Pause(test_bed_.lease_ttl + milliseconds(500));
    return {};
  }
  Status Heal() override { return test_bed_.fleet->SetClock("postgres", seconds(0)); }
  Status AssertHealed() override {
    if (!Await([&] { return IsAhead(seconds(0)); }, kHealedWithin)) return NotSeen("PostgreSQL has the right time again");
    return test_bed_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 private:
  bool IsAhead(seconds by) const {
    const auto rows = Ask(test_bed_.conninfo, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    if (!rows) return false;
    const auto off = std::stoll(rows->front().front()) - MicrosOf(clock_.Wall() + by);
    return off > -1'500'000 && off < 1'500'000;
  }
  TestBed& test_bed_;
  const seconds by_;
  const SystemClock clock_;
};

seconds AnHour(std::uint64_t draw) { return (draw >> 16) % 2 == 0 ? seconds(3'600) : seconds(-3'600); }

}  // namespace

Made WorkerClock(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<ProcessClock>(test_bed, AWorker(test_bed, draw), AnHour(draw));
}
Made CoordinatorClock(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<ProcessClock>(test_bed, test_bed.fleet->coordinator(int(draw % std::uint64_t(test_bed.fleet->coordinators()))),
                                        AnHour(draw));
}
// Further than leases live. What is written down as due meanwhile is late by as much once the clock is right again, so it is seconds.
Made DatabaseClockAhead(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<DatabaseClock>(test_bed, std::chrono::ceil<seconds>(2 * test_bed.lease_ttl) + seconds(draw % 4));
}
Made DatabaseClockBehind(TestBed& test_bed, std::uint64_t) { return std::make_unique<DatabaseClock>(test_bed, seconds(-3'600)); }

std::optional<std::string> NoClocks(const TestBed& test_bed) {
  if (!test_bed.fleet->options().clocks) return "needs a profile with clocks";
  if (Fleet::FakeTimeLibrary().empty()) return "needs libfaketime (Debian: libfaketime)";
  return std::nullopt;
}

}  // namespace acl::chaos
