#include "tests/support/memory_broker.h"

namespace acl::test {

class MemoryBroker::Consumer final : public QueueDriver {
 public:
  Consumer(MemoryBroker& broker, std::vector<std::string> queues, KernelStore& store, const Clock& clock, QueueDriver::OnWork on_work,
           std::size_t max_out, milliseconds late_after, milliseconds late_every)
      : broker_(broker), queues_(std::move(queues)), max_out_(max_out) {
    MessageDriver::Options options;
    options.late_after = late_after;
    options.late_every = late_every;
    options.on_work = std::move(on_work);
    options.acknowledged = [this](std::uint64_t handle) { out_.erase(handle); };
    options.poison = [this](const Delivery& delivery, const std::string&) {
      ++broker_.poisoned_;
      out_.erase(delivery.handle);
    };
    driver_ = std::make_unique<MessageDriver>(std::move(options), store, clock);
  }
  ~Consumer() override { Stop(); }

  Status Start() override {
    broker_.consumers_.push_back(this);
    joined_ = true;
    return {};
  }
  void Stop() override {
    if (!std::exchange(joined_, false)) return;
    std::erase(broker_.consumers_, this);
    driver_->Revoke();
    for (auto& [handle, message] : out_) broker_.waiting_.push_back(std::move(message));
    out_.clear();
  }
  std::string_view name() const override { return "memory"; }
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override { return driver_->Claim(request); }

  MessageDriver::Counts TakeCounts() {
    const MessageDriver::Counts now = driver_->counts(), before = std::exchange(told_, now);
    MessageDriver::Counts since;
    since.claimed = now.claimed - before.claimed;
    since.dropped = now.dropped - before.dropped;
    since.late = now.late - before.late;
    return since;
  }
  bool Takes(const std::string& queue) const {
    return out_.size() < max_out_ && std::find(queues_.begin(), queues_.end(), queue) != queues_.end();
  }
  void Take(Message message) {
    const std::uint64_t handle = ++last_handle_;
    std::string value = message.value;
    out_.emplace(handle, std::move(message));
    driver_->Offer({handle, "", std::move(value)});
  }

 private:
  MemoryBroker& broker_;
  const std::vector<std::string> queues_;
  const std::size_t max_out_;
  bool joined_ = false;
  std::map<std::uint64_t, Message> out_;
  std::uint64_t last_handle_ = 0;
  MessageDriver::Counts told_;
  std::unique_ptr<MessageDriver> driver_;
};

std::unique_ptr<QueueDriver> MemoryBroker::MakeDriver(std::vector<std::string> queues, KernelStore& store, const Clock& clock,
                                                      QueueDriver::OnWork on_work, std::size_t max_out, milliseconds late_after,
                                                      milliseconds late_every) {
  return std::make_unique<Consumer>(*this, std::move(queues), store, clock, std::move(on_work), max_out, late_after, late_every);
}

MessageDriver::Counts MemoryBroker::CountsOf(QueueDriver& driver) const { return static_cast<Consumer&>(driver).TakeCounts(); }

void MemoryBroker::Deliver() {
  std::deque<Message> later;
  while (!waiting_.empty()) {
    Message message = std::move(waiting_.front());
    waiting_.pop_front();
    Consumer* taker = nullptr;
    for (std::size_t n = 0; n < consumers_.size() && !taker; ++n) {
      Consumer* next = consumers_[(turn_ + n) % consumers_.size()];
      if (next->Takes(message.queue)) taker = next;
    }
    ++turn_;
    if (taker) {
      taker->Take(std::move(message));
    } else {
      later.push_back(std::move(message));
    }
  }
  waiting_ = std::move(later);
}

}  // namespace acl::test
