#include "shared/capability/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

namespace acl {

void Fd::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error SystemError(const std::string& what, int error_number) {
  std::string words = std::generic_category().message(error_number);
  switch (error_number) {
    case ENOENT: return {Code::kNotFound, what + ": " + words};
    case ELOOP: return {Code::kInvalid, what + ": there is a symbolic link on the way, which is not followed"};
    case EXDEV: return {Code::kInvalid, what + ": leads out of the workspace"};
    case ENOSPC:
    case EDQUOT: return {Code::kExhausted, what + ": the disk under the worker's work folder is full; free some space or move the folder"};
    case EMFILE:
    case ENFILE: return {Code::kExhausted, what + ": " + words + "; allow the worker more descriptors (ulimit -n, LimitNOFILE)"};
    case EAGAIN:
    case ENOMEM: return {Code::kExhausted, what + ": " + words};
    default: return {Code::kUnavailable, what + ": " + words};
  }
}

Result<Fd> OpenBeneath(int folder, const std::string& path, int flags, int mode) {
  open_how how{};
  how.flags = std::uint64_t(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = (flags & (O_CREAT | O_TMPFILE)) ? std::uint64_t(mode) : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  for (;;) {
    long fd = ::syscall(SYS_openat2, folder, path.empty() ? "." : path.c_str(), &how, sizeof how);
    if (fd >= 0) return Fd(int(fd));
    if (errno != EINTR && errno != EAGAIN) return SystemError(fmt::format("'{}'", path), errno);
  }
}

Result<Fd> OpenFolder(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return SystemError(fmt::format("'{}'", path), errno);
  return Fd(fd);
}

Result<std::string> ReadAll(int fd, std::size_t max_bytes) {
  std::string out;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && info.st_size > 0) out.reserve(std::min(std::size_t(info.st_size), max_bytes) + 1);
  char buffer[64 << 10];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("reading a file", errno);
    if (n == 0) return out;
    if (out.size() + std::size_t(n) > max_bytes) return Error{Code::kInvalid, fmt::format("a file is larger than {} bytes", max_bytes)};
    out.append(buffer, std::size_t(n));
  }
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("writing a file", errno);
    bytes.remove_prefix(std::size_t(n));
  }
  return {};
}

Status MakeFolders(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      struct stat info {};
      int why = errno;
      if (::stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return SystemError(fmt::format("making folder '{}'", part), why);
    }
  }
  return {};
}

namespace {

std::vector<std::string> NamesIn(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (!entries) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(entries)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  ::closedir(entries);
  return names;
}

// A program may have taken the rights away.
Fd OpenToEmpty(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd folder(::openat(parent, name.c_str(), kFlags));
  if (!folder.ok() && ::fchmodat(parent, name.c_str(), 0700, 0) == 0) folder = Fd(::openat(parent, name.c_str(), kFlags));
  if (folder.ok()) ::fchmod(folder.get(), 0700);
  return folder;
}

// Moves a directory to the top under a name of its own.
bool Lift(int from, const std::string& name, int top, std::uint64_t& number) {
  // Its own right to write is needed: its ".." changes. Where it cannot be had, the move fails and says so.
  [[maybe_unused]] const int granted = ::fchmodat(from, name.c_str(), 0700, 0);
  for (;;) {
    const std::string free = ".lifted-" + std::to_string(number++);
    if (::renameat2(from, name.c_str(), top, free.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno != EEXIST) return false;
  }
}

}  // namespace

// Directories are lifted to the top before the one above them goes, so that neither paths, nor the stack, nor the descriptors that are open
// at once grow with the depth of the tree.
void RemoveTree(const std::string& path) {
  {
    auto top = OpenFolder(path);
    std::uint64_t number = 0;
    for (bool moved = bool(top); moved;) {
      moved = false;
      for (const std::string& name : NamesIn(top->get())) {
        if (::unlinkat(top->get(), name.c_str(), 0) == 0) continue;
        if (Fd folder = OpenToEmpty(top->get(), name); folder.ok()) {
          for (const std::string& inner : NamesIn(folder.get())) {
            if (::unlinkat(folder.get(), inner.c_str(), 0) != 0) moved = Lift(folder.get(), inner, top->get(), number) || moved;
          }
        }
        ::unlinkat(top->get(), name.c_str(), AT_REMOVEDIR);
      }
    }
  }
  ::rmdir(path.c_str());
}

}  // namespace acl
