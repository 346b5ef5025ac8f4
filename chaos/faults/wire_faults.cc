// What happens on the way between processes: silence, resets, slowness, and answers that are lost.
#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class WireFault : public Fault {
 public:
  WireFault(TestBed& test_bed, Node& node) : test_bed_(test_bed), node_(node), before_(node.database->counters()) {
    facts["process"] = node.name;
  }
  Status Heal() override {
    node_.database->Disarm();
    return {};
  }
  Status AssertHealed() override {
    if (!Await([&] { return Fleet::Ready(node_); }, kHealedWithin)) return NotSeen(node_.name + " is ready again");
    return {};
  }

 protected:
  Proxy& proxy() { return *node_.database; }
  TestBed& test_bed_;
  Node& node_;
  const Proxy::Counters before_;
};

// Nothing arrives (or no answers do), and nobody is told.
class Silenced final : public WireFault {
 public:
  Silenced(TestBed& test_bed, Node& node, Proxy::Silence silence) : WireFault(test_bed, node), silence_(silence) {}
  Status Inject() override {
    proxy().SetSilence(silence_);
    return {};
  }
  Status AssertInjected() override {
    const pid_t pid = node_.process->pid();
    if (!Await([&] { return proxy().counters().silenced > before_.silenced && !HasSession(test_bed_, pid); }, kSeenWithin))
      return NotSeen(node_.name + " is cut off and its session ends");
    facts["connections"] = proxy().counters().silenced - before_.silenced;
    return {};
  }

 private:
  const Proxy::Silence silence_;
};

// One commit that does not reach the server, one that is sent and nobody hears of, one whose answer is thrown away.
class CommitCut final : public WireFault {
 public:
  using WireFault::WireFault;
  Status Inject() override {
    for (const auto cut : {Proxy::Cut::kWhenAnswered, Proxy::Cut::kWhenSent, Proxy::Cut::kBeforeServer}) {
      const auto cuts = proxy().counters().cuts;
      proxy().ArmCuts(cut, 1);
      if (!Await([&] { return proxy().counters().cuts > cuts; }, kSeenWithin)) return NotSeen("a commit of " + node_.name + " to cut");
    }
    return {};
  }
  Status AssertInjected() override {
    const auto now = proxy().counters();
    facts["cut"] = now.cuts - before_.cuts;
    facts["committed_unseen"] = now.committed_unseen - before_.committed_unseen;
    if (now.committed_unseen == before_.committed_unseen) return NotSeen("a commit that went through and whose answer was lost");
    return {};
  }
};

class Reset final : public WireFault {
 public:
  using WireFault::WireFault;
  Status Inject() override {
    proxy().ResetAll();
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return proxy().counters().resets > before_.resets; }, kSeenWithin))
      return NotSeen("connections of " + node_.name + " reset");
    facts["connections"] = proxy().counters().resets - before_.resets;
    return {};
  }
};

class Slow final : public WireFault {
 public:
  Slow(TestBed& test_bed, Node& node, std::uint64_t draw)
      : WireFault(test_bed, node), delay_(10 + int(draw % 140)), piece_((draw >> 32) % 2 == 0 ? 0 : 97) {
    facts["delay_ms"] = delay_.count();
    facts["piece_bytes"] = piece_;
  }
  Status Inject() override {
    proxy().SetDelay(delay_, piece_);
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return proxy().counters().delayed_bytes > before_.delayed_bytes; }, kSeenWithin))
      return NotSeen("bytes that came late");
    return {};
  }

 private:
  const milliseconds delay_;
  const std::size_t piece_;
};

// The outside does it and says so, and nobody hears it.
class RepliesLost final : public Fault {
 public:
  explicit RepliesLost(TestBed& test_bed) : proxy_(test_bed.fleet->effects_proxy()), before_(proxy_.counters()) {}
  Status Inject() override {
    proxy_.ArmCuts(Proxy::Cut::kWhenAnswered, 3);
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return proxy_.counters().cuts > before_.cuts; }, kSeenWithin))
      return NotSeen("an answer of the effects server that was lost");
    return {};
  }
  Status Heal() override {
    proxy_.Disarm();
    facts["replies_lost"] = proxy_.counters().cuts - before_.cuts;
    return {};
  }
  Status AssertHealed() override { return {}; }

 private:
  Proxy& proxy_;
  const Proxy::Counters before_;
};

}  // namespace

Made HalfOpen(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<Silenced>(test_bed, AWorker(test_bed, draw), Proxy::Silence::kBoth);
}
Made OneWay(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<Silenced>(test_bed, AWorker(test_bed, draw), Proxy::Silence::kAnswers);
}
Made CutCommit(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<CommitCut>(test_bed, AWorker(test_bed, draw)); }
Made ResetConnections(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Reset>(test_bed, AWorker(test_bed, draw)); }
Made SlowNetwork(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Slow>(test_bed, AWorker(test_bed, draw), draw); }
Made CutCommand(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<CommitCut>(test_bed, ACoordinator(test_bed, draw)); }
Made ResetCoordinator(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<Reset>(test_bed, ACoordinator(test_bed, draw)); }
Made SilentCoordinator(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<Silenced>(test_bed, ACoordinator(test_bed, draw), Proxy::Silence::kBoth);
}
Made LostReplies(TestBed& test_bed, std::uint64_t) { return std::make_unique<RepliesLost>(test_bed); }

}  // namespace acl::chaos
