#include "shared/capability/process_tree.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace acl {

namespace {

using std::chrono::steady_clock;

constexpr int kQuietRounds = 3;  // a process may pass from one list to another while they are read
constexpr int kDeepest = 1'000;

struct Own {
  std::mutex mutex;
  std::set<pid_t> pids;
};
Own& TheOwn() {
  static Own own;
  return own;
}
std::atomic<bool> adopts{false};

bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const auto name_ends = line.rfind(')');  // a name may hold anything
  const char state = name_ends != std::string::npos && name_ends + 2 < line.size() ? line[name_ends + 2] : 'X';
  return state != 'Z' && state != 'X';
}

// Of all its threads: each has the children that it started.
std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  DIR* list = ::opendir(tasks.c_str());
  if (!list) return children;
  while (const dirent* entry = ::readdir(list)) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream file(tasks + "/" + entry->d_name + "/children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  ::closedir(list);
  return children;
}

void AddBelow(pid_t root, int depth, std::vector<pid_t>& out) {
  for (pid_t child : ChildrenOf(root)) {
    if (!IsAlive(child)) continue;  // and has no children any more
    out.push_back(child);
    if (depth < kDeepest) AddBelow(child, depth + 1, out);
  }
}

// Calls `kill_round` until it has found nothing a few times. It says how many it found.
template <class KillRound>
int UntilNone(std::chrono::milliseconds at_most, const KillRound& kill_round) {
  const auto end = steady_clock::now() + at_most;
  int found = 0;
  for (int quiet = 0; quiet < kQuietRounds;) {
    found = kill_round();
    quiet = found == 0 ? quiet + 1 : 0;
    if (found > 0 && steady_clock::now() >= end) return found;
    if (found > 0) std::this_thread::yield();  // no pause: what forks and exits in turn is met only by who is quick
  }
  return 0;
}

}  // namespace

std::vector<pid_t> ProcessesBelow(pid_t root) {
  std::vector<pid_t> below;
  AddBelow(root, 0, below);
  return below;
}

bool KillTree(pid_t root, std::chrono::milliseconds at_most) {
  const int left = UntilNone(at_most, [&] {
    const std::vector<pid_t> below = ProcessesBelow(root);
    std::for_each(below.rbegin(), below.rend(), [](pid_t pid) { ::kill(pid, SIGKILL); });
    return int(below.size());
  });
  ::kill(root, SIGKILL);
  return left == 0;
}

void AdoptOrphans() { adopts = ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

void OwnChildren::Lock() { TheOwn().mutex.lock(); }
void OwnChildren::Unlock() { TheOwn().mutex.unlock(); }
void OwnChildren::Note(pid_t pid) { TheOwn().pids.insert(pid); }

int CollectOwn(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  // Its number is free once it is collected, and noted anew by whoever starts a process then.
  std::lock_guard lock(TheOwn().mutex);
  TheOwn().pids.erase(pid);
  int status = -1;
  return ::waitpid(pid, &status, WNOHANG) == pid ? status : -1;
}

int KillOrphans(std::chrono::milliseconds at_most) {
  if (!adopts) return 0;
  return UntilNone(at_most, [] {
    std::lock_guard lock(TheOwn().mutex);
    int found = 0;
    for (pid_t child : ChildrenOf(::getpid())) {
      if (TheOwn().pids.contains(child)) continue;
      for (pid_t below : ProcessesBelow(child)) ::kill(below, SIGKILL);
      ::kill(child, SIGKILL);
      if (::waitpid(child, nullptr, WNOHANG) == 0) ++found;
    }
    return found;
  });
}

}  // namespace acl
