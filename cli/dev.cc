// airun dev: a coordinator and workers on this machine, as children of this process. Ctrl-C stops them all.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "cli/app.h"
#include "cli/numbers.h"
#include "shared/base/clock.h"
#include "shared/postgres/migrate.h"
#include "shared/runtime/spawn.h"

namespace acl::cli {

namespace {

struct DevOptions {
  int workers = 2, port = 8733;
  std::string work_dir = "acl-work";
  bool no_migrate = false;
};

using ServerSettings = std::map<std::string, std::string>;

// The children share one process group of their own: a Ctrl-C of the terminal reaches only us, so that each child gets one signal and
// drains (a second one would stop it at once).
class ChildProcesses {
 public:
  ChildProcesses() {
    sigemptyset(&signals_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals_, signal);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~ChildProcesses() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  Status Start(const std::string& name, const std::string& program, const ServerSettings& settings) {
    SpawnOptions options;
    options.argv = {program};
    options.environment = settings;
    options.out = STDERR_FILENO;  // logs; our stdout is for data
    options.group = group_;
    options.death_signal = SIGTERM;
    options.signal_mask = &before_;
    const auto pid = Spawn(options);
    if (!pid) return pid.error();
    if (group_ == 0) group_ = *pid;
    names_[*pid] = name;
    return {};
  }

  // Waits at most this long. True: somebody asked us to stop (or a child ended: `ended` says which and how).
  bool Wait(std::chrono::milliseconds time, std::string* ended) {
    const timespec timeout{time.count() / 1000, (time.count() % 1000) * 1'000'000};
    const int signal = sigtimedwait(&signals_, nullptr, &timeout);
    Reap(ended);
    return !ended->empty() || signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  }

  // One SIGTERM to each; a second Ctrl-C passes on; after the deadline they are killed.
  void StopAll(std::chrono::milliseconds patience) {
    Signal(SIGTERM);
    const auto deadline = SystemClock().Steady() + patience;
    std::string ignored;
    while (!names_.empty()) {
      if (SystemClock().Steady() >= deadline) Signal(SIGKILL);
      ignored.clear();
      const timespec timeout{0, 100'000'000};
      const int signal = sigtimedwait(&signals_, nullptr, &timeout);
      if (signal == SIGINT || signal == SIGTERM) Signal(SIGTERM);
      Reap(&ignored);
    }
  }

 private:
  void Signal(int signal) {
    for (const auto& [pid, name] : names_) kill(pid, signal);
  }

  void Reap(std::string* ended) {
    for (auto it = names_.begin(); it != names_.end();) {
      int status = 0;
      if (waitpid(it->first, &status, WNOHANG) == it->first) {
        *ended = it->second + (WIFEXITED(status) ? " ended with exit code " + std::to_string(WEXITSTATUS(status))
                                                 : " was killed by signal " + std::to_string(WTERMSIG(status)));
        it = names_.erase(it);
      } else {
        ++it;
      }
    }
  }

  sigset_t signals_{}, before_{};
  std::map<pid_t, std::string> names_;
  pid_t group_ = 0;
};

// True once it answers; false if a child ended or somebody asked to stop first.
bool AwaitReady(Session* session, ChildProcesses* children, const std::string& server, std::string* ended) {
  auto transport = session->environment.connect(server);
  ApiRequest request;
  request.path = "/readyz";
  request.timeout = std::chrono::milliseconds(1'000);
  while (true) {
    auto reply = transport->Send(request);
    if (reply && reply->status == 200) return true;
    if (children->Wait(std::chrono::milliseconds(100), ended)) return false;
  }
}

void RunDev(Session* session, const DevOptions& options) {
  const std::string database = session->DatabaseUrl();
  if (!options.no_migrate) {
    auto migrated = pg::Migrate(database);
    if (!migrated) return session->Fail(migrated.error());
    for (const std::string& file : migrated->applied_now) session->Note("applied " + file);
  }
  const std::filesystem::path folder = std::filesystem::path(session->environment.executable).parent_path();
  const std::string api = "127.0.0.1:" + std::to_string(options.port), bell = "127.0.0.1:" + std::to_string(options.port + 1);
  const ServerSettings common = {{"ACL_DATABASE_URL", database}, {"ACL_DEV_MODE", "true"}};
  // As ./dev up has it, unless the environment says otherwise.
  const ServerSettings programs = ::getenv("ACL_ALLOWED_PROGRAMS") ? ServerSettings() : ServerSettings{{"ACL_ALLOWED_PROGRAMS", "@dev"}};
  ChildProcesses children;
  auto with = [&](ServerSettings more) {
    more.insert(common.begin(), common.end());
    return more;
  };
  Status started =
      children.Start("the coordinator", (folder / "acl-coordinator").string(), with({{"ACL_LISTEN", api}, {"ACL_DOORBELL_LISTEN", bell}}));
  std::string ended;
  const bool ready = started.ok() && AwaitReady(session, &children, "http://" + api, &ended);
  for (int n = 1; ready && started.ok() && n <= options.workers; ++n) {
    const std::string name = "dev-worker-" + std::to_string(n);
    ServerSettings own = {{"ACL_WORKER_NAME", name},
                          {"ACL_COORDINATORS", bell},
                          {"ACL_WORK_DIR", (std::filesystem::path(options.work_dir) / name).string()},
                          {"ACL_ALLOW_PRIVATE_NETWORKS", "true"}};
    own.insert(programs.begin(), programs.end());
    started = children.Start(name, (folder / "acl-worker").string(), with(std::move(own)));
  }
  if (ready && started.ok()) {
    session->Print("API          http://" + api + "   (ACL_SERVER=http://" + api + ")");
    session->Print("metrics      http://" + api + "/metrics");
    session->Print("OpenAPI      http://" + api + "/openapi.json");
    session->Print("workers      " + std::to_string(options.workers) + ", files under " + options.work_dir + "/");
    session->Print("try          airun workflow run examples/exec.yaml --wait      Ctrl-C stops everything");
    session->Flush();
    while (!children.Wait(std::chrono::seconds(1), &ended)) {
    }
  }
  if (!started.ok())
    session->Fail(started.error());
  else if (!ended.empty())
    session->Fail(kExitFailure, ended + "; stopping the rest (is port " + std::to_string(options.port) + " or the next one taken? --port)");
  else
    session->Note("stopping");
  children.StopAll(std::chrono::seconds(70));  // a drain waits for what may not be repeated
}

}  // namespace

void AddDevCommand(CLI::App* app, Session* session) {
  auto options = std::make_shared<DevOptions>();
  CLI::App* command = app->add_subcommand("dev", "a coordinator and workers on this machine, until Ctrl-C");
  command->add_option("--workers", options->workers, "how many")->check(WholeNumber(1, 64))->capture_default_str();
  command->add_option("--port", options->port, "the API's; the next one is the doorbell's")
      ->check(WholeNumber(1, 65'534))
      ->capture_default_str();
  command->add_option("--work-dir", options->work_dir, "where workers lay out files")->capture_default_str();
  command->add_flag("--no-migrate", options->no_migrate, "leave the database as it is");
  command->callback([=] { RunDev(session, *options); });
}

}  // namespace acl::cli
