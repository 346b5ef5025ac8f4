// acl-worker: claims runs, runs their steps, commits what came of it. Settings: --help. Ends cleanly on SIGTERM.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "shared/base/build_info.h"
#include "shared/config/hide_secrets.h"
#include "shared/config/settings.h"
#include "shared/http/health_ask.h"
#include "shared/journal/event.h"
#include "shared/postgres/chaos_mark.h"
#include "shared/runtime/memory_reserve.h"
#include "shared/runtime/shutdown.h"
#include "shared/telemetry/log.h"
#include "worker/app.h"

// As the coordinator's (coordinator/main.cc).
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0";
}

namespace {

// A step that hangs in the system holds its thread for ever, and a thread can only be waited for. Everything that others wait for is given
// back when this begins to count.
constexpr std::chrono::seconds kLongestEnd{10};

// Every call over HTTP has a connection: as many as the system lets us have. Programs that steps run get a limit of their own.
void AllowManyFiles() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

int AskRunning(const acl::Settings& settings) {
  const acl::HealthAnswer answer = acl::AskHealth(settings.health_listen, "", std::chrono::seconds(3));
  std::printf("%s\n", answer.text.c_str());
  return answer.ready ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  acl::KeepMemoryReserve();
  auto parsed = acl::ParseSettings(acl::Program::kWorker, {argv + 1, argv + argc}, acl::Environment());
  if (!parsed) {
    std::fprintf(stderr, "acl-worker: %s\n", parsed.message().c_str());
    return 2;
  }
  if (parsed->help) {
    std::fputs(acl::HelpText(acl::Program::kWorker, "acl-worker", "Runs the steps of workflows under fenced leases.").c_str(), stdout);
    return 0;
  }
  if (parsed->version) {
    std::printf("%s\n", acl::VersionLine("acl-worker", acl::kProducerVersion).c_str());
    return 0;
  }
  acl::HideSecrets(acl::Program::kWorker, argc, argv);
  if (parsed->settings.health) return AskRunning(parsed->settings);
  acl::ShutdownSignals signals;
  acl::Logger log("worker");
  if (auto level = acl::ParseLogLevel(parsed->settings.log_level)) acl::SetLogLevel(*level);
  for (const std::string& warning : parsed->warnings) log.Warn(warning);
  if (::geteuid() == 0) {
    log.Warn(
        "running as root: so do the programs that steps start (sys.exec.run); start it as a user of its own (docs/operate/security.md)");
  }
  AllowManyFiles();
  if (acl::Status armed = acl::pg::ArmFailPoints(parsed->settings.failpoints, parsed->settings.database_url); !armed) {
    log.Error("cannot start", {{"error", armed.error()}});
    return 1;
  }
  acl::WorkerApp app(parsed->settings);
  acl::Status started = app.Start();
  if (!started) {
    log.Error("cannot start", {{"error", started.error()}});
    return 1;
  }
  signals.Wait();
  const bool drained = app.Drain();
  const acl::EndingDeadline ends(kLongestEnd, [] {
    acl::Logger("worker").Error("a step does not end: the process ends without it", {{"seconds", kLongestEnd.count()}});
    acl::FlushLog();
    ::_exit(1);
  });
  app.Stop();
  acl::FlushLog();
  return drained ? 0 : 1;
}
