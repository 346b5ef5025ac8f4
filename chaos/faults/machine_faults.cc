// What happens to the machine under PostgreSQL and the workers: the power fails, the disk lies or is full, there is no memory left.
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class DatabaseFault : public Fault {
 public:
  explicit DatabaseFault(TestBed& test_bed) : test_bed_(test_bed), log_(test_bed.fleet->database().LogSize()) {}
  Status AssertHealed() override {
    if (!Await([&] { return server().Answers(); }, kHealedWithin)) return NotSeen("PostgreSQL answers again");
    if (!test_bed_.fleet->AwaitReady(kHealedWithin)) return NotSeen("every process is ready again");
    return {};
  }

 protected:
  Server& server() const { return test_bed_.fleet->database(); }
  bool Said(const char* words) const { return server().LogSince(log_).find(words) != std::string::npos; }
  TestBed& test_bed_;
  const std::size_t log_;
};

class PowerLost final : public DatabaseFault {
 public:
  using DatabaseFault::DatabaseFault;
  Status Inject() override {
    Disk& disk = *server().disk();
    if (Status cut = disk.CutPower(); !cut) return cut;
    refused_ = !disk.TakesWrites();
    server().KillAll();
    return disk.Unmount();
  }
  Status AssertInjected() override {
    if (!refused_) return NotSeen("a disk that takes nothing any more");
    return StateOf(server().pid()) == '-' ? Status() : Status(NotSeen("PostgreSQL is gone"));
  }
  Status Heal() override {
    if (Status mounted = server().disk()->Mount(); !mounted) return mounted;
    return server().Start();
  }
  Status AssertHealed() override {
    if (!server().Recovered(log_)) return NotSeen("PostgreSQL recovered from a crash");
    return DatabaseFault::AssertHealed();
  }

 private:
  bool refused_ = false;
};

// The next flush of a backend fails: PostgreSQL must not go on as if it had been written.
class FlushFails final : public DatabaseFault {
 public:
  using DatabaseFault::DatabaseFault;
  Status Inject() override {
    std::vector<std::string> argv = {"strace",
                                     "-f",
                                     "-qq",
                                     "-o",
                                     "/dev/null",
                                     "-e",
                                     "trace=fdatasync",
                                     "-e",
                                     "inject=fdatasync:error=EIO",
                                     "-p",
                                     std::to_string(server().pid())};
    for (const pid_t backend : ChildrenOf(server().pid())) argv.insert(argv.end(), {"-p", std::to_string(backend)});
    auto started = Child::Start({"strace", argv, {}, test_bed_.fleet->options().folder / "strace.log"});
    if (!started) return started.error();
    strace_ = std::move(*started);
    return {};
  }
  Status AssertInjected() override {
    if (!Await([&] { return Said("PANIC:"); }, kSeenWithin)) return NotSeen("a flush that fails, and the PANIC that it is");
    facts["panic"] = true;
    return {};
  }
  Status Heal() override {
    strace_->End(SIGTERM, kHealedWithin);
    return server().pid() > 0 && StateOf(server().pid()) != '-' && StateOf(server().pid()) != 'Z' ? Status() : server().Start();
  }
  Status AssertHealed() override {
    if (!Await([&] { return server().Recovered(log_); }, kHealedWithin)) return NotSeen("PostgreSQL recovered from a crash");
    return DatabaseFault::AssertHealed();
  }

 private:
  std::unique_ptr<Child> strace_;
};

class DiskFull final : public DatabaseFault {
 public:
  using DatabaseFault::DatabaseFault;
  ~DiskFull() override { server().disk()->Free(); }
  Status Inject() override { return server().disk()->Fill(); }
  Status AssertInjected() override {
    if (!Await([&] { return Said("No space left on device"); }, kSeenWithin)) return NotSeen("PostgreSQL finds its disk full");
    facts["panic"] = Said("PANIC:");
    return {};
  }
  Status Heal() override {
    server().disk()->Free();
    return StateOf(server().pid()) == '-' || StateOf(server().pid()) == 'Z' ? server().Start() : Status();
  }
};

// A memory cgroup of its own, with no room for what the process asks next.
class OutOfMemory final : public Fault {
 public:
  OutOfMemory(TestBed& test_bed, Node& node)
      : test_bed_(test_bed), node_(node), pid_(node.process->pid()), group_("/sys/fs/cgroup/memory/acl-chaos-" + std::to_string(pid_)) {
    facts["process"] = node.name;
    facts["pid"] = pid_;
  }
  ~OutOfMemory() override { rmdir(group_.c_str()); }
  Status Inject() override {
    std::error_code failed;
    std::filesystem::create_directory(group_, failed);
    if (failed) return Error{Code::kDenied, "a memory cgroup: " + failed.message()};
    std::ofstream(group_ / "memory.limit_in_bytes") << (256 << 10);
    std::ofstream(group_ / "cgroup.procs") << pid_;
    return {};
  }
  Status AssertInjected() override {
    test_bed_.fleet->NoteEnded(pid_);
    if (!Await([&] { return !node_.process->Running(); }, kSeenWithin) || node_.process->exit_code() != 128 + SIGKILL)
      return NotSeen(node_.name + " killed by the kernel");
    std::string word;
    int kills = 0;
    for (std::ifstream control(group_ / "memory.oom_control"); control >> word >> kills;) {
      if (word == "oom_kill" && kills > 0) return {};
    }
    return NotSeen("a kill for want of memory in the group's own count");
  }
  Status Heal() override { return test_bed_.fleet->StartNode(node_); }
  Status AssertHealed() override {
    return Await([&] { return Fleet::Ready(node_); }, kHealedWithin) ? Status() : Status(NotSeen(node_.name + " is ready again"));
  }

 private:
  TestBed& test_bed_;
  Node& node_;
  const pid_t pid_;
  const std::filesystem::path group_;
};

}  // namespace

Made PowerLoss(TestBed& test_bed, std::uint64_t) { return std::make_unique<PowerLost>(test_bed); }
Made FlushError(TestBed& test_bed, std::uint64_t) { return std::make_unique<FlushFails>(test_bed); }
Made FullDisk(TestBed& test_bed, std::uint64_t) { return std::make_unique<DiskFull>(test_bed); }
Made NoMemory(TestBed& test_bed, std::uint64_t draw) { return std::make_unique<OutOfMemory>(test_bed, AWorker(test_bed, draw)); }

std::optional<std::string> NoDisk(const TestBed& test_bed) {
  if (test_bed.fleet->database().disk() != nullptr) return std::nullopt;
  if (!test_bed.fleet->options().disk) return "needs a profile with a disk of its own";
  return Disk::UnsupportedReason().value_or("the disk could not be made");
}
std::optional<std::string> NoTracing(const TestBed&) {
  if (geteuid() != 0) return "needs root, to trace another user's process";
  if (access("/usr/bin/strace", X_OK) != 0) return "needs strace (Debian: strace)";
  return std::nullopt;
}
std::optional<std::string> NoMemoryGroup(const TestBed&) {
  if (geteuid() != 0) return "needs root, for a memory cgroup";
  if (access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) != 0) return "needs memory cgroups of version 1";
  return std::nullopt;
}

}  // namespace acl::chaos
