#include "chaos/faults/kafka_fault.h"

#include "chaos/http/client.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

double Of(Node& node, const char* metric, const char* labels) {
  HttpAsk ask;
  ask.url = node.Url("/metrics");
  return MetricOf(Http(ask).body, metric, labels);
}

}  // namespace

Status Do(const World& world, const std::string& command) {
  auto done = RunProgram({"bash", "-c", command}, {}, world.fleet->options().folder / "kafka-control.log", kControl);
  return done ? Status() : Status(done.error());
}

std::string Control(const World& world, const std::string& action) {
  std::string command = world.kafka.control;
  const auto at = command.find("{}");
  return at == std::string::npos ? command + " " + action : command.replace(at, 2, action);
}

bool BrokerAnswersAt(const World& world, const std::string& address) {
  return Do(world, "timeout 5 kcat -b " + address + " -L -m 2 -X log_level=0").ok();
}
bool BrokerAnswers(const World& world) { return BrokerAnswersAt(world, world.kafka.bootstrap); }

double OfWorkers(World& world, const char* metric, const char* labels) {
  double sum = 0;
  for (int n = 0; n < world.fleet->workers(); ++n) sum += Of(world.fleet->worker(n), metric, labels);
  return sum;
}

double OfCoordinators(World& world, const char* metric, const char* labels) {
  double sum = 0;
  for (int n = 0; n < world.fleet->coordinators(); ++n) sum += Of(world.fleet->coordinator(n), metric, labels);
  return sum;
}

Status KafkaFault::AssertHealed() {
  if (!Await([&] { return BrokerAnswers(world_); }, kHealedWithin)) return NotSeen("the broker answers");
  return world_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready"));
}

}  // namespace acl::chaos
