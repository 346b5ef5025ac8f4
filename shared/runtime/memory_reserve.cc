#include "shared/runtime/memory_reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <new>
#include <thread>

namespace acl {

namespace {

constexpr std::size_t kBytes = std::size_t(32) << 20;  // more than the list of the largest value from outside

std::atomic<void*> reserve{nullptr};

void Acquire() {
  void* block = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return;
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, block)) ::munmap(block, kBytes);
}

// Called by operator new when it has failed; returning has it try again.
void OnFailure() {
  if (void* block = reserve.exchange(nullptr)) {
    ::munmap(block, kBytes);
    return;
  }
  Acquire();
  if (std::uncaught_exceptions() == 0) throw std::bad_alloc();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // something is being destroyed: others give memory back
}

}  // namespace

void KeepMemoryReserve() {
  Acquire();
  std::set_new_handler(&OnFailure);
}

}  // namespace acl
