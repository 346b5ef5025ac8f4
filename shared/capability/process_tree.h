#pragma once
// The processes below one of ours, seen from outside: what ends a program whose guard was stopped or killed. Reads /proc.

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace acl {

// Alive and below `root`, each parent before its children. What only waits to be collected is left out.
std::vector<pid_t> ProcessesBelow(pid_t root);

// Kills everything below `root`, round after round until nothing is left, then `root` itself, whatever is left by then. A stopped process
// dies of it too. While `root` adopts orphans (PR_SET_CHILD_SUBREAPER), nothing below it gets away by losing its parent. False: after
// `at_most` something was still there.
bool KillTree(pid_t root, std::chrono::milliseconds at_most);

// Asks the system to hand orphans of this process's descendants to it, so that a program whose guard was killed is still found. For a
// process that starts others through StartOwn alone.
void AdoptOrphans();

// Runs `start` (a fork), and notes its result as a child of ours that is no orphan until CollectOwn. The child itself must not come back.
template <class Start>
pid_t StartOwn(const Start& start);
// Waits for its end. Its status as of waitpid, -1 if there is no such child.
int CollectOwn(pid_t pid);

// After AdoptOrphans: kills and collects the orphans that came to us. The number that is still there after `at_most`.
int KillOrphans(std::chrono::milliseconds at_most);

// ---- inside
class OwnChildren {
 public:
  static void Lock();
  static void Unlock();
  static void Note(pid_t pid);  // under the lock
};

template <class Start>
pid_t StartOwn(const Start& start) {
  OwnChildren::Lock();  // whoever looks for orphans meanwhile would take the new child for one
  const pid_t pid = start();
  if (pid > 0) OwnChildren::Note(pid);
  OwnChildren::Unlock();
  return pid;
}

}  // namespace acl
