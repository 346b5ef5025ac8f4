#pragma once
// What an allocation that fails means: whoever asked for it (a request, a step, a run being decided) ends with an error, and the process
// goes on with the others. The boundaries are few: HTTP handlers, connections, pools, the step runner, the worker's core, and the loops of
// threads. Inside of them an exception unwinds and gives back what was taken.

#include <chrono>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace acl {

inline constexpr std::string_view kOutOfMemory = "not enough memory for it";

// Whether this is what an error says, for which memory was wanted (carried on with its words in front or behind).
inline bool SaysOutOfMemory(std::string_view message) { return message.find(kOutOfMemory) != std::string_view::npos; }

// False if memory for `piece` could not be had: it was given up where it was.
template <class Piece>
bool WithinMemory(const Piece& piece) {
  try {
    piece();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {  // of a container asked for more than there are addresses
    return false;
  }
}

// For a few bytes of bookkeeping that nobody could do without: tried again until others have given some back. `piece` changes nothing
// before its allocations are done.
template <class Piece>
void UntilThereIsMemory(const Piece& piece) {
  while (!WithinMemory(piece)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace acl
