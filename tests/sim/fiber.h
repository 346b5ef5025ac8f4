#pragma once
// A function that can stop in its middle and go on later, on the thread of whoever resumes it: how the simulator runs code that blocks
// (a coordinator's turns) in virtual time, many at once, in an order of its own choosing. Each has a stack; one thread only.

#include <exception>
#include <functional>
#include <memory>

namespace acl::test {

class Fiber {
 public:
  // What Suspend throws in a fiber that goes before its function ended: the process it belongs to is dead, its stack is unwound.
  struct Gone {};

  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs until it suspends or ends. Not from inside a fiber. What the function throws comes out here.
  void Resume();
  bool ended() const { return ended_; }
  // From inside: back to whoever resumed it. While it is being unwound (a destructor that would block) it returns at once.
  void Suspend();

 private:
  struct Switch;
  static void Enter();
  void Run();

  std::function<void()> body_;
  std::unique_ptr<Switch> switch_;
  std::exception_ptr thrown_;
  bool begun_ = false, ended_ = false, going_ = false, unwinding_ = false;
};

}  // namespace acl::test
