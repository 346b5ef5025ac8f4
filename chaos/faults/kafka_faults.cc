// What happens to Kafka, which may cost time and nothing else: the broker killed, topics wiped, messages nobody can read, members that come
// and go.
#include <signal.h>
#include <sys/socket.h>

#include <fstream>
#include <sstream>

#include "chaos/faults/kafka_fault.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class BrokerKilled final : public KafkaFault {
 public:
  using KafkaFault::KafkaFault;
  Status Inject() override { return Do(test_bed_, Control(test_bed_, "kill")); }
  Status AssertInjected() override { return BrokerAnswers(test_bed_) ? Status(NotSeen("the broker is gone")) : Status(); }
  Status Heal() override { return Do(test_bed_, Control(test_bed_, "start")); }
};

class TopicsWiped final : public KafkaFault {
 public:
  using KafkaFault::KafkaFault;
  Status Inject() override {
    return Do(test_bed_, Control(test_bed_, "tool") + " topics --delete --topic '" + test_bed_.kafka.prefix + "[.].*'");
  }
  Status AssertInjected() override {
    const std::string listed =
        "timeout 10 kcat -b " + test_bed_.kafka.bootstrap + " -L -m 5 -X log_level=0 | grep -c 'topic \"" + test_bed_.kafka.prefix + "'";
    return Await([&] { return !Do(test_bed_, listed).ok(); }, kSeenWithin) ? Status() : Status(NotSeen("no topic is left"));
  }
  Status Heal() override { return test_bed_.fleet->MakeTopics(); }
};

class Poisoned final : public KafkaFault {
 public:
  explicit Poisoned(TestBed& test_bed)
      : KafkaFault(test_bed), before_(OfWorkers(test_bed, "acl_queue_messages_total", "outcome=\"poison\"")) {}
  Status Inject() override {
    const std::string topic = test_bed_.kafka.prefix + ".steps.default.1";
    return Do(test_bed_, "printf 'no message of ours\\n\\377\\376\\n{\"version\":99}\\n' | kcat -P -b " + test_bed_.kafka.bootstrap +
                             " -t " + topic + " -X log_level=0 && head -c 900000 /dev/zero | tr '\\0' x | kcat -P -b " +
                             test_bed_.kafka.bootstrap + " -t " + topic + " -X log_level=0");
  }
  Status AssertInjected() override {
    if (!Await([&] { return OfWorkers(test_bed_, "acl_queue_messages_total", "outcome=\"poison\"") >= before_ + 4; }, kSeenWithin))
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
      auto twin = test_bed_.fleet->StartTwin(test_bed_.fleet->worker(0));
      if (!twin) return twin.error();
      if (!Await([&] { return HasSession(test_bed_, (*twin)->pid()); }, kSeenWithin)) return NotSeen("another member");
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

// Every message there is, once more, twice, in the opposite order.
class MessagesReplayed final : public KafkaFault {
 public:
  explicit MessagesReplayed(TestBed& test_bed) : KafkaFault(test_bed), before_(Dropped(test_bed)) {}
  static double Dropped(TestBed& test_bed) { return OfWorkers(test_bed, "acl_queue_messages_total", "outcome=\"dropped\""); }

  Status Inject() override {
    const std::string topic = test_bed_.kafka.prefix + ".steps.default.1", end = "@@END@@",
                      kcat = "timeout 30 kcat -X log_level=0 -b " + test_bed_.kafka.bootstrap;
    const auto file = test_bed_.fleet->options().folder / "messages";
    if (Status read = Do(test_bed_, kcat + " -C -e -q -o beginning -t " + topic + " -f '%k@@KEY@@%s" + end + "' >" + file.string()); !read)
      return read;
    std::ifstream in(file, std::ios::binary);
    std::ostringstream whole;
    whole << in.rdbuf();
    std::vector<std::string> messages;
    const std::string all = whole.str();
    for (std::size_t at = 0, to; (to = all.find(end, at)) != std::string::npos; at = to + end.size())
      messages.push_back(all.substr(at, to - at));
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    for (auto message = messages.rbegin(); message != messages.rend(); ++message) out << *message << end << *message << end;
    out.close();
    sent_ = 2 * std::int64_t(messages.size());
    facts["messages"] = sent_;
    return Do(test_bed_, kcat + " -P -t " + topic + " -K @@KEY@@ -D " + end + " <" + file.string());
  }
  Status AssertInjected() override {
    const bool seen = sent_ > 0 && Await([&] { return Dropped(test_bed_) >= before_ + double(sent_) / 2; }, kSeenWithin);
    facts["dropped"] = Dropped(test_bed_) - before_;
    return seen ? Status() : Status(NotSeen("messages of what is done already, read and dropped"));
  }
  Status Heal() override { return {}; }

 private:
  const double before_;
  std::int64_t sent_ = 0;
};

// The group stands at the beginning again: every message of all this time is read once more.
class OffsetsReset final : public KafkaFault {
 public:
  using KafkaFault::KafkaFault;
  Status Inject() override {
    if (!Await([&] { return (there_ = Messages()) >= 20; }, kSeenWithin)) return NotSeen("twenty messages to read again");
    facts["messages"] = there_;
    Fleet& fleet = *test_bed_.fleet;
    for (int n = 0; n < fleet.workers(); ++n) fleet.EndCleanly(fleet.worker(n));  // of a group with members nothing is reset
    const std::string reset = Control(test_bed_, "tool") + " groups --group " + test_bed_.kafka.prefix +
                              ".workers --reset-offsets --to-earliest --all-topics --execute";
    if (Status done = Do(test_bed_, reset); !done) return done;
    for (int n = 0; n < fleet.workers(); ++n) {
      if (Status started = fleet.StartNode(fleet.worker(n)); !started) return started;
    }
    return {};
  }
  Status AssertInjected() override {
    const auto again = [&] { return MessagesReplayed::Dropped(test_bed_); };  // of processes that are new
    const bool seen = Await([&] { return again() >= double(there_) / 2; }, kSeenWithin);
    facts["dropped"] = again();
    return seen ? Status() : Status(NotSeen("messages of what is done already, read and dropped"));
  }
  Status Heal() override { return {}; }

 private:
  // Those of the topic of ordinary steps.
  std::int64_t Messages() const {
    const std::string count = "timeout 30 kcat -X log_level=0 -b " + test_bed_.kafka.bootstrap + " -C -e -q -o beginning -t " +
                              test_bed_.kafka.prefix + ".steps.default.1 -f . | wc -c";
    const auto said = RunProgram({"bash", "-c", count}, {}, test_bed_.fleet->options().folder / "kafka-count.log", kControl);
    return said ? std::atoll(said->c_str()) : 0;
  }
  std::int64_t there_ = 0;
};

// A member that says nothing for longer than its group waits: its partitions go to others, and it comes back as a stranger.
class MemberFrozen final : public KafkaFault {
 public:
  MemberFrozen(TestBed& test_bed, Node& node) : KafkaFault(test_bed), node_(node) { facts["process"] = node.name; }
  Status Inject() override {
    if (!Await([&] { return (before_ = Members()) == test_bed_.fleet->workers(); }, kGroupWithin))
      return NotSeen("every worker in the group");
    node_.process->Signal(SIGSTOP);
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return Members() == before_ - 1; }, kGroupWithin)) return NotSeen("the group goes on without " + node_.name);
    facts["members"] = {before_, before_ - 1};
    return {};
  }
  Status Heal() override {
    node_.process->Signal(SIGCONT);
    return {};
  }
  Status AssertHealed() override {
    if (!Await([&] { return Members() == before_; }, kGroupWithin)) return NotSeen(node_.name + " is in the group again");
    return KafkaFault::AssertHealed();
  }

 private:
  static constexpr milliseconds kGroupWithin{45'000};  // the group waits for ten seconds, and each question starts a Java
  int Members() const {
    const std::string group = test_bed_.kafka.prefix + ".workers";
    const std::string count = Control(test_bed_, "tool") + " groups --describe --members --group " + group + " | grep -c '^" + group + " '";
    const auto said = RunProgram({"bash", "-c", count}, {}, test_bed_.fleet->options().folder / "kafka-members.log", kControl);
    return said ? std::atoi(said->c_str()) : 0;
  }
  Node& node_;
  int before_ = 0;
};

// What toxiproxy does to the way of every process to the broker. Seen by a question that goes the same way.
class KafkaToxic final : public KafkaFault {
 public:
  // It is asked and takes so long; nothing: it is not answered at all.
  KafkaToxic(TestBed& test_bed, std::vector<Json> toxics, std::optional<milliseconds> at_least)
      : KafkaFault(test_bed), toxics_(std::move(toxics)), at_least_(at_least) {
    facts["toxics"] = toxics_;
  }
  Status Inject() override {
    for (const Json& toxic : toxics_) {
      if (Status added = test_bed_.fleet->toxiproxy()->AddToxic("kafka", toxic); !added) return added;
    }
    return {};
  }
  Status AssertInjected() override {
    std::int64_t took_ms = 0;
    bool answered = false;
    const auto felt = [&] {
      const auto before = TestBed::Now();
      answered = BrokerAnswersAt(test_bed_, Way());
      took_ms = (TestBed::Now() - before) / 1'000'000;
      return at_least_ ? answered && took_ms >= at_least_->count() : !answered;
    };
    const bool seen = Await(felt, kSeenWithin);
    facts["a_question_took_ms"] = took_ms;
    facts["answered"] = answered;
    return seen ? Status() : Status(NotSeen("a question to the broker that is late, or not answered"));
  }
  Status Heal() override { return test_bed_.fleet->toxiproxy()->RemoveToxics("kafka"); }
  Status AssertHealed() override {
    if (!Await([&] { return BrokerAnswersAt(test_bed_, Way()); }, kHealedWithin)) return NotSeen("the broker answers over toxiproxy");
    return KafkaFault::AssertHealed();
  }

 private:
  std::string Way() const { return "127.0.0.1:" + std::to_string(test_bed_.kafka.byway_advertised); }
  const std::vector<Json> toxics_;
  const std::optional<milliseconds> at_least_;
};

}  // namespace

Made KafkaLate(TestBed& test_bed, std::uint64_t draw) {
  const int latency = 100 + int((draw >> 8) % 300);
  return std::make_unique<KafkaToxic>(
      test_bed, std::vector{MakeToxic("latency", "downstream", {{"latency", latency}, {"jitter", latency / 4}})}, milliseconds(latency));
}
Made KafkaInSlices(TestBed& test_bed, std::uint64_t) {
  return std::make_unique<KafkaToxic>(
      test_bed, std::vector{MakeToxic("slicer", "downstream", {{"average_size", 64}, {"size_variation", 32}, {"delay", 20'000}})},
      milliseconds(100));
}
Made KafkaReset(TestBed& test_bed, std::uint64_t) {
  return std::make_unique<KafkaToxic>(test_bed, std::vector{MakeToxic("reset_peer", "downstream", {{"timeout", 0}})}, std::nullopt);
}
Made KafkaSilent(TestBed& test_bed, std::uint64_t draw) {
  std::vector<Json> toxics;
  if ((draw >> 8) % 3 != 0) toxics.push_back(MakeToxic("timeout", "downstream", {{"timeout", 0}}));
  if ((draw >> 8) % 3 != 1) toxics.push_back(MakeToxic("timeout", "upstream", {{"timeout", 0}}));
  return std::make_unique<KafkaToxic>(test_bed, std::move(toxics), std::nullopt);
}

std::optional<std::string> NoToxicKafka(const TestBed& test_bed) {
  if (test_bed.fleet->toxiproxy() == nullptr || test_bed.kafka.byway_advertised == 0)
    return "needs toxiproxy and a byway to the broker: --toxiproxy PROGRAM --kafka-byway PORT:PORT (./dev chaos brings both)";
  return std::nullopt;
}

Made ReplayMessages(TestBed& test_bed, std::uint64_t) { return std::make_unique<MessagesReplayed>(test_bed); }
Made ResetOffsets(TestBed& test_bed, std::uint64_t) { return std::make_unique<OffsetsReset>(test_bed); }
Made KillBroker(TestBed& test_bed, std::uint64_t) { return std::make_unique<BrokerKilled>(test_bed); }
Made WipeTopics(TestBed& test_bed, std::uint64_t) { return std::make_unique<TopicsWiped>(test_bed); }
Made PoisonMessages(TestBed& test_bed, std::uint64_t) { return std::make_unique<Poisoned>(test_bed); }
Made FreezeMember(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<MemberFrozen>(test_bed, AWorker(test_bed, draw)); }
Made Rebalance(TestBed& test_bed, std::uint64_t) { return std::make_unique<Rebalanced>(test_bed); }

}  // namespace acl::chaos
