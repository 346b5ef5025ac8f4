#include "worker/app_config.h"

#include <unistd.h>

#include <fmt/format.h>

#include <thread>

namespace acl {

namespace {

constexpr milliseconds kLongestMargin{1'000};

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

PgStoreOptions StoreOptions(const Settings& settings, std::shared_ptr<ObjectStore> objects) {
  PgStoreOptions options;
  options.conninfo = settings.database_url;
  options.application_name = "acl-worker";
  options.connections = settings.db_connections;
  options.check_database = true;
  options.objects = std::move(objects);
  options.object_prefix = settings.s3_prefix;
  options.object_bytes = settings.large_value_bytes;
  // A lock or a statement that waits longer than a part of the lease is worth less than trying again.
  options.lock_timeout = std::min(options.lock_timeout, settings.lease_ttl / 4);
  options.statement_timeout = std::min(options.statement_timeout, settings.lease_ttl);
  return options;
}

WorkerConfig MakeWorkerConfig(const Settings& settings) {
  WorkerConfig config;
  config.session.host = HostName();
  config.session.pid = int(getpid());
  config.session.worker_name =
      settings.worker_name.empty() ? fmt::format("{}-{}", config.session.host, config.session.pid) : settings.worker_name;
  config.session.queues = settings.queues;
  config.session.version = std::string(kProducerVersion);
  config.session.ttl = settings.lease_ttl;
  config.run_slots = config.session.slots = settings.runs;
  config.heartbeat_every = settings.heartbeat;
  config.trust_margin = std::min(kLongestMargin, settings.lease_ttl / 5);
  config.step_slots = settings.slots;
  config.sticky_bytes = std::size_t(settings.sticky_bytes);
  config.offload_bytes = std::size_t(settings.large_value_bytes);
  config.poll_max = settings.poll;
  config.poll_min = std::max(config.poll_min, settings.poll / 25);
  config.drain_deadline = settings.drain_deadline;
  config.drain_effects_deadline = settings.drain_effects_deadline;
  config.subject.go_on = settings.local_continuation;
  if (settings.queue_driver == "kafka") config.granted_unheard = 0;  // there a message says what is granted
  return config;
}

namespace {

std::vector<std::string> Programs(const std::vector<std::string>& named) {
  std::vector<std::string> programs;
  for (const std::string& name : named) {
    if (name == "@dev") {
      programs.insert(programs.end(), DevelopmentPrograms().begin(), DevelopmentPrograms().end());
    } else {
      programs.push_back(name);
    }
  }
  return programs;
}

}  // namespace

Status EnoughDescriptors(const Settings& settings, std::int64_t descriptors) {
  // Of the process itself (libraries, logs, health page, doorbell); of a slot whose call waits for an answer; of a program that starts.
  constexpr std::int64_t kOwn = 64, kOfASlot = 1, kOfAProgram = 12;
  const std::int64_t processors = std::max(1, int(std::thread::hardware_concurrency()));
  const std::int64_t programs = std::min<std::int64_t>(settings.slots, settings.exec_at_once > 0 ? settings.exec_at_once : 4 * processors);
  const std::int64_t wanted = kOwn + settings.db_connections + kOfASlot * settings.slots + kOfAProgram * programs;
  if (descriptors >= wanted) return {};
  return Error{Code::kInvalid, fmt::format("{} file descriptors are too few for {} slots, which want {}: allow more (ulimit -n {}, "
                                           "LimitNOFILE of the unit), or set fewer (--slots, --exec-at-once)",
                                           descriptors, settings.slots, wanted, wanted)};
}

CapabilityConfig MakeCapabilityConfig(const Settings& settings) {
  CapabilityConfig config;
  if (!settings.allowed_programs.empty()) config.exec.allowed_programs = Programs(settings.allowed_programs);
  config.exec.max_memory_bytes = settings.exec_memory_bytes;
  config.exec.at_once = settings.exec_at_once;
  config.http.allow_private_networks = settings.allow_private_networks;
  config.http.allowed_hosts = settings.http_allowed_hosts;
  config.http.ca_file = settings.http_ca_file;
  config.http.max_body_bytes = std::size_t(settings.http_max_body_bytes);
  config.ask.urls = settings.aegis_urls;
  config.ask.ca_file = settings.aegis_ca_file;
  if (!settings.readable_env.empty()) config.readable_env = settings.readable_env;
  config.max_output_bytes = std::size_t(settings.output_max_bytes);
  config.files.max_file_bytes = settings.file_max_bytes;
  config.files.max_total_bytes = settings.files_max_bytes;
  config.files.max_files = settings.files_max_count;
  return config;
}

}  // namespace acl
