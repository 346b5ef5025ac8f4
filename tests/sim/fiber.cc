#include "tests/sim/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "shared/base/check.h"

// The sanitizers must be told of another stack.
#if defined(__has_feature)
#define ACL_HAS_FEATURE(name) __has_feature(name)
#else
#define ACL_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || ACL_HAS_FEATURE(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define ACL_FIBER_LEAVE(fake, bottom, size) __sanitizer_start_switch_fiber(fake, bottom, size)
#define ACL_FIBER_ARRIVE(fake, bottom, size) __sanitizer_finish_switch_fiber(fake, bottom, size)
#else
#define ACL_FIBER_LEAVE(fake, bottom, size) (void)0
#define ACL_FIBER_ARRIVE(fake, bottom, size) (void)0
#endif
#if defined(__SANITIZE_THREAD__) || ACL_HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define ACL_FIBER_TSAN(call) call
#else
#define ACL_FIBER_TSAN(call) (void)0
#endif

namespace acl::test {
namespace {

constexpr std::size_t kStackBytes = 1024 * 1024;  // touched as far as it is used

// Stacks are kept for the next fiber: a simulator makes thousands, a dozen at a time.
class Stacks {
 public:
  ~Stacks() {
    for (void* one : free_) munmap(one, kStackBytes);
  }
  void* Take() {
    if (!free_.empty()) {
      void* one = free_.back();
      free_.pop_back();
      return one;
    }
    void* one = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ACL_CHECK(one != MAP_FAILED, "a stack can be had");
    ACL_CHECK(mprotect(one, std::size_t(sysconf(_SC_PAGESIZE)), PROT_NONE) == 0, "the last page of a stack can be guarded");
    return one;
  }
  void ReleaseLease(void* one) { free_.push_back(one); }

 private:
  std::vector<void*> free_;
};

Stacks& OfThisThread() {
  static thread_local Stacks stacks;
  return stacks;
}

thread_local Fiber* entering = nullptr;

}  // namespace

struct Fiber::Switch {
  ucontext_t own{}, caller{};
  void* stack = nullptr;
  void *own_fake = nullptr, *caller_fake = nullptr;
  const void* caller_bottom = nullptr;
  std::size_t caller_size = 0;
  void *own_tsan = nullptr, *caller_tsan = nullptr;

  void In() {
    ACL_FIBER_TSAN(caller_tsan = __tsan_get_current_fiber());
    ACL_FIBER_LEAVE(&caller_fake, stack, kStackBytes);
    ACL_FIBER_TSAN(__tsan_switch_to_fiber(own_tsan, 0));
    swapcontext(&caller, &own);
    ACL_FIBER_ARRIVE(caller_fake, nullptr, nullptr);
  }
  void Out(bool for_good) {
    (void)for_good;
    ACL_FIBER_LEAVE(for_good ? nullptr : &own_fake, caller_bottom, caller_size);
    ACL_FIBER_TSAN(__tsan_switch_to_fiber(caller_tsan, 0));
    swapcontext(&own, &caller);
    ACL_FIBER_ARRIVE(own_fake, &caller_bottom, &caller_size);
  }
};

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), switch_(std::make_unique<Switch>()) {
  switch_->stack = OfThisThread().Take();
  getcontext(&switch_->own);
  switch_->own.uc_stack.ss_sp = switch_->stack;
  switch_->own.uc_stack.ss_size = kStackBytes;
  switch_->own.uc_link = nullptr;
  makecontext(&switch_->own, &Fiber::Enter, 0);
  ACL_FIBER_TSAN(switch_->own_tsan = __tsan_create_fiber(0));
}

Fiber::~Fiber() {
  if (begun_ && !ended_) {
    going_ = true;
    switch_->In();
    ACL_CHECK(ended_, "a fiber that goes is unwound to its end");
  }
  ACL_FIBER_TSAN(__tsan_destroy_fiber(switch_->own_tsan));
  OfThisThread().ReleaseLease(switch_->stack);
}

void Fiber::Enter() {
  Fiber* self = std::exchange(entering, nullptr);
  ACL_FIBER_ARRIVE(nullptr, &self->switch_->caller_bottom, &self->switch_->caller_size);
  self->Run();
  self->ended_ = true;
  self->switch_->Out(true);
}

void Fiber::Run() {
  try {
    body_();
  } catch (const Gone&) {
  } catch (...) {
    thrown_ = std::current_exception();
  }
  body_ = nullptr;
}

void Fiber::Resume() {
  ACL_CHECK(!ended_, "an ended fiber does not go on");
  if (!std::exchange(begun_, true)) entering = this;
  switch_->In();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::Suspend() {
  if (unwinding_) return;
  switch_->Out(false);
  if (!going_) return;
  unwinding_ = true;
  throw Gone{};
}

}  // namespace acl::test
