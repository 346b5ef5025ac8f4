// acl-coordinator: the API, the doorbell and the jobs of a fleet over one PostgreSQL.
#include <cstdio>
#include <string>
#include <vector>

#include "coordinator/app.h"
#include "shared/base/build_info.h"
#include "shared/base/redact.h"
#include "shared/config/hide_secrets.h"
#include "shared/http/health_ask.h"
#include "shared/journal/event.h"
#include "shared/postgres/chaos_mark.h"
#include "shared/runtime/memory_reserve.h"
#include "shared/runtime/shutdown.h"
#include "shared/telemetry/log.h"

// Read by jemalloc when the program starts: what a burst of large requests took goes back to the system within seconds, also if nothing
// more is asked for. Without its thread it is released only while others allocate.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0";
}

namespace acl::coordinator {
namespace {

constexpr int kOk = 0, kFailed = 1, kUsage = 2;
constexpr std::chrono::seconds kLongestEnd{15};  // below TimeoutStopSec of its unit
constexpr std::chrono::milliseconds kHealthWithin{3'000};

int CreateKey(const Settings& settings) {
  auto key = CreateApiKey(settings.database_url, settings.create_api_key);
  if (!key) {
    std::fprintf(stderr, "acl-coordinator: no key was made: %s\n", RedactText(key.message()).c_str());
    return kFailed;
  }
  std::printf("%s\n", key->c_str());
  std::fprintf(stderr, "This is the only time the key is shown. Clients send: Authorization: Bearer KEY\n");
  return kOk;
}

int AskRunning(const Settings& settings) {
  const std::string host = settings.allowed_hosts.empty() ? "" : settings.allowed_hosts.front();
  const HealthAnswer answer = AskHealth(settings.listen, host, kHealthWithin);
  std::printf("%s\n", answer.text.c_str());
  return answer.ready ? kOk : kFailed;
}

int Run(const ParsedSettings& parsed, ShutdownSignals& signals) {
  const Settings& settings = parsed.settings;
  SetLogLevel(*ParseLogLevel(settings.log_level));
  const Logger log("coordinator");
  for (const auto& warning : parsed.warnings) log.Warn(warning);
  log.Info(
      "starting",
      {{"version", std::string(kProducerVersion)}, {"commit", BuildCommit()}, {"settings", ShowSettings(Program::kCoordinator, settings)}});
  if (Status armed = pg::ArmFailPoints(settings.failpoints, settings.database_url); !armed) {
    log.Error("cannot start", {{"error", armed.error()}});
    return kFailed;
  }
  App app(settings, MakePgBackend(settings));
  if (auto status = app.Start(); !status) {
    log.Error("cannot start", {{"error", status.error()}});
    std::fprintf(stderr, "acl-coordinator: %s\n", RedactText(status.message()).c_str());
    return kFailed;
  }
  const int signal = signals.Wait();
  log.Info("ending", {{"signal", signal}});
  {
    // A request that computes for long is not waited for: its client asks again, and nothing is kept here.
    const EndingDeadline deadline(kLongestEnd);
    app.Stop();
  }
  log.Info("ended");
  return kOk;
}

int Main(int argc, char** argv) {
  ShutdownSignals signals;  // before any thread
  const auto parsed = ParseSettings(Program::kCoordinator, {argv + 1, argv + argc}, Environment());
  if (!parsed) {
    std::fprintf(stderr, "acl-coordinator: %s\n", parsed.message().c_str());
    return kUsage;
  }
  if (parsed->help) {
    std::fputs(
        HelpText(Program::kCoordinator, "acl-coordinator", "The coordinator of a fleet: HTTP API, doorbell, timers, reaper.").c_str(),
        stdout);
    return kOk;
  }
  if (parsed->version) {
    std::printf("%s\n", VersionLine("acl-coordinator", kProducerVersion).c_str());
    return kOk;
  }
  HideSecrets(Program::kCoordinator, argc, argv);
  if (parsed->settings.health) return AskRunning(parsed->settings);
  if (!parsed->settings.create_api_key.empty()) return CreateKey(parsed->settings);
  return Run(*parsed, signals);
}

}  // namespace
}  // namespace acl::coordinator

int main(int argc, char** argv) {
  acl::KeepMemoryReserve();
  return acl::coordinator::Main(argc, argv);
}
