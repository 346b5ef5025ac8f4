#pragma once
// This binary's operator new: it fails when it is told to, on the thread that was told.

#include <cstddef>
#include <functional>

namespace acl::test {

// Calls `work` again and again: the first time its first allocation fails, the second time its second ..., until it asks for no more than
// were let through (each of the first three thousand fails once, then every 17th). Only allocations of this thread count. Returns about how
// many there were.
int FailEachAllocation(const std::function<void()>& work);

// While it lives, one allocation of this thread fails: the first after so many. For what needs more around it than FailEachAllocation has.
class FailAllocation {
 public:
  explicit FailAllocation(int before);
  ~FailAllocation();
  FailAllocation(const FailAllocation&) = delete;
  FailAllocation& operator=(const FailAllocation&) = delete;

  static bool Failed();  // since the last one was made
  void Pause();          // nothing fails, nothing counts
  void GoOn();

 private:
  long left_ = 0;
};

// While it lives, allocations of this thread of more than so many bytes fail.
class FailLargeAllocations {
 public:
  explicit FailLargeAllocations(std::size_t above);
  ~FailLargeAllocations();
  FailLargeAllocations(const FailLargeAllocations&) = delete;
  FailLargeAllocations& operator=(const FailLargeAllocations&) = delete;
};

}  // namespace acl::test
