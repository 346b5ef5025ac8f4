// What happens to a Kafka cluster of several brokers, and may cost time and nothing else: leaders that move, replicas that are too few or
// lost, a cluster without a majority, partitions that are added. What became of leaders and replicas is asked of the brokers themselves.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>

#include "chaos/faults/kafka_fault.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

constexpr milliseconds kMoved{30'000}, kCaughtUp{60'000};
// A message is given up by the relay after 30 s.
constexpr milliseconds kGivenUp{60'000};

struct Partition {
  int leader = -1;
  std::vector<int> replicas;
  std::set<int> in_sync;
};
using Partitions = std::map<std::pair<std::string, int>, Partition>;  // of the fleet, by topic and number

class ClusterFault : public KafkaFault {
 public:
  explicit ClusterFault(TestBed& test_bed) : KafkaFault(test_bed) {
    std::string addresses = test_bed.kafka.bootstrap + ",";
    for (std::size_t at = 0, to; (to = addresses.find(',', at)) != std::string::npos; at = to + 1)
      addresses_.push_back(addresses.substr(at, to - at));
  }
  Status AssertHealed() override {
    if (Status well = KafkaFault::AssertHealed(); !well) return well;
    const auto whole = [](const Partition& one) { return one.leader >= 0 && one.in_sync.size() == one.replicas.size(); };
    if (!AllAre(whole, kCaughtUp)) return NotSeen("every replica of every partition in sync");
    const double sent = Relayed("sent") + Relayed("again");
    return Await([&] { return Relayed("sent") + Relayed("again") > sent; }, kHealedWithin) ? Status()
                                                                                           : Status(NotSeen("messages that are sent"));
  }

 protected:
  int brokers() const { return int(addresses_.size()); }
  std::string StepsTopic() const { return test_bed_.kafka.prefix + ".steps.default.1"; }
  double Relayed(const char* outcome) {
    return OfCoordinators(test_bed_, "acl_relay_messages_total", fmt::format("outcome=\"{}\"", outcome).c_str());
  }
  Status Broker(const char* action, int node, const std::string& more = "") const {
    return Do(test_bed_, Control(test_bed_, action) + fmt::format(" {} {}", node, more));
  }
  Status Tool(const std::string& words) const { return Do(test_bed_, Control(test_bed_, "tool") + " " + words); }

  // As the first broker has it that answers; empty: none does.
  Partitions Ask() const {
    Partitions all;
    for (const std::string& address : addresses_) {
      const auto said = RunProgram({"timeout", "5", "kcat", "-b", address, "-L", "-J", "-m", "2", "-X", "log_level=0"}, {},
                                   test_bed_.fleet->options().folder / "kafka-metadata.log", kControl);
      const auto json = said ? ParseJson(*said) : Result<Json>(said.error());
      if (!json || !json->contains("topics")) continue;
      for (const Json& topic : (*json)["topics"]) {
        const std::string name = topic.value("topic", "");
        if (!name.starts_with(test_bed_.kafka.prefix + ".")) continue;
        for (const Json& one : topic["partitions"]) {
          Partition& partition = all[{name, one.value("partition", -1)}];
          partition.leader = one.value("leader", -1);
          for (const Json& replica : one["replicas"]) partition.replicas.push_back(replica.value("id", -1));
          for (const Json& replica : one["isrs"]) partition.in_sync.insert(replica.value("id", -1));
        }
      }
      break;
    }
    return all;
  }
  bool AllAre(const std::function<bool(const Partition&)>& so, milliseconds within) const {
    const auto all_are = [&] {
      const Partitions all = Ask();
      return !all.empty() && std::all_of(all.begin(), all.end(), [&](const auto& one) { return so(one.second); });
    };
    return Await(all_are, within);
  }
  // Who leads most partitions of ordinary steps; -1: nobody was seen to.
  int BusyLeader() const {
    std::map<int, int> led;
    const auto asked = [&] {
      led.clear();
      for (const auto& [key, partition] : Ask()) {
        if (key.first == StepsTopic() && partition.leader >= 0) ++led[partition.leader];
      }
      return !led.empty();
    };
    if (!Await(asked, kSeenWithin)) return -1;
    return std::max_element(led.begin(), led.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
  }
  // Seen by the brokers that are left: nobody is led by this one or waits for it any more. And the fleet's messages go to others.
  Status AssertMovedFrom(int node) {
    const auto moved = [&](const Partition& one) { return one.leader >= 0 && one.leader != node && !one.in_sync.contains(node); };
    if (!AllAre(moved, kMoved)) return NotSeen(fmt::format("every partition led by others than broker {}", node));
    const double sent = Relayed("sent") + Relayed("again");
    if (!Await([&] { return Relayed("sent") + Relayed("again") > sent; }, kGivenUp)) return NotSeen("messages sent to the new leaders");
    return {};
  }
  // What became of a message that must be on every replica in sync, told by kcat; empty: it arrived.
  std::string Probe(int partition, milliseconds limit) const {
    const std::string command = fmt::format(
        "echo probe | timeout 60 kcat -P -b {} -t {} -p {} -X log_level=0 -X acks=all -X retries=0 -X message.timeout.ms={} 2>&1 || true",
        test_bed_.kafka.bootstrap, StepsTopic(), partition, limit.count());
    const auto said = RunProgram({"bash", "-c", command}, {}, test_bed_.fleet->options().folder / "kafka-probe.log", kControl);
    return said ? *said : said.error().message;
  }
  static int By(std::uint64_t draw, int count) { return int((draw >> 8) % std::uint64_t(count)); }

 private:
  std::vector<std::string> addresses_;
};

// The broker that leads most of the fleet's partitions is killed, or frozen until the others have gone on without it: then it comes back
// and still believes that it leads. Or it comes back without what it had of the fleet's topics, and gets it from the others.
class LeaderGone final : public ClusterFault {
 public:
  enum class How { kKilled, kFrozen, kWiped };
  LeaderGone(TestBed& test_bed, How how) : ClusterFault(test_bed), how_(how) {}
  Status Inject() override {
    if ((node_ = BusyLeader()) < 0) return NotSeen("a broker that leads");
    facts["broker"] = node_;
    return Broker(how_ == How::kFrozen ? "freeze" : "kill", node_);
  }
  Status AssertInjected() override {
    if (Status moved = AssertMovedFrom(node_); !moved) return moved;
    return how_ == How::kWiped ? Broker("wipe", node_, test_bed_.kafka.prefix) : Status();
  }
  Status Heal() override {
    if (node_ < 0) return {};
    return Broker(how_ == How::kFrozen ? "thaw" : "start", node_);
  }

 private:
  const How how_;
  int node_ = -1;
};

// Every partition of ordinary steps is given to its next replica, as one does before a broker is taken down, and released.
class LeadersMoved final : public ClusterFault {
 public:
  using ClusterFault::ClusterFault;
  Status Inject() override {
    before_ = Steps();
    if (before_.empty()) return NotSeen("the topic of ordinary steps");
    facts["partitions"] = before_.size();
    Partitions after = before_;
    for (auto& [key, partition] : after) {
      auto& order = partition.replicas;
      const auto leader = std::find(order.begin(), order.end(), partition.leader);
      if (leader != order.end()) std::rotate(order.begin(), leader + 1 == order.end() ? order.begin() : leader + 1, order.end());
    }
    return Elect(after);
  }
  Status AssertInjected() override {
    const auto moved = [&] {
      const Partitions now = Steps();
      return now.size() == before_.size() && std::all_of(now.begin(), now.end(), [&](const auto& one) {
               return one.second.leader >= 0 && one.second.leader != before_.at(one.first).leader;
             });
    };
    return Await(moved, kMoved) ? Status() : Status(NotSeen("every partition led by another"));
  }
  Status Heal() override { return before_.empty() ? Status() : Elect(before_); }
  Status AssertHealed() override {
    const auto back = [&] {
      const Partitions now = Steps();
      return !now.empty() &&
             std::all_of(now.begin(), now.end(), [](const auto& one) { return one.second.leader == one.second.replicas.front(); });
    };
    return Await(back, kMoved) ? ClusterFault::AssertHealed() : Status(NotSeen("every partition led by its first replica again"));
  }

 private:
  Partitions Steps() const {
    Partitions steps = Ask();
    std::erase_if(steps, [&](const auto& one) { return one.first.first != StepsTopic(); });
    return steps;
  }
  // The first of the replicas is the one that is to lead.
  Status Elect(const Partitions& orders) const {
    Json plan = {{"version", 1}, {"partitions", Json::array()}};
    for (const auto& [key, partition] : orders)
      plan["partitions"].push_back({{"topic", key.first}, {"partition", key.second}, {"replicas", partition.replicas}});
    const std::string file = (test_bed_.fleet->options().folder / "leaders.json").string();
    std::ofstream(file) << plan.dump() << "\n";
    if (Status done = Tool("reassign --reassignment-json-file " + file + " --execute"); !done) return done;
    return Tool("elect --election-type preferred --all-topic-partitions");
  }
  Partitions before_;
};

// One broker is gone and every replica is wanted: who leads refuses what it cannot copy often enough, and the relay gives up.
class TooFewReplicas final : public ClusterFault {
 public:
  TooFewReplicas(TestBed& test_bed, std::uint64_t draw) : ClusterFault(test_bed), node_(1 + By(draw, brokers())) {
    facts["broker"] = node_;
  }
  Status Inject() override {
    failed_ = Relayed("failed");
    if (Status wanted = Want(brokers()); !wanted) return wanted;
    return Broker("kill", node_);
  }
  Status AssertInjected() override {
    if (!AllAre([&](const Partition& one) { return one.leader >= 0 && !one.in_sync.contains(node_); }, kMoved))
      return NotSeen("a replica less in sync");
    std::string said;
    const auto refused = [&] { return (said = Probe(0, milliseconds(5'000))).find("Not enough in-sync replicas") != std::string::npos; };
    if (!Await(refused, kMoved)) return NotSeen("a message refused because the replicas are too few: " + said);
    facts["probe"] = "Not enough in-sync replicas";
    if (!Await([&] { return Relayed("failed") > failed_; }, kGivenUp)) return NotSeen("messages that the relay gives up");
    facts["given_up"] = Relayed("failed") - failed_;
    return {};
  }
  Status Heal() override {
    const Status started = Broker("start", node_), wanted = Want(brokers() - 1);
    return started ? wanted : started;
  }

 private:
  Status Want(int in_sync) const {
    return Tool(
        fmt::format("configs --alter --entity-type topics --entity-name {} --add-config min.insync.replicas={}", StepsTopic(), in_sync));
  }
  const int node_;
  double failed_ = 0;
};

// Two of three are killed or frozen: no majority, so nobody else becomes leader, and what the third one leads waits for replicas in vain.
class MajorityGone final : public ClusterFault {
 public:
  MajorityGone(TestBed& test_bed, std::uint64_t draw) : ClusterFault(test_bed), frozen_((draw >> 8) % 2 == 0) {
    facts["how"] = frozen_ ? "frozen" : "killed";
  }
  Status Inject() override {
    failed_ = Relayed("failed");
    if ((alive_ = BusyLeader()) < 0) return NotSeen("a broker that leads");
    facts["left"] = alive_;
    for (const auto& [key, partition] : Ask()) {
      if (key.first == StepsTopic() && partition.leader == alive_) led_ = key.second;
    }
    if (led_ < 0) return NotSeen("a partition that it leads");
    return Others(frozen_ ? "freeze" : "kill");
  }
  Status AssertInjected() override {
    const std::string said = Probe(led_, milliseconds(8'000));  // its leader lives
    const auto failed = said.find("Delivery failed");
    if (failed == std::string::npos) return NotSeen("a message that is not taken: " + said);
    facts["probe"] = said.substr(failed, said.find('\n', failed) - failed);
    if (!Await([&] { return Relayed("failed") > failed_; }, kGivenUp)) return NotSeen("messages that the relay gives up");
    facts["given_up"] = Relayed("failed") - failed_;
    return {};
  }
  Status Heal() override { return alive_ < 0 ? Status() : Others(frozen_ ? "thaw" : "start"); }

 private:
  // Started at the same time: a broker is up when the cluster has a majority that knows it.
  Status Others(const char* action) const {
    if (std::string_view(action) == "start") return Do(test_bed_, Control(test_bed_, "start"));
    for (int node = 1; node <= brokers(); ++node) {
      if (node == alive_) continue;
      if (Status done = Broker(action, node); !done) return done;
    }
    return {};
  }
  const bool frozen_;
  int alive_ = -1, led_ = -1;
  double failed_ = 0;
};

// The topic of ordinary steps gets three more partitions while it is used: the relay sends there and a worker reads there.
class MorePartitions final : public ClusterFault {
 public:
  using ClusterFault::ClusterFault;
  Status Inject() override {
    before_ = Count();
    facts["partitions"] = {before_, before_ + kMore};
    if (before_ == 0) return NotSeen("the topic of ordinary steps");
    return Tool(fmt::format("topics --alter --topic {} --partitions {}", StepsTopic(), before_ + kMore));
  }
  // The group has read messages of one of them, and committed that it did.
  Status AssertInjected() override {
    if (!Await([&] { return Count() == before_ + kMore; }, kSeenWithin)) return NotSeen("three partitions more");
    const std::string group = test_bed_.kafka.prefix + ".workers";
    const std::string read = Control(test_bed_, "tool") + " groups --describe --group " + group + " | awk '$2 == \"" + StepsTopic() +
                             "\" && $3 >= " + std::to_string(before_) + " && $4 ~ /^[0-9]+$/ && $4 > 0 { n++ } END { exit n < 1 }'";
    return Await([&] { return Do(test_bed_, read).ok(); }, kMoved) ? Status() : Status(NotSeen("messages read from the new partitions"));
  }
  Status Heal() override { return {}; }

 private:
  static constexpr int kMore = 3;
  int Count() const {
    int count = 0;
    for (const auto& [key, partition] : Ask()) count += key.first == StepsTopic() && partition.leader >= 0;
    return count;
  }
  int before_ = 0;
};

}  // namespace

Made KillLeader(TestBed& test_bed, std::uint64_t) { return std::make_unique<LeaderGone>(test_bed, LeaderGone::How::kKilled); }
Made FreezeLeader(TestBed& test_bed, std::uint64_t) { return std::make_unique<LeaderGone>(test_bed, LeaderGone::How::kFrozen); }
Made WipeReplica(TestBed& test_bed, std::uint64_t) { return std::make_unique<LeaderGone>(test_bed, LeaderGone::How::kWiped); }
Made MoveLeaders(TestBed& test_bed, std::uint64_t) { return std::make_unique<LeadersMoved>(test_bed); }
Made FewReplicas(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<TooFewReplicas>(test_bed, draw); }
Made NoMajority(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<MajorityGone>(test_bed, draw); }
Made AddPartitions(TestBed& test_bed, std::uint64_t) { return std::make_unique<MorePartitions>(test_bed); }

std::optional<std::string> NoCluster(const TestBed& test_bed) {
  if (test_bed.kafka.brokers() < 3) return "needs three brokers that can be killed one by one (./dev chaos --profile brokers brings them)";
  return std::nullopt;
}

}  // namespace acl::chaos
