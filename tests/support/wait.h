#pragma once
// Waiting for another process: the only place where a test polls. Not a timing assertion: the limit only ends a hang, with what was seen.

#include <chrono>
#include <functional>
#include <string>

namespace acl::test {

// Asks `done` again and again until it says true; false after `limit`. The default is far above what any machine needs.
bool WaitUntil(const std::function<bool()>& done, std::chrono::milliseconds limit = std::chrono::seconds(60));
// Lets other processes run for a while: only where the point is that nothing may happen meanwhile.
void LetPass(std::chrono::milliseconds time);

}  // namespace acl::test
