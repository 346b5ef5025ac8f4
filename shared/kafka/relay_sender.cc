#include "shared/kafka/relay_sender.h"

#include <fmt/format.h>

#include "shared/kafka/naming.h"

namespace acl::kafka {

namespace {

Producer::Options OptionsFor(ClientSettings client, bool prompt) {
  Producer::Options options;
  options.settings = std::move(client);
  if (prompt) options.linger = std::chrono::milliseconds(0);
  return options;
}

}  // namespace

RelaySender::RelaySender(FleetSettings fleet, ClientSettings client, const Clock& clock, HopSpans spans)
    : fleet_(std::move(fleet)),
      spans_(std::move(spans)),
      outage_(Logger("relay"), clock,
              {"messages cannot be sent; they are tried again, and workers look for late rows by themselves", "messages are sent again"}),
      producer_(OptionsFor(client, false)),
      prompt_(OptionsFor(std::move(client), true)),
      group_(GroupOf(fleet_), [this] { return producer_.client(); }, clock, {}) {}

Status RelaySender::Start() {
  for (Producer* one : {&producer_, &prompt_}) {
    if (Status started = one->Start(); !started) return started;
  }
  return group_.Start();
}

Status RelaySender::Send(StepMessage message, int times, bool alone, Producer::Done done) {
  Outgoing out;
  out.topic = StepTopic(fleet_.prefix, message.key.queue, message.key.priority);
  out.key = message.key.subject.ToString();
  if (times > 1) {
    out.key += fmt::format("#{}", times);
  } else {
    out.partition = group_.Known()->PartitionFor(out.topic, out.key);
  }
  auto span = spans_.BeginSend(out.topic, out.key, times, message);
  out.value = EncodeStepMessage(message);
  if (!message.traceparent.empty()) out.headers["traceparent"] = message.traceparent;
  const bool prompt = alone && producer_.waiting() == 0 && prompt_.waiting() == 0;
  return (prompt ? prompt_ : producer_).Send(out, [this, span = std::move(span), done = std::move(done)](const Status& sent) {
    if (!sent) group_.Forget();
    sent ? outage_.Worked() : outage_.Failed({{"error", sent.error()}});
    if (span) spans_.EndSend(*span, sent);
    done(sent);
  });
}

}  // namespace acl::kafka
