// airun chaos zombie: what happens to a worker that comes back from the dead.
#include <signal.h>

#include <fmt/format.h>

#include "chaos/driver/run.h"
#include "chaos/faults/kinds.h"
#include "chaos/http/client.h"
#include "chaos/process/patience.h"
#include "shared/base/uuid7.h"

namespace acl::chaos {
namespace {

class Zombie {
 public:
  explicit Zombie(const ZombieOptions& options) : options_(options) {}
  Status Run();

 private:
  void Say(const std::string& line) {
    if (options_.say) options_.say(line);
  }
  Result<std::string> Submit(const std::string& yaml);
  std::string TokenOf(const std::string& run) const;
  Status Must(bool seen, const std::string& what) {
    return seen ? Status() : Status(Error{Code::kTimeout, "not seen: " + what + "\n" + fleet_->Logs()});
  }
  double Refusals(const Node& node) const;

  const ZombieOptions& options_;
  SystemClock clock_;
  std::unique_ptr<Fleet> fleet_;
};

Result<std::string> Zombie::Submit(const std::string& yaml) {
  HttpAsk ask{"POST", fleet_->ApiUrls().front() + "/v1/workflows", DumpJson({{"workflow", yaml}}), {}, milliseconds(10'000)};
  ask.headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", NewUuid7().ToString()}};
  const HttpAnswer answer = Http(ask);
  if (!answer.ok()) return Error{Code::kUnavailable, "submit: " + std::to_string(answer.status) + answer.error + answer.body};
  return answer.json().value("id", "");
}

std::string Zombie::TokenOf(const std::string& run) const {
  const auto rows = Ask(fleet_->conninfo(), "SELECT token FROM leases WHERE subject_id = '" + run + "'");
  return rows && !rows->empty() ? rows->front().front() : "?";
}

double Zombie::Refusals(const Node& node) const {
  HttpAsk ask;
  ask.url = node.Url("/metrics");
  return MetricOf(Http(ask).body, "acl_fence_refusals_total");
}

Status Zombie::Run() {
  constexpr milliseconds kPatience{20'000};
  FleetOptions options;
  options.programs = options_.programs;
  options.folder = options_.folder;
  options.postgres = options_.postgres;
  options.workers = 1;
  options.lease_ttl = milliseconds(1'500);
  auto started = Fleet::Start(options, clock_);
  if (!started) return started.error();
  fleet_ = std::move(*started);
  Node& first = fleet_->worker(0);
  TestBed test_bed{fleet_.get(), fleet_->conninfo(), options.lease_ttl};
  Say("a fleet of one coordinator and one worker, whose lease lives 1.5 s; and a receiver outside that keeps a ledger");

  // Run A: its call to the outside is on its way and does not arrive.
  fleet_->effects_proxy().ArmHold();
  auto calling = Submit("name: calls-outside\nsteps:\n  - {name: charge, capability: net.http.post, inputs: {url: \"" +
                        fleet_->EffectsUrl() + "/{{run_id}}/charge\", body: \"10 EUR\"}, on_unknown_outcome: retry}\n");
  if (!calling) return calling.error();
  if (Status seen = Must(Await([&] { return fleet_->effects_proxy().Holding(); }, kPatience), "the call on its way"); !seen) return seen;
  const std::string old_token = TokenOf(*calling);
  Say("1. worker-0 holds run A under token " + old_token + " and calls the outside; the call is held up in the network");

  // Run B: its commit is on its way and does not arrive.
  first.database->ArmHold();
  auto committing =
      Submit("name: commits\nsteps:\n  - {name: write, capability: io.fs.write_file, inputs: {path: a.txt, content: done}}\n");
  if (!committing) return committing.error();
  if (Status seen = Must(Await([&] { return first.database->Holding(); }, kPatience), "the commit on its way"); !seen) return seen;
  Say("2. worker-0 holds run B under token " + TokenOf(*committing) + ", has done its step and commits; the commit is held up too");

  const pid_t pid = first.process->pid();
  first.process->Signal(SIGSTOP);
  Say("3. worker-0 is frozen (SIGSTOP): it sends no heartbeat");
  const bool lost = Await([&] { return !HasSession(test_bed, pid) && !HasLeases(test_bed, pid); }, kPatience);
  if (Status seen = Must(lost, "the lease ran out"); !seen) return seen;
  Say("4. its lease has run out: the coordinator has declared its session dead and raised both runs' tokens");

  auto second = fleet_->AddWorker();
  if (!second) return second.error();
  const auto completed = [&](const std::string& run) {
    const auto rows = Ask(fleet_->conninfo(), "SELECT status FROM workflows WHERE id = '" + run + "'");
    return rows && !rows->empty() && rows->front().front() == "COMPLETED";
  };
  const bool done = Await([&] { return completed(*calling) && completed(*committing); }, kPatience);
  if (Status seen = Must(done, "the second worker completed both runs"); !seen) return seen;
  if (Status seen = Must(fleet_->effects().Count(Verdict::kApplied) == 1, "the receiver applied the call of the new holder"); !seen)
    return seen;
  Say(fmt::format("5. worker-1 takes both runs over (run A under token {}), calls the outside, which applies it, and completes both",
                  TokenOf(*calling)));

  fleet_->effects_proxy().Release();
  const bool refused_outside = Await([&] { return fleet_->effects().Count(Verdict::kStale) == 1; }, kPatience);
  if (Status seen = Must(refused_outside, "the receiver refused the late call"); !seen) return seen;
  Say("6. the late call of worker-0 arrives: REFUSED by the receiver, which has seen a higher token than " + old_token);

  first.database->Release();
  first.process->Signal(SIGCONT);
  const bool refused_inside = Await([&] { return Refusals(first) > 0; }, kPatience);
  if (Status seen = Must(refused_inside, "the database refused the late commit"); !seen) return seen;
  Say("7. worker-0 is continued and its late commit arrives: REFUSED by the database; the worker counts it and drops the run");
  if (Status seen = Must(Await([&] { return Fleet::Ready(first); }, kPatience), "worker-0 has a new session"); !seen) return seen;

  const auto twice = Ask(fleet_->conninfo(), "SELECT count(*) FROM completion_rows");
  if (!twice) return twice.error();
  const int applied = fleet_->effects().Count(Verdict::kApplied);
  Say(fmt::format("8. worker-0 goes on with a session of its own. Steps completed: {} of 2. Effects applied outside: {} of 1, refused: {}",
                  twice->front().front(), applied, fleet_->effects().Count(Verdict::kStale)));
  return Must(twice->front().front() == "2" && applied == 1, "every step once, every effect once");
}

}  // namespace

Status RunZombie(const ZombieOptions& options) { return Zombie(options).Run(); }

}  // namespace acl::chaos
