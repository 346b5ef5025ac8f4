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

Status Do(const TestBed& test_bed, const std::string& command) {
  auto done = RunProgram({"bash", "-c", command}, {}, test_bed.fleet->options().folder / "kafka-control.log", kControl);
  return done ? Status() : Status(done.error());
}

std::string Control(const TestBed& test_bed, const std::string& action) {
  std::string command = test_bed.kafka.control;
  const auto at = command.find("{}");
  return at == std::string::npos ? command + " " + action : command.replace(at, 2, action);
}

bool BrokerAnswersAt(const TestBed& test_bed, const std::string& address) {
  return Do(test_bed, "timeout 5 kcat -b " + address + " -L -m 2 -X log_level=0").ok();
}
bool BrokerAnswers(const TestBed& test_bed) { return BrokerAnswersAt(test_bed, test_bed.kafka.bootstrap); }

double OfWorkers(TestBed& test_bed, const char* metric, const char* labels) {
  double sum = 0;
  for (int n = 0; n < test_bed.fleet->workers(); ++n) sum += Of(test_bed.fleet->worker(n), metric, labels);
  return sum;
}

double OfCoordinators(TestBed& test_bed, const char* metric, const char* labels) {
  double sum = 0;
  for (int n = 0; n < test_bed.fleet->coordinators(); ++n) sum += Of(test_bed.fleet->coordinator(n), metric, labels);
  return sum;
}

Status KafkaFault::AssertHealed() {
  if (!Await([&] { return BrokerAnswers(test_bed_); }, kHealedWithin)) return NotSeen("the broker answers");
  return test_bed_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready"));
}

}  // namespace acl::chaos
