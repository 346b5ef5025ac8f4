#include "tests/allocation/fail_allocation.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace {

constexpr long kNever = -1;
constexpr std::size_t kAnySize = std::size_t(-1);

thread_local long let_through = kNever;       // so many more, then one fails
thread_local bool failed = false;             // it has
thread_local std::size_t largest = kAnySize;  // larger ones fail

// Asked for by the destructor of a JSON value: a program keeps a reserve for it (shared/runtime/memory_reserve.h), so the next one fails.
bool InDestructor() {
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  for (int i = 0; i < count; ++i) {
    Dl_info found;
    if (::dladdr(frames[i], &found) != 0 && found.dli_sname != nullptr && std::strstr(found.dli_sname, "json_value7destroy") != nullptr)
      return true;
  }
  return false;
}

bool Fails(std::size_t size) {
  if (size > largest) return true;
  if (let_through == kNever || let_through > 0) {
    if (let_through > 0) --let_through;
    return false;
  }
  if (InDestructor()) return false;
  let_through = kNever;
  failed = true;
  return true;
}

void* Allocate(std::size_t size, std::size_t alignment) {
  if (Fails(size)) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* AllocateOrThrow(std::size_t size, std::size_t alignment = 1) {
  if (void* memory = Allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) { return AllocateOrThrow(size); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return AllocateOrThrow(size); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) { return AllocateOrThrow(size, std::size_t(alignment)); }
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, std::size_t(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1); }
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace acl::test {

FailAllocation::FailAllocation(int before) : left_(before) {
  failed = false;
  GoOn();
}
FailAllocation::~FailAllocation() { let_through = kNever; }
bool FailAllocation::Failed() { return failed; }
void FailAllocation::Pause() { left_ = std::exchange(let_through, kNever); }
void FailAllocation::GoOn() {
  if (!failed) let_through = left_;
}

int FailEachAllocation(const std::function<void()>& work) {
  constexpr int kEach = 3'000, kFastPath = 17;
  for (int before = 0;; before += before < kEach ? 1 : kFastPath) {
    failed = false;
    let_through = before;
    work();
    let_through = kNever;
    if (!failed) return before;
  }
}

FailLargeAllocations::FailLargeAllocations(std::size_t above) { largest = above; }
FailLargeAllocations::~FailLargeAllocations() { largest = kAnySize; }

}  // namespace acl::test
