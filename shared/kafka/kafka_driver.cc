#include "shared/kafka/kafka_driver.h"

#include "shared/kafka/consumer.h"
#include "shared/kafka/dead_letters.h"
#include "shared/kafka/naming.h"
#include "shared/kafka/producer.h"
#include "shared/queue/message_driver.h"
#include "shared/runtime/backoff.h"
#include "shared/telemetry/names.h"
#include "shared/telemetry/outage.h"

namespace acl::kafka {
namespace {

using std::chrono::milliseconds;

class Driver final : public KafkaDriver {
 public:
  Driver(DriverOptions options, KernelStore& store, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        outage_(log_, clock, {"Kafka does not answer; work is found by looking, later", "Kafka gives messages again"}),
        producer_(ProducerOptions()),
        consumer_(ConsumerOptions(), clock),
        messages_(MessageOptions(), store, clock) {
    if (!options_.metrics) return;
    waiting_gauge_ = options_.metrics->gauge(names::kQueueWaiting);
    lag_gauge_ = options_.metrics->gauge(names::kQueueLag);
  }
  ~Driver() override { Stop(); }

  Status Start() override {
    if (Status producer = producer_.Start(); !producer) return producer;
    return consumer_.Start();
  }
  void Stop() override {
    consumer_.Stop();
    producer_.Stop();
  }
  std::string_view name() const override { return "kafka"; }
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override {
    SendLetters();
    return messages_.Claim(request);
  }
  void LookOnce() override { messages_.LookOnce(); }
  void Measure() override {
    waiting_gauge_.Set(double(messages_.waiting()));
    lag_gauge_.Set(double(consumer_.Lag()));
  }

 private:
  Producer::Options ProducerOptions() const {
    Producer::Options options;
    options.settings = options_.client;
    return options;
  }

  Consumer::Options ConsumerOptions() {
    Consumer::Options options;
    options.settings = options_.client;
    options.group = GroupOf(options_.fleet);
    options.topics = StepTopics(options_.fleet.prefix, options_.queues);
    options.max_out = options_.max_out;
    options.session_timeout = options_.session_timeout;
    options.on_message = [this](Received message) { Take(std::move(message)); };
    options.on_assign = [this](int partitions) {
      log_.Info("partitions assigned", {{"partitions", partitions}});
      outage_.Worked();
    };
    options.on_revoke = [this](int partitions) {
      // Leases are the database's: what is held stays held and gives way by the fairness bound. What was only read goes to the next owner.
      messages_.Revoke();
      {
        std::lock_guard lock(mutex_);
        out_.clear();
        letters_.clear();  // whoever has the partition next reads the message again
      }
      log_.Info("partitions taken away", {{"partitions", partitions}});
    };
    options.on_error = [this](const Error& error) { outage_.Failed({{"error", error}}); };
    return options;
  }

  MessageDriver::Options MessageOptions() {
    MessageDriver::Options options;
    options.late_after = options_.late_after;
    options.late_every = options_.late_every;
    options.metrics = options_.metrics;
    options.on_work = options_.on_work;
    options.acknowledged = [this](std::uint64_t handle) { Acknowledge(handle); };
    options.granted = [this](const Delivery& delivery, const GrantedMessage& granted) { Granted(delivery.handle, granted); };
    options.poison = [this](const Delivery& delivery, const std::string& reason) { PutAway(delivery.handle, reason); };
    return options;
  }

  void Take(Received message) {
    outage_.Worked();
    Delivery delivery;
    delivery.topic = message.topic;
    delivery.value = message.value;
    {
      std::lock_guard lock(mutex_);
      delivery.handle = ++last_handle_;
      out_.emplace(delivery.handle, std::move(message));
    }
    messages_.Offer(std::move(delivery));
  }

  void Granted(std::uint64_t handle, const GrantedMessage& granted) {
    std::lock_guard lock(mutex_);
    const auto it = out_.find(handle);
    if (it != out_.end()) options_.spans.Granted(it->second, granted);
  }

  void Acknowledge(std::uint64_t handle) {
    Received message;
    {
      std::lock_guard lock(mutex_);
      auto it = out_.find(handle);
      if (it == out_.end()) return;
      message = std::move(it->second);
      out_.erase(it);
    }
    consumer_.Done(message);
  }

  // Its offset goes once it lies in the dead letters; until then it is tried again.
  void PutAway(std::uint64_t handle, const std::string& reason) {
    {
      std::lock_guard lock(mutex_);
      auto it = out_.find(handle);
      if (it == out_.end()) return;
      log_.Warn("a message cannot be dealt with and goes to the dead letters",
                {{"topic", it->second.topic}, {"partition", it->second.partition}, {"offset", it->second.offset}, {"reason", reason}});
      letters_.emplace(handle, Letter{MakeDeadLetter(options_.fleet.prefix, it->second, reason)});
    }
    SendLetters();
  }

  // Those whose time it is. From any thread.
  void SendLetters() {
    std::vector<std::pair<std::uint64_t, Outgoing>> due;
    {
      std::lock_guard lock(mutex_);
      for (auto& [handle, letter] : letters_) {
        if (letter.on_its_way || clock_.Steady() < letter.at) continue;
        letter.on_its_way = true;
        due.emplace_back(handle, letter.content);
      }
    }
    for (const auto& [handle, content] : due) {
      const Status taken = producer_.Send(content, [this, handle = handle](const Status& sent) { LetterAnswered(handle, sent); });
      if (!taken) LetterAnswered(handle, taken);
    }
  }

  void LetterAnswered(std::uint64_t handle, const Status& sent) {
    if (sent) {
      {
        std::lock_guard lock(mutex_);
        letters_.erase(handle);
      }
      return Acknowledge(handle);
    }
    outage_.Failed({{"error", Error{sent.code(), "a dead letter: " + sent.message()}}});
    std::lock_guard lock(mutex_);
    const auto it = letters_.find(handle);
    if (it == letters_.end()) return;
    Letter& letter = it->second;
    letter.on_its_way = false;
    if (IsTooLarge(sent.error())) CutDeadLetter(letter.content);  // with the reason and the place beside it
    letter.at =
        clock_.Steady() + BackoffDelay({.initial = milliseconds(100), .max = milliseconds(10'000)}, letter.failures++, random_.Unit());
  }

  const DriverOptions options_;
  const Clock& clock_;
  SystemRandom random_;  // under the lock
  const Logger log_{"kafka"};
  // Brokers that are away say so in ever new words.
  OutageLog outage_;
  Gauge waiting_gauge_, lag_gauge_;
  std::mutex mutex_;
  std::map<std::uint64_t, Received> out_;
  struct Letter {
    Outgoing content;
    SteadyTime at{};  // not before
    bool on_its_way = false;
    int failures = 0;
  };
  std::map<std::uint64_t, Letter> letters_;  // of `out_`
  std::uint64_t last_handle_ = 0;
  Producer producer_;
  Consumer consumer_;
  MessageDriver messages_;
};

}  // namespace

std::unique_ptr<KafkaDriver> MakeKafkaDriver(DriverOptions options, KernelStore& store, const Clock& clock) {
  return std::make_unique<Driver>(std::move(options), store, clock);
}

}  // namespace acl::kafka
