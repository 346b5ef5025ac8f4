// What happens to a process exactly at one of its failpoints (shared/base/fail_point.h).
#include <signal.h>

#include <fstream>

#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class AtFailPoint final : public Fault {
 public:
  AtFailPoint(World& world, Node& node, std::string place, std::string action, Node* to_die)
      : world_(world), node_(node), place_(std::move(place)), action_(std::move(action)), to_die_(to_die), pid_(node.process->pid()) {
    facts["process"] = node.name;
    facts["pid"] = pid_;
  }

  Status Inject() override {
    // Whole before it is there under its name: a process takes it at once.
    const auto order = Order();
    std::ofstream(order.string() + ".new") << action_;
    std::filesystem::rename(order.string() + ".new", order);
    if (to_die_ != nullptr) to_die_->process->Signal(SIGSTOP);
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return std::filesystem::exists(Hit()); }, kSeenWithin)) return NotSeen(node_.name + " comes by " + place_);
    if (action_ == "kill") {
      world_.fleet->NoteEnded(pid_);
      if (!Await([&] { return !node_.process->Running(); }, kSeenWithin) || node_.process->exit_code() != 128 + SIGKILL)
        return NotSeen(node_.name + " killed itself at " + place_);
    }
    if (action_ == "pause") {
      if (!Await([&] { return StateOf(pid_) == 'T'; }, kSeenWithin)) return NotSeen(node_.name + " stopped at " + place_);
      if (node_.is_worker && !Await([&] { return !HasSession(world_, pid_) && !HasLeases(world_, pid_); }, kSeenWithin))
        return NotSeen("the session of " + node_.name + " is dead and its leases are free");
    }
    return {};
  }
  Status Heal() override {
    std::error_code ignored;
    std::filesystem::remove(Order(), ignored);
    std::filesystem::remove(Hit(), ignored);
    if (to_die_ != nullptr) to_die_->process->Signal(SIGCONT);
    node_.process->Signal(SIGCONT);
    return node_.process->Running() ? Status() : world_.fleet->StartNode(node_);
  }
  Status AssertHealed() override {
    if (!Await([&] { return Fleet::Ready(node_); }, kHealedWithin)) return NotSeen(node_.name + " is ready again");
    return {};
  }

 private:
  std::filesystem::path Order() const { return world_.fleet->FailPoints(node_) / place_; }
  std::filesystem::path Hit() const { return Order().string() + ".hit"; }

  World& world_;
  Node& node_;
  const std::string place_, action_;
  Node* to_die_;  // whose death makes the process come by
  const pid_t pid_;
};

}  // namespace

Made AtPlace(World& world, std::uint64_t draw, const std::string& place, const std::string& action) {
  const bool reaper = place.starts_with("reaper.");
  if (!reaper && !place.starts_with("outbox.")) return std::make_unique<AtFailPoint>(world, AWorker(world, draw), place, action, nullptr);
  Node& coordinator = world.fleet->coordinator(int(draw % std::uint64_t(world.fleet->coordinators())));
  return std::make_unique<AtFailPoint>(world, coordinator, place, action, reaper ? &AWorker(world, draw) : nullptr);
}

}  // namespace acl::chaos
