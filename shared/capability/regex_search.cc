#include "shared/capability/regex_search.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "shared/capability/fd.h"
#include "shared/capability/process_tree.h"

namespace acl {

namespace {

using std::chrono::steady_clock;

// Bytes of text, instructions and groups multiplied: at some nanoseconds each, the worst of it takes a tenth of a second.
constexpr double kDoneHere = 2e7;
constexpr int kLookEveryMs = 20;

double WorkOf(const RE2& expression, std::string_view text) {
  return double(text.size() + 1) * double(expression.ProgramSize() + 1) * (1 + double(expression.NumberOfCapturingGroups()) / 4);
}

// One match after the other, from the front.
class Matches {
 public:
  Matches(const RE2& expression, std::string_view text)
      : expression_(expression), text_(text), groups_(std::size_t(expression.NumberOfCapturingGroups()) + 1), spans_(groups_.size()) {}

  const std::vector<RegexSpan>* Next() {
    if (at_ > text_.size()) return nullptr;
    const re2::StringPiece all(text_.data(), text_.size());
    if (!expression_.Match(all, at_, text_.size(), RE2::UNANCHORED, groups_.data(), int(groups_.size()))) return nullptr;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const auto& group = groups_[i];
      const auto begin = group.data() ? std::size_t(group.data() - text_.data()) : std::string_view::npos;
      spans_[i] = {begin, group.data() ? begin + group.size() : 0};
    }
    at_ = spans_[0].end;
    if (spans_[0].begin == spans_[0].end) {  // an empty match: go on after the next character
      do {
        ++at_;
      } while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xc0) == 0x80);
    }
    return &spans_;
  }

 private:
  const RE2& expression_;
  const std::string_view text_;
  std::vector<re2::StringPiece> groups_;
  std::vector<RegexSpan> spans_;
  std::size_t at_ = 0;
};

Status Late(const CallContext& context) {
  if (context.stop.stopped()) return Error{Code::kCancelled, "stopped while matching"};
  if (steady_clock::now() >= context.deadline) return Error{Code::kTimeout, "timed out while matching"};
  return {};
}

Status SearchHere(Matches& matches, bool all, const CallContext& context, const TakeRegexMatch& take) {
  while (const auto* spans = matches.Next()) {
    if (Status late = Late(context); !late) return late;
    if (!take(*spans) || !all) break;
  }
  return {};
}

// In the child: only this thread is there. It writes spans and ends; what it holds of ours is closed first, so that nobody waits for it.
// An exception ends the process: it must not unwind into what is the worker's.
[[noreturn]] void SearchAndExit(Matches& matches, bool all, int out, pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  if (out != 0) ::dup2(out, 0);
  ::syscall(SYS_close_range, 1u, ~0u, 0u);
  while (const auto* spans = matches.Next()) {
    const char* from = reinterpret_cast<const char*>(spans->data());
    for (std::size_t left = spans->size() * sizeof(RegexSpan); left > 0;) {
      const ssize_t wrote = ::write(0, from, left);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) ::_exit(1);
      from += wrote;
      left -= std::size_t(wrote);
    }
    if (!all) break;
  }
  ::_exit(0);
}

// Ends with the child, whatever happens.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() { (void)End(true); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Whether it ended well by itself.
  bool End(bool by_force) {
    if (pid_ <= 0) return false;
    if (by_force) ::kill(pid_, SIGKILL);
    const int status = CollectOwn(std::exchange(pid_, -1));
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t pid_;
};

// Hands on what the child writes, until it has ended.
Status Read(int from, std::size_t groups, Child& child, const CallContext& context, const TakeRegexMatch& take) {
  std::vector<RegexSpan> spans(groups);
  char* const begin = reinterpret_cast<char*>(spans.data());
  const std::size_t whole = groups * sizeof(RegexSpan);
  for (std::size_t have = 0;;) {
    if (Status late = Late(context); !late) return late;
    pollfd waits{from, POLLIN, 0};
    if (::poll(&waits, 1, kLookEveryMs) <= 0) continue;
    const ssize_t got = ::read(from, begin + have, whole - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += std::size_t(got);
    if (have < whole) continue;
    have = 0;
    if (!take(spans)) return {};
  }
  if (!child.End(false)) return Error{Code::kUnavailable, "the matching was killed, perhaps for want of memory"};
  return {};
}

}  // namespace

Status SearchRegex(const RE2& expression, std::string_view text, bool all, const CallContext& context, const TakeRegexMatch& take) {
  Matches matches(expression, text);
  if (WorkOf(expression, text) <= kDoneHere) return SearchHere(matches, all, context, take);
  (void)expression.ReverseProgramSize();  // made now: the child only reads what is there
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return SystemError("a pipe", errno);
  Fd from(ends[0]), to(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = StartOwn([&] {
    const pid_t child = ::fork();
    if (child == 0) SearchAndExit(matches, all, to.get(), parent);
    return child;
  });
  if (pid < 0) return SystemError("a process", errno);
  Child child(pid);
  to.Close();
  return Read(from.get(), std::size_t(expression.NumberOfCapturingGroups()) + 1, child, context, take);
}

}  // namespace acl
