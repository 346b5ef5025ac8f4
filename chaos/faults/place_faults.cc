// What happens to a process exactly at one of its failpoints (shared/base/fail_point.h).
#include <signal.h>

#include <fstream>

#include "chaos/faults/kinds.h"
#include "chaos/http/client.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class AtFailPoint final : public Fault {
 public:
  AtFailPoint(TestBed& test_bed, Node& node, std::string place, std::string action, std::vector<Node*> to_die)
      : test_bed_(test_bed),
        node_(node),
        place_(std::move(place)),
        action_(std::move(action)),
        to_die_(std::move(to_die)),
        pid_(node.process->pid()) {
    facts["process"] = node.name;
    facts["pid"] = pid_;
  }

  Status Inject() override {
    // Whole before it is there under its name: a process takes it at once.
    const auto order = Order();
    std::ofstream(order.string() + ".new") << action_;
    std::filesystem::rename(order.string() + ".new", order);
    for (Node* other : to_die_) other->process->Signal(SIGSTOP);
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return std::filesystem::exists(Hit()); }, kSeenWithin)) return NotSeen(node_.name + " comes by " + place_);
    if (action_ == "kill") {
      test_bed_.fleet->NoteEnded(pid_);
      if (!Await([&] { return !node_.process->Running(); }, kSeenWithin) || node_.process->exit_code() != 128 + SIGKILL)
        return NotSeen(node_.name + " killed itself at " + place_);
    }
    if (action_ == "pause") {
      if (!Await([&] { return StateOf(pid_) == 'T'; }, kSeenWithin)) return NotSeen(node_.name + " stopped at " + place_);
      if (node_.is_worker && !Await([&] { return !HasSession(test_bed_, pid_) && !HasLeases(test_bed_, pid_); }, kSeenWithin))
        return NotSeen("the session of " + node_.name + " is dead and its leases are free");
    }
    return {};
  }
  Status Heal() override {
    std::error_code ignored;
    std::filesystem::remove(Order(), ignored);
    std::filesystem::remove(Hit(), ignored);
    for (Node* other : to_die_) other->process->Signal(SIGCONT);
    node_.process->Signal(SIGCONT);
    return node_.process->Running() ? Status() : test_bed_.fleet->StartNode(node_);
  }
  Status AssertHealed() override {
    if (!Await([&] { return Fleet::Ready(node_); }, kHealedWithin)) return NotSeen(node_.name + " is ready again");
    return {};
  }

 private:
  std::filesystem::path Order() const { return test_bed_.fleet->FailPoints(node_) / place_; }
  std::filesystem::path Hit() const { return Order().string() + ".hit"; }

  TestBed& test_bed_;
  Node& node_;
  const std::string place_, action_;
  const std::vector<Node*> to_die_;  // whose death makes the process come by
  const pid_t pid_;
};

std::vector<Node*> WorkersBeside(TestBed& test_bed, const Node& node) {
  std::vector<Node*> others;
  for (int n = 0; n < test_bed.fleet->workers(); ++n) {
    if (&test_bed.fleet->worker(n) != &node) others.push_back(&test_bed.fleet->worker(n));
  }
  return others;
}

// A commit that arrives between a takeover and the first commit of who took over: the expected head is still as it was, so that the token
// alone refuses it. Its sender is stopped with the commit on its way; everybody else is stopped too, and then stops right after a claim.
class CommitInGap final : public Fault {
 public:
  CommitInGap(TestBed& test_bed, Node& node) : test_bed_(test_bed), node_(node), others_(WorkersBeside(test_bed, node)) {
    facts["process"] = node.name;
  }
  Status Inject() override {
    before_ = Refusals();
    node_.database->ArmHold();
    if (!Await([&] { return node_.database->Holding(); }, kSeenWithin)) return NotSeen("a commit of " + node_.name + " on its way");
    for (Node* other : others_) other->process->Signal(SIGSTOP);
    node_.process->Signal(SIGSTOP);
    const pid_t pid = node_.process->pid();
    if (!Await([&] { return !HasSession(test_bed_, pid) && !HasLeases(test_bed_, pid); }, kSeenWithin))
      return NotSeen("the session of " + node_.name + " is dead and its leases are free");
    for (Node* other : others_) {
      Order(*other);
      other->process->Signal(SIGCONT);
    }
    return {};
  }
  // Who claims takes as many as there are, those of the sender among them.
  Status AssertInjected() override {
    const auto claimed = [&] {
      return std::any_of(others_.begin(), others_.end(), [](Node* other) { return StateOf(other->process->pid()) == 'T'; });
    };
    return Await(claimed, kSeenWithin) ? Status() : Status(NotSeen("another worker stopped right after its claim"));
  }
  Status Heal() override {
    node_.database->Release();
    node_.process->Signal(SIGCONT);
    const bool refused = Await([&] { return Refusals() > before_; }, kSeenWithin);
    facts["late_commits_refused"] = Refusals() - before_;
    for (Node* other : others_) {
      std::error_code ignored;
      std::filesystem::remove(PlaceOf(*other), ignored);
      std::filesystem::remove(PlaceOf(*other).string() + ".hit", ignored);
      other->process->Signal(SIGCONT);
    }
    return refused ? Status() : Status(NotSeen("the late commit of " + node_.name + " was refused"));
  }
  Status AssertHealed() override {
    return test_bed_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready again"));
  }

 private:
  std::filesystem::path PlaceOf(const Node& node) const { return test_bed_.fleet->FailPoints(node) / "claim.after_commit"; }
  void Order(const Node& node) const {
    const auto order = PlaceOf(node);
    std::ofstream(order.string() + ".new") << "pause";
    std::filesystem::rename(order.string() + ".new", order);
  }
  double Refusals() const {
    HttpAsk ask;
    ask.url = node_.Url("/metrics");
    return MetricOf(Http(ask).body, "acl_fence_refusals_total");
  }

  TestBed& test_bed_;
  Node& node_;
  const std::vector<Node*> others_;
  double before_ = 0;
};

}  // namespace

// What is new is granted as it is made: a claim finds something when a worker's leases have run out, and surely when nobody else looks.
Made AtPlace(TestBed& test_bed, std::uint64_t draw, const std::string& place, const std::string& action) {
  const auto is_of = [&](std::initializer_list<const char*> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return place.starts_with(part); });
  };
  Node& node = is_of({"reaper.", "outbox.", "create.", "command."}) ? ACoordinator(test_bed, draw) : AWorker(test_bed, draw);
  std::vector<Node*> to_die;
  if (place.starts_with("reaper.")) to_die = {&AWorker(test_bed, draw)};
  if (place == "claim.after_commit") to_die = WorkersBeside(test_bed, node);
  return std::make_unique<AtFailPoint>(test_bed, node, place, action, std::move(to_die));
}

Made LateInGap(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<CommitInGap>(test_bed, AWorker(test_bed, draw)); }

std::optional<std::string> NoFailPoints(const TestBed& test_bed) {
  if (!test_bed.fleet->options().failpoints) return "needs a fleet with armed failpoints (profile failpoints)";
  return std::nullopt;
}

}  // namespace acl::chaos
