#include "shared/capability/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "shared/capability/fd.h"
#include "shared/capability/process_guard.h"
#include "shared/capability/process_tree.h"

namespace acl {

namespace {

struct Pipe {
  Fd read, write;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return SystemError("a pipe", errno);
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  // 0, 1 and 2 are the program's: a pipe that landed there (a daemon with closed stdin) would be overwritten.
  for (Fd* end : {&pipe.read, &pipe.write}) {
    if (end->get() > 2) continue;
    Fd higher(::fcntl(end->get(), F_DUPFD_CLOEXEC, 3));
    if (!higher.ok()) return SystemError("a pipe", errno);
    *end = std::move(higher);
  }
  return pipe;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// One of the program's output streams, read until its end, kept up to a limit.
struct Stream {
  Fd fd;
  std::string* text;
  bool* truncated;
  std::size_t limit;

  void Read() {
    char buffer[64 << 10];
    ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
      fd.Close();
      return;
    }
    std::size_t room = limit - std::min(limit, text->size());
    text->append(buffer, std::min(room, std::size_t(n)));
    if (std::size_t(n) > room) *truncated = true;
  }
};

// Nobody but a program of ours does that. Each moment that it lasts, what the guard adopts piles up.
bool IsStopped(pid_t guard) {
  siginfo_t info{};
  return ::waitid(P_PID, id_t(guard), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == guard;
}

// Follows the program to the end of its guard, until the guard is stopped, or to the end of its grace; fills in how it ended.
void Follow(const ProcessRequest& request, pid_t guard, ProcessResult& result, Stream (&streams)[2], Fd& control, Fd& status,
            int& start_error, bool& ended) {
  std::chrono::steady_clock::time_point told{};
  while (status.ok() || streams[0].fd.ok() || streams[1].fd.ok()) {
    if (!control.ok() && std::chrono::steady_clock::now() >= told + kKillGrace) return;
    if (IsStopped(guard)) return;
    pollfd waits[3] = {{streams[0].fd.get(), POLLIN, 0}, {streams[1].fd.get(), POLLIN, 0}, {status.get(), POLLIN, 0}};
    ::poll(waits, 3, 20);
    for (int i = 0; i < 2; ++i) {
      if (streams[i].fd.ok() && waits[i].revents) streams[i].Read();
    }
    if (status.ok() && waits[2].revents) {
      GuardReport report{};
      ssize_t n = ::read(status.get(), &report, sizeof report);
      if (n == ssize_t(sizeof report)) {
        if (report.kind == GuardReport::kStartFailed) start_error = report.value;
        if (report.kind == GuardReport::kEnded) {
          ended = true;
          bool killed = WIFSIGNALED(report.value);
          if (control.ok()) result.end = killed ? ProcessResult::End::kSignalled : ProcessResult::End::kExited;
          result.exit_code = killed ? 0 : WEXITSTATUS(report.value);
          result.signal = killed ? WTERMSIG(report.value) : 0;
        }
      } else if (n == 0 || errno != EINTR) {
        status.Close();
        if (!ended) {  // the guard is gone without a word: the streams may stay open for ever in somebody's hands
          for (auto& stream : streams) stream.fd.Close();
        }
      }
    }
    if (!control.ok()) continue;
    bool stop = request.stopped && request.stopped();
    bool late = std::chrono::steady_clock::now() >= request.deadline;
    if (stop || late) {
      result.end = stop ? ProcessResult::End::kStopped : ProcessResult::End::kTimedOut;
      control.Close();
      told = std::chrono::steady_clock::now();
    }
  }
}

// Collects the guard, which has said its last word or is to be killed with what is below it. How many could not be killed.
int EndGuard(pid_t guard, bool has_ended) {
  Fd ends(int(::syscall(SYS_pidfd_open, guard, 0u)));
  pollfd wait{ends.get(), POLLIN, 0};
  // Stopped between its last word and its end, it would keep us for ever.
  if (has_ended && ends.ok() && ::poll(&wait, 1, int(kKillGrace.count())) <= 0) has_ended = false;
  const bool nothing_left = (has_ended && ends.ok()) || KillTree(guard, kKillPatience);
  (void)CollectOwn(guard);
  return nothing_left ? 0 : 1;
}

// A file that is nowhere, with the text in it: nobody need write while the program reads. None for no text.
Result<Fd> InputOf(const std::string& text) {
  if (text.empty()) return Fd();
  Fd file(::memfd_create("stdin", MFD_CLOEXEC));
  if (!file.ok()) return SystemError("memory for stdin", errno);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return SystemError("memory for stdin", errno);
    done += std::size_t(written);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return SystemError("memory for stdin", errno);
  return file;
}

}  // namespace

Result<ProcessResult> RunProcess(const ProcessRequest& request) {
  auto input = InputOf(request.input);
  if (!input) return input.error();
  auto folder = OpenFolder(request.folder);
  if (!folder) return folder.error();
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.ok()) return SystemError("/dev/null", errno);
  auto out = MakePipe(), err = MakePipe(), control = MakePipe(), status = MakePipe();
  for (auto* pipe : {&out, &err, &control, &status}) {
    if (!*pipe) return pipe->error();
  }
  std::vector<std::string> arguments{request.name};
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  std::vector<std::string> environment = request.environment;
  auto argv = Pointers(arguments), envp = Pointers(environment);
  GuardPlan plan;
  plan.program = request.program.c_str();
  plan.argv = argv.data();
  plan.envp = envp.data();
  plan.folder = folder->get();
  plan.null = null.get();
  plan.input = request.input.empty() ? null.get() : input->get();
  plan.out = out->write.get();
  plan.err = err->write.get();
  plan.control = control->read.get();
  plan.status = status->write.get();
  plan.max_memory_bytes = request.max_memory_bytes;
  plan.max_file_bytes = request.max_file_bytes;
  plan.max_processes = request.max_processes;
  plan.max_open_files = request.max_open_files;

  // No signal handler of ours may run in the copy before it has taken the default ones.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int fork_error = 0;
  const pid_t guard = StartOwn([&] {
    const pid_t pid = ::fork();
    if (pid == 0) RunGuard(plan);
    fork_error = errno;
    return pid;
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (guard < 0) return SystemError("starting a process", fork_error);

  ProcessResult result;
  Stream streams[2] = {{std::move(out->read), &result.out, &result.out_truncated, request.max_output_bytes},
                       {std::move(err->read), &result.err, &result.err_truncated, request.max_output_bytes}};
  for (auto* pipe : {&*out, &*err, &*status}) pipe->write.Close();
  control->read.Close();
  int start_error = 0;
  bool ended = false;
  Follow(request, guard, result, streams, control->write, status->read, start_error, ended);
  const bool told = !control->write.ok(), silent = status->read.ok();
  control->write.Close();
  const int unkilled = EndGuard(guard, !silent);
  if (start_error != 0) {
    Error error = SystemError(fmt::format("starting '{}'", request.program), start_error);
    // A program that does not fit into the memory it is allowed never will.
    if (start_error == ENOMEM && request.max_memory_bytes > 0) error.code = Code::kUnavailable;
    return error;
  }
  if (!ended && !told) {
    result.guard_lost = true;
    result.end = ProcessResult::End::kSignalled;
    result.signal = SIGKILL;
  }
  // Without its guard's word: what the guard had adopted has come to us.
  if (!ended) result.left_alive = std::max(KillOrphans(kKillPatience), unkilled);
  return result;
}

}  // namespace acl
