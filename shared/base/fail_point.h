#pragma once
// Named places at which a chaos run may stop a process, or cut it off, exactly there. Always compiled in; a place costs one relaxed load
// until the process is armed, and that happens only on a fleet that is marked for it (shared/postgres/chaos_mark.h).
//
//   FailPoint("claim.before");                          kill, pause, hold
//   if (FailPoint("commit.before")) connection.Cut();   reset: the caller cuts its own connection
//
// An order is a file FOLDER/PLACE with one word: kill (SIGKILL), pause (SIGSTOP), hold (waits for the file PLACE.go) or reset. The first to
// come by takes it by renaming it to PLACE.hit, so that one order hits once, and whoever gave it sees that it did.

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace acl {

namespace fail_point {
inline std::atomic<bool> armed{false};
bool Hit(const char* place);
// From now on orders are looked for in this folder. Not twice.
void Arm(const std::string& folder);
// Every place there is, and which actions make sense there; a test holds this list to the code.
struct Place {
  std::string_view name;
  bool reset;  // it has a connection of its own to cut
};
const std::vector<Place>& Places();
}  // namespace fail_point

// True: the order is reset.
inline bool FailPoint(const char* place) { return fail_point::armed.load(std::memory_order_relaxed) && fail_point::Hit(place); }

}  // namespace acl
