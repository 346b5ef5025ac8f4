// A run that kills the worker that runs it, beside runs that do no harm: it is judged, they go on (docs/architecture.md#suspicion).
#include <signal.h>

#include <fmt/format.h>

#include "chaos/faults/kinds.h"
#include "chaos/http/client.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

constexpr int kSleepers = 10;
// Twice free, in two groups that shrink, five times alone, and some while the fleet was still in trouble.
constexpr int kMostDeaths = 20;
constexpr milliseconds kJudgedWithin{180'000};

class KillerRun final : public Fault {
 public:
  KillerRun(TestBed& test_bed, std::uint64_t draw) : test_bed_(test_bed), draw_(draw) {}

  Status Inject() override {
    for (int n = 0; n < kSleepers; ++n) {
      auto id = Submit(fmt::format("sleeper-{}", n), "  - {name: nap, capability: test.sleep, inputs: {seconds: 3}}\n");
      if (!id) return id.error();
      sleepers_.push_back(*id);
    }
    auto id =
        Submit("killer",
               "  - {name: kills, capability: sys.exec.run, on_unknown_outcome: retry, inputs: {command: sh, args: ['-c', 'set -- $(cat "
               "/proc/$PPID/stat); kill -9 $4; sleep 60']}}\n");
    if (!id) return id.error();
    killer_ = *id;
    facts["killer"] = killer_;
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return KeepUp() > 0; }, kSeenWithin)) return NotSeen("a worker died of the killer");
    return {};
  }
  // Nothing is undone: the fleet finds it by itself, while its workers are started again as they die.
  Status Heal() override {
    const bool judged = Await(
        [&] {
          KeepUp();
          return StatusOf(killer_) == "FAILED" || StatusOf(killer_) == "ROLLED_BACK";
        },
        kJudgedWithin);
    facts["deaths"] = deaths_;
    if (!judged) return NotSeen(fmt::format("the killer is judged ({} after {} deaths)", StatusOf(killer_), deaths_));
    if (deaths_ > kMostDeaths) return Error{Code::kInternal, fmt::format("{} workers died before the killer was judged", deaths_)};
    return {};
  }
  Status AssertHealed() override {
    const auto all_completed = [&] {
      KeepUp();
      return std::all_of(sleepers_.begin(), sleepers_.end(), [&](const std::string& id) { return StatusOf(id) == "COMPLETED"; });
    };
    if (!Await(all_completed, kJudgedWithin)) return NotSeen("whoever did no harm completes");
    const auto quarantined = Ask(test_bed_.conninfo, "SELECT count(*) FROM quarantine");
    if (!quarantined) return quarantined.error();
    if (quarantined->front().front() != "0") return Error{Code::kInternal, quarantined->front().front() + " runs are quarantined"};
    if (!test_bed_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every process is ready again");
    return {};
  }

 private:
  Result<std::string> Submit(const std::string& name, const std::string& steps) {
    HttpAsk ask{
        "POST", test_bed_.fleet->ApiUrls().front() + "/v1/workflows", "", {{"Content-Type", "application/json"}}, milliseconds(3'000)};
    ask.headers["Idempotency-Key"] = fmt::format("chaos-killer-{}-{}", draw_, name);
    ask.body = DumpJson({{"workflow", "name: " + name + "\nsteps:\n" + steps}});
    std::string id;
    const bool made = Await(
        [&] {
          const HttpAnswer answer = Http(ask);
          if (answer.ok()) id = answer.json().value("id", "");
          return !id.empty();
        },
        kSeenWithin);
    if (!made) return NotSeen(name + " is submitted");
    return id;
  }
  std::string StatusOf(const std::string& id) {
    const auto rows = Ask(test_bed_.conninfo, "SELECT status FROM workflows WHERE id = '" + id + "'");
    return rows && !rows->empty() ? rows->front().front() : "";
  }
  // Workers that ended are started again; how many did since the beginning.
  int KeepUp() {
    for (int n = 0; n < test_bed_.fleet->workers(); ++n) {
      Node& node = test_bed_.fleet->worker(n);
      if (!node.process || node.process->Running()) continue;
      ++deaths_;
      test_bed_.fleet->NoteEnded(node.process->pid());
      (void)test_bed_.fleet->StartNode(node).ok();
    }
    return deaths_;
  }

  TestBed& test_bed_;
  const std::uint64_t draw_;
  std::string killer_;
  std::vector<std::string> sleepers_;
  int deaths_ = 0;
};

}  // namespace

Made KillerAmongSleepers(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<KillerRun>(test_bed, draw); }

}  // namespace acl::chaos
