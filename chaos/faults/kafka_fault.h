#pragma once
// What the faults of Kafka have in common: how a broker is hurt and asked, and what the fleet's own counters say.

#include "chaos/faults/kinds.h"

namespace acl::chaos {

inline constexpr milliseconds kControl{60'000};  // for one command about the broker; a loaded machine starts Java slowly

// A shell command; what it says goes to kafka-control.log in the fleet's folder.
Status Do(const TestBed& test_bed, const std::string& command);
// The command that a person gave for the broker, with this action in it.
std::string Control(const TestBed& test_bed, const std::string& action);
bool BrokerAnswersAt(const TestBed& test_bed, const std::string& address);
bool BrokerAnswers(const TestBed& test_bed);
// The sum of a metric over all workers, over all coordinators.
double OfWorkers(TestBed& test_bed, const char* metric, const char* labels);
double OfCoordinators(TestBed& test_bed, const char* metric, const char* labels);

class KafkaFault : public Fault {
 public:
  explicit KafkaFault(TestBed& test_bed) : test_bed_(test_bed) {}
  Status AssertHealed() override;

 protected:
  TestBed& test_bed_;
};

}  // namespace acl::chaos
