// What happens to Kafka, which may cost time and nothing else: the broker killed, topics wiped, messages nobody can read, members that come
// and go.
#include <signal.h>
#include <sys/socket.h>

#include "chaos/faults/kinds.h"
#include "chaos/load/http.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

constexpr milliseconds kControl{60'000};

Status Do(const World& world, const std::string& command) {
  auto done = RunProgram({"bash", "-c", command}, {}, world.fleet->options().folder / "kafka-control.log", kControl);
  return done ? Status() : Status(done.error());
}

// The command that a person gave for the broker, with this action in it.
std::string Control(const World& world, const std::string& action) {
  std::string command = world.kafka.control;
  const auto at = command.find("{}");
  return at == std::string::npos ? command + " " + action : command.replace(at, 2, action);
}

bool BrokerAnswers(const World& world) { return Do(world, "timeout 5 kcat -b " + world.kafka.bootstrap + " -L -m 2 -X log_level=0").ok(); }

double OfWorkers(World& world, const char* metric, const char* labels) {
  double sum = 0;
  for (int n = 0; n < world.fleet->workers(); ++n) {
    HttpAsk ask;
    ask.url = world.fleet->worker(n).Url("/metrics");
    sum += MetricOf(Http(ask).body, metric, labels);
  }
  return sum;
}

class KafkaFault : public Fault {
 public:
  explicit KafkaFault(World& world) : world_(world) {}
  Status AssertHealed() override {
    if (!Await([&] { return BrokerAnswers(world_); }, kHealedWithin)) return NotSeen("the broker answers");
    return world_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready"));
  }

 protected:
  World& world_;
};

class BrokerKilled final : public KafkaFault {
 public:
  using KafkaFault::KafkaFault;
  Status Inject() override { return Do(world_, Control(world_, "kill")); }
  Status AssertInjected() override { return BrokerAnswers(world_) ? Status(NotSeen("the broker is gone")) : Status(); }
  Status Heal() override { return Do(world_, Control(world_, "start")); }
};

class TopicsWiped final : public KafkaFault {
 public:
  using KafkaFault::KafkaFault;
  Status Inject() override { return Do(world_, Control(world_, "tool") + " topics --delete --topic '" + world_.kafka.prefix + "[.].*'"); }
  Status AssertInjected() override {
    const std::string listed =
        "timeout 10 kcat -b " + world_.kafka.bootstrap + " -L -m 5 -X log_level=0 | grep -c 'topic \"" + world_.kafka.prefix + "'";
    return Await([&] { return !Do(world_, listed).ok(); }, kSeenWithin) ? Status() : Status(NotSeen("no topic is left"));
  }
  Status Heal() override { return world_.fleet->MakeTopics(); }
};

class Poisoned final : public KafkaFault {
 public:
  explicit Poisoned(World& world) : KafkaFault(world), before_(OfWorkers(world, "acl_queue_messages_total", "outcome=\"poison\"")) {}
  Status Inject() override {
    const std::string topic = world_.kafka.prefix + ".steps.default.1";
    return Do(world_, "printf 'no message of ours\\n\\377\\376\\n{\"version\":99}\\n' | kcat -P -b " + world_.kafka.bootstrap + " -t " +
                          topic + " -X log_level=0 && head -c 900000 /dev/zero | tr '\\0' x | kcat -P -b " + world_.kafka.bootstrap +
                          " -t " + topic + " -X log_level=0");
  }
  Status AssertInjected() override {
    if (!Await([&] { return OfWorkers(world_, "acl_queue_messages_total", "outcome=\"poison\"") >= before_ + 4; }, kSeenWithin))
      return NotSeen("four poison messages put aside");
    facts["put_aside"] = 4;
    return {};
  }
  Status Heal() override { return {}; }

 private:
  const double before_;
};

// A member joins and leaves again and again: each time the partitions move.
class Rebalanced final : public KafkaFault {
 public:
  using KafkaFault::KafkaFault;
  Status Inject() override {
    for (int i = 0; i < 3 && !StopAsked(); ++i) {
      auto twin = world_.fleet->StartTwin(world_.fleet->worker(0));
      if (!twin) return twin.error();
      if (!Await([&] { return HasSession(world_, (*twin)->pid()); }, kSeenWithin)) return NotSeen("another member");
      Pause(milliseconds(500));
      if ((*twin)->End(SIGTERM, kHealedWithin) == 0) ++times_;
    }
    return {};
  }
  Status AssertInjected() override {
    facts["joined_and_left"] = times_;
    return times_ == 3 ? Status() : Status(NotSeen("three members that came and went"));
  }
  Status Heal() override { return {}; }

 private:
  int times_ = 0;
};

}  // namespace

Made KillBroker(World& world, std::uint64_t) { return std::make_unique<BrokerKilled>(world); }
Made WipeTopics(World& world, std::uint64_t) { return std::make_unique<TopicsWiped>(world); }
Made PoisonMessages(World& world, std::uint64_t) { return std::make_unique<Poisoned>(world); }
Made Rebalance(World& world, std::uint64_t) { return std::make_unique<Rebalanced>(world); }

}  // namespace acl::chaos
