// A folder as one digest, without changing it: index_status and index_changed of sight_tools.h.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "coordinator/ask/sight_readings.h"
#include "shared/base/sha256.h"

namespace acl::coordinator {

namespace {

constexpr int kDeepest = 64;

class FolderWalk {
 public:
  FolderWalk(const FolderBounds& bounds, const Clock& clock) : bounds_(bounds), clock_(clock), until_(clock.Steady() + bounds.time) {}

  Status Begin(const std::string& folder) {
    const int fd = OpenFolder(AT_FDCWD, folder.c_str());
    struct stat is {};
    if (fd < 0 || ::fstat(fd, &is) != 0) {
      const std::string why = std::strerror(errno);
      if (fd >= 0) ::close(fd);
      return Error{Code::kUnavailable, "cannot look at the folder " + folder + ": " + why + " (aegis_index_folder)"};
    }
    device_ = is.st_dev;
    Enter(fd, "", 0);
    return {};
  }

  FolderState Finish() && {
    if (!state_.cut && state_.unread == 0) {
      std::sort(lines_.begin(), lines_.end());  // a folder lists its entries in no order
      Sha256Stream digest;
      for (const std::string& line : lines_) digest.Add(line);
      state_.digest = "sha256:" + ToHex(digest.Finish());
    }
    return std::move(state_);
  }

 private:
  // Without leaving a time of reading behind, where that is allowed: to the owner of the folder.
  static int OpenFolder(int at, const char* name) {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (at == AT_FDCWD ? 0 : O_NOFOLLOW);
    const int fd = ::openat(at, name, flags | O_NOATIME);
    return fd >= 0 || errno != EPERM ? fd : ::openat(at, name, flags);
  }

  bool Bounded() {
    if (std::int64_t(lines_.size()) >= bounds_.entries || clock_.Steady() >= until_) state_.cut = true;
    return state_.cut;
  }

  void Enter(int fd, const std::string& path, int depth) {
    DIR* open = ::fdopendir(fd);
    if (open == nullptr) {
      ::close(fd);
      ++state_.unread;
      return;
    }
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(open);
      if (entry == nullptr) {
        if (errno != 0) ++state_.unread;
        break;
      }
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (Bounded()) break;
      Take(::dirfd(open), path, name, depth);
    }
    ::closedir(open);
  }

  void Take(int folder, const std::string& path, const std::string& name, int depth) {
    struct stat is {};
    if (::fstatat(folder, name.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) ++state_.unread;  // else it went meanwhile
      return;
    }
    const std::string full = path + "/" + name;
    const bool is_folder = S_ISDIR(is.st_mode);
    const long long changed_ns = is_folder ? 0 : is.st_mtim.tv_sec * 1'000'000'000LL + is.st_mtim.tv_nsec;
    const long long bytes = is_folder ? 0 : is.st_size;
    std::string line = full;  // a name holds no zero byte, so no two states give the same lines
    line.push_back('\0');
    line += (is_folder ? "d " : "f ") + std::to_string(bytes) + " " + std::to_string(changed_ns) + "\n";
    lines_.push_back(std::move(line));
    if (!is_folder) {
      ++state_.files;
      state_.bytes += bytes;
      const WallTime changed = WallTimeFromMicros(changed_ns / 1000);
      if (!state_.newest || changed > *state_.newest) state_.newest = changed;
      return;
    }
    ++state_.folders;
    if (is.st_dev != device_) return;  // another file system, which may be slow or endless
    if (depth >= kDeepest) {
      state_.cut = true;
      return;
    }
    const int inner = OpenFolder(folder, name.c_str());
    if (inner >= 0) return Enter(inner, full, depth + 1);
    if (errno != ENOENT) ++state_.unread;
  }

  const FolderBounds bounds_;
  const Clock& clock_;
  const SteadyTime until_;
  dev_t device_ = 0;
  FolderState state_;
  std::vector<std::string> lines_;
};

std::string PartialReason(const FolderState& state) {
  return state.cut ? "the folder holds more than may be read of it at once" : "a part of the folder could not be read";
}

}  // namespace

Result<FolderState> LookAtFolder(const std::string& folder, const FolderBounds& bounds, const Clock& clock) {
  FolderWalk walk(bounds, clock);
  if (Status begun = walk.Begin(folder); !begun) return begun.error();
  return std::move(walk).Finish();
}

Result<Reading> ReadIndexStatus(const Result<FolderState>& state) {
  if (!state) return state.error();
  Reading out;
  if (state->digest.empty()) {
    for (const char* name : {"index_files", "index_folders", "index_mb", "newest_change", "digest"})
      out.Unknown(name, PartialReason(*state));
    return std::move(out).OrError();
  }
  out.Value("index_files", state->files);
  out.Value("index_folders", state->folders);
  const auto tenths = state->bytes / 104'858;
  out.Value("index_mb", double(tenths) / 10);
  if (state->newest) {
    out.Value("newest_change", FormatWallTime(*state->newest));
  } else {
    out.Unknown("newest_change", "there are no files");
  }
  out.Value("digest", state->digest);
  return std::move(out).OrError();
}

Result<Reading> FolderChange::Read(const Result<FolderState>& state, WallTime now) {
  if (!state) return state.error();
  Reading out;
  if (state->digest.empty()) {
    for (const char* name : {"changed", "since", "files_before", "files_now", "digest"}) out.Unknown(name, PartialReason(*state));
    return std::move(out).OrError();
  }
  if (before_) {
    out.Value("changed", before_->digest != state->digest);
    out.Value("since", FormatWallTime(before_at_));
    out.Value("files_before", before_->files);
  } else {
    for (const char* name : {"changed", "since", "files_before"}) out.Unknown(name, "this is the first look");
  }
  out.Value("files_now", state->files);
  out.Value("digest", state->digest);
  before_ = *state;
  before_at_ = now;
  return std::move(out).OrError();
}

}  // namespace acl::coordinator
