#pragma once
// Waiting, in a driver that a person may stop at any time (Ctrl-C): every wait looks whether it was asked to.

#include <chrono>
#include <functional>

namespace acl::chaos {

// SIGINT, SIGTERM and SIGHUP ask the driver to stop; it ends what it started.
void StopOnSignals();
bool StopAsked();

// A pause. False if it was cut short because the driver should stop.
bool Pause(std::chrono::milliseconds time);
// Until `done`, looking every few milliseconds. False after `limit`, or when the driver should stop.
bool Await(const std::function<bool()>& done, std::chrono::milliseconds limit);
// The same for what must be waited for even then (the end of a process).
bool AwaitUnstoppably(const std::function<bool()>& done, std::chrono::milliseconds limit);

}  // namespace acl::chaos
