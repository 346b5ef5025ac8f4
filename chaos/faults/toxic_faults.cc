// What toxiproxy does to one worker's way to PostgreSQL, or to everybody's way to the object store.
#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class Toxic : public Fault {
 public:
  Toxic(TestBed& test_bed, Node& node, std::vector<Json> toxics) : test_bed_(test_bed), node_(node), toxics_(std::move(toxics)) {
    facts["process"] = node.name;
    facts["toxics"] = toxics_;
  }
  Status Inject() override {
    for (const Json& toxic : toxics_) {
      if (Status added = test_bed_.fleet->toxiproxy()->AddToxic(node_.name, toxic); !added) return added;
    }
    return {};
  }
  Status Heal() override { return test_bed_.fleet->toxiproxy()->RemoveToxics(node_.name); }
  Status AssertHealed() override {
    return Await([&] { return Fleet::Ready(node_); }, kHealedWithin) ? Status() : Status(NotSeen(node_.name + " is ready again"));
  }

 protected:
  TestBed& test_bed_;
  Node& node_;
  const std::vector<Json> toxics_;
};

// Slow: a question that goes the worker's way takes at least so long.
class ToxicDelay final : public Toxic {
 public:
  ToxicDelay(TestBed& test_bed, Node& node, Json toxic, milliseconds at_least)
      : Toxic(test_bed, node, {std::move(toxic)}), at_least_(at_least) {}
  Status AssertInjected() override {
    const std::string way = test_bed_.fleet->database().Conninfo(node_.database->port());
    std::int64_t took_ms = 0;
    const auto slow = [&] {
      const auto before = TestBed::Now();
      const auto rows = Ask(way, "SELECT repeat('x', 20000)", milliseconds(15'000));
      took_ms = (TestBed::Now() - before) / 1'000'000;
      return rows && took_ms >= at_least_.count();
    };
    const bool seen = Await(slow, kSeenWithin);
    facts["a_question_took_ms"] = took_ms;
    return seen ? Status() : Status(NotSeen("a question that takes " + std::to_string(at_least_.count()) + " ms"));
  }

 private:
  const milliseconds at_least_;
};

// Nothing comes through: the worker loses its session.
class ToxicSilence final : public Toxic {
 public:
  using Toxic::Toxic;
  Status AssertInjected() override {
    const pid_t pid = node_.process->pid();
    return Await([&] { return !HasSession(test_bed_, pid); }, kSeenWithin) ? Status()
                                                                           : Status(NotSeen("the session of " + node_.name + " ends"));
  }
};

// Every connection is reset as soon as it says something.
class ToxicReset final : public Toxic {
 public:
  using Toxic::Toxic;
  Status AssertInjected() override {
    const std::string way = test_bed_.fleet->database().Conninfo(node_.database->port());
    if (!Await([&] { return !Ask(way, "SELECT 1"); }, kSeenWithin)) return NotSeen("a connection that is reset");
    const pid_t pid = node_.process->pid();
    return Await([&] { return !HasSession(test_bed_, pid); }, kSeenWithin) ? Status()
                                                                           : Status(NotSeen("the session of " + node_.name + " ends"));
  }
};

}  // namespace

Made ToxicLatency(TestBed& test_bed, std::uint64_t draw) {
  const int latency = 50 + int((draw >> 8) % 150);
  return std::make_unique<ToxicDelay>(test_bed, AWorker(test_bed, draw),
                                      MakeToxic("latency", "downstream", {{"latency", latency}, {"jitter", latency / 4}}),
                                      milliseconds(2 * latency));
}
Made ToxicSlicer(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<ToxicDelay>(test_bed, AWorker(test_bed, draw),
                                      MakeToxic("slicer", "downstream", {{"average_size", 64}, {"size_variation", 32}, {"delay", 300}}),
                                      milliseconds(60));
}
Made ToxicResetPeer(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<ToxicReset>(test_bed, AWorker(test_bed, draw),
                                      std::vector{MakeToxic("reset_peer", "downstream", {{"timeout", 0}})});
}
Made ToxicHalfOpen(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<ToxicSilence>(
      test_bed, AWorker(test_bed, draw),
      std::vector{MakeToxic("timeout", "downstream", {{"timeout", 0}}), MakeToxic("timeout", "upstream", {{"timeout", 0}})});
}
Made ToxicOneWay(TestBed& test_bed, std::uint64_t draw) {
  const char* stream = (draw >> 8) % 2 == 0 ? "downstream" : "upstream";
  return std::make_unique<ToxicSilence>(test_bed, AWorker(test_bed, draw), std::vector{MakeToxic("timeout", stream, {{"timeout", 0}})});
}

std::optional<std::string> NoToxiproxy(const TestBed& test_bed) {
  if (test_bed.fleet->toxiproxy() == nullptr)
    return "needs toxiproxy: --toxiproxy PROGRAM (./dev chaos brings it), and a profile that uses it";
  return std::nullopt;
}

}  // namespace acl::chaos
