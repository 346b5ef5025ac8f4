#pragma once
// A fault: what it does, how one sees that it took effect, how it is undone, how one sees that. A fault that nobody saw take effect makes
// the whole run invalid: it would prove nothing.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chaos/fleet/fleet.h"
#include "chaos/plan/schedule.h"

namespace acl::chaos {

// What faults can reach: a fleet of the driver's own, or only the database and the API of one elsewhere.
struct TestBed {
  Fleet* fleet = nullptr;
  std::string conninfo;
  milliseconds lease_ttl{10'000};
  KafkaAccess kafka;  // without a bootstrap address: the queue is PostgreSQL

  // As the history has it.
  static std::int64_t Now() { return SystemClock().Steady().time_since_epoch().count(); }
};

class Fault {
 public:
  virtual ~Fault() = default;
  virtual Status Inject() = 0;
  // Until its effect was seen; an error says what was waited for.
  virtual Status AssertInjected() = 0;
  virtual Status Heal() = 0;
  virtual Status AssertHealed() = 0;
  // What it hit and what was seen, for the report.
  Json facts = Json::object();
};

struct FaultKind {
  std::string name;    // in schedules and profiles
  std::string number;  // of the table of faults that the project works through (docs/contribute/chaos.md)
  std::string what;
  bool own_fleet;  // needs the driver's own processes and proxies; else the database is enough
  std::function<std::unique_ptr<Fault>(TestBed& test_bed, std::uint64_t draw)> make;
  bool kafka = false;  // needs a fleet whose queue is Kafka
  // What else it needs of the fleet and the machine: why it cannot be done, nothing if it can.
  std::function<std::optional<std::string>(const TestBed& test_bed)> needs = nullptr;
};

const std::vector<FaultKind>& FaultKinds();
const FaultKind* FindFaultKind(const std::string& name);
// Why this one cannot be done in this world; nothing if it can.
std::optional<std::string> UnsupportedReason(const FaultKind& kind, const TestBed& test_bed);

}  // namespace acl::chaos
