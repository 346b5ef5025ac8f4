#include "worker/queue_choice.h"

#include "shared/kafka/kafka_driver.h"

namespace acl {

Result<ChosenQueue> ChooseQueue(const Settings& settings, KernelStore& store, const Clock& clock, Metrics& metrics, Tracer& tracer,
                                QueueDriver::OnWork on_work) {
  ChosenQueue chosen;
  if (settings.queue_driver != "kafka") {
    chosen.driver = std::make_unique<PostgresDriver>(store);
    return chosen;
  }
  kafka::DriverOptions options;
  options.fleet = {settings.kafka_bootstrap, settings.kafka_prefix, settings.kafka_group, settings.kafka_properties_file};
  const std::string client_id = settings.worker_name.empty() ? "acl-worker" : settings.worker_name;
  auto client = kafka::MakeClientSettings(options.fleet, client_id);
  if (!client) return client.error();
  options.client = std::move(*client);
  options.queues = settings.queues;
  // What is read here and not claimed is work that no other worker sees: no more than what could be held.
  options.max_out = std::clamp(settings.runs, 16, 256);
  options.late_after = settings.queue_late;
  options.metrics = &metrics;
  options.spans = {tracer, clock, client_id, kafka::GroupOf(options.fleet)};
  options.on_work = std::move(on_work);
  auto driver = kafka::MakeKafkaDriver(std::move(options), store, clock);
  chosen.measure = [kafka = driver.get()] { kafka->Measure(); };
  chosen.driver = std::move(driver);
  return chosen;
}

}  // namespace acl
