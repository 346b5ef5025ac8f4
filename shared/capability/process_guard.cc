#include "shared/capability/process_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace acl {

namespace {

void Limit(int what, std::int64_t value) {
  if (value <= 0) return;
  rlimit limit{rlim_t(value), rlim_t(value)};
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(what), &now) == 0 && now.rlim_max < limit.rlim_max)
    limit.rlim_cur = limit.rlim_max = now.rlim_max;
  ::setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

void Report(int status, GuardReport::Kind kind, int value) {
  GuardReport report{kind, value};
  while (::write(status, &report, sizeof report) < 0 && errno == EINTR) {
  }
}

void DefaultSignals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) ::sigaction(number, &plain, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void RunProgram(const GuardPlan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  DefaultSignals();
  bool ready = ::fchdir(plan.folder) == 0 && ::dup2(plan.input, 0) == 0 && ::dup2(plan.out, 1) == 1 && ::dup2(plan.err, 2) == 2;
  // The status pipe stays open until exec has worked; close-on-exec closes it then, with everything else.
  ready = ready && ::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0;
  if (ready) {
    ::umask(022);
    rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    Limit(RLIMIT_FSIZE, plan.max_file_bytes);
    Limit(RLIMIT_AS, plan.max_memory_bytes);
    Limit(RLIMIT_NPROC, plan.max_processes);
    Limit(RLIMIT_NOFILE, plan.max_open_files);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::execve(plan.program, plan.argv, plan.envp);
  }
  Report(plan.status, GuardReport::kStartFailed, errno);
  ::_exit(127);
}

// Whether the program has ended; it is left to be collected. Orphans that have are collected: they would fill the machine's table of
// processes while the program runs on.
bool HasEnded(pid_t program) {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    if (info.si_pid == program) return true;
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

// "/proc/<pid>/task/<pid>/children", without the heap.
void ChildrenPath(pid_t pid, char* out) {
  const auto text = [&out](const char* part) {
    while (*part) *out++ = *part++;
  };
  const auto number = [&out, pid] {
    char digits[16];
    int count = 0;
    for (long rest = pid; rest > 0; rest /= 10) digits[count++] = char('0' + rest % 10);
    while (count > 0) *out++ = digits[--count];
  };
  text("/proc/");
  number();
  text("/task/");
  number();
  text("/children");
  *out = 0;
}

// Kills what is below the guard now, the youngest first, and adds up whom. Orphans become the guard's children as their parents die.
void KillChildren(const char* list_path, int depth, unsigned long& sum) {
  const int list = ::open(list_path, O_RDONLY | O_CLOEXEC);
  if (list < 0) return;
  const auto kill_one = [depth, &sum](long pid) {
    if (pid <= 1) return;
    char path[64];
    ChildrenPath(pid_t(pid), path);
    if (depth > 0) KillChildren(path, depth - 1, sum);
    ::kill(pid_t(pid), SIGKILL);
    sum = sum * 31 + static_cast<unsigned long>(pid);
  };
  char buffer[1024];
  long pid = 0;
  for (;;) {
    ssize_t n = ::read(list, buffer, sizeof buffer);
    if (n <= 0) break;
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else {
        kill_one(pid);
        pid = 0;
      }
    }
  }
  kill_one(pid);
  ::close(list);
}

}  // namespace

void RunGuard(const GuardPlan& plan) {
  // A signal to the worker's group (Ctrl-C) is the worker's to handle: it stops us by the pipe. A session of its own: no program can join
  // the worker's group, or type into its terminal.
  ::setsid();
  DefaultSignals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  ::prctl(PR_SET_NAME, "acl-guard", 0, 0, 0);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  pid_t program = ::fork();
  if (program < 0) {
    Report(plan.status, GuardReport::kStartFailed, errno);
    ::_exit(127);
  }
  if (program == 0) RunProgram(plan);
  ::setpgid(program, program);
  // Keep only what the guard needs: no socket of the worker, no write end of an output pipe, may stay open here. Control and status
  // were made last of all by the worker, so everything else can go by ranges around them.
  int low = plan.control < plan.status ? plan.control : plan.status, high = plan.control < plan.status ? plan.status : plan.control;
  if (low > 0) ::syscall(SYS_close_range, 0u, unsigned(low - 1), 0u);
  if (high > low + 1) ::syscall(SYS_close_range, unsigned(low + 1), unsigned(high - 1), 0u);
  ::syscall(SYS_close_range, unsigned(high + 1), ~0u, 0u);

  const int ended = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  pollfd waits[2] = {{plan.control, POLLIN, 0}, {ended, POLLIN, 0}};
  for (;;) {  // without a signalfd (no memory) by asking now and then
    if (waits[0].revents || HasEnded(program)) break;
    ::poll(waits, ended < 0 ? 1 : 2, ended < 0 ? 10 : -1);
    signalfd_siginfo said{};
    while (ended >= 0 && ::read(ended, &said, sizeof said) > 0) {
    }
  }
  int status = 0;
  bool known = ::waitpid(program, &status, WNOHANG) == program;
  ::kill(-program, SIGKILL);
  if (!known) {
    ::kill(program, SIGKILL);
    while (::waitpid(program, &status, 0) < 0 && errno == EINTR) {
    }
  }
  constexpr int kDeepest = 8;
  unsigned long before = 0;
  for (;;) {
    unsigned long killed = 0;
    KillChildren("/proc/thread-self/children", kDeepest, killed);
    pid_t gone = ::waitpid(-1, nullptr, WNOHANG);
    if (gone < 0 && errno == ECHILD) break;
    // No pause while others are there than a moment ago: what forks and exits in turn is met only by who is as quick.
    if (gone == 0 && killed == before) {
      timespec pause{0, 1'000'000};
      ::nanosleep(&pause, nullptr);
    }
    before = killed;
  }
  Report(plan.status, GuardReport::kEnded, status);
  ::_exit(0);
}

}  // namespace acl
