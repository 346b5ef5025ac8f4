#pragma once
// A file descriptor with an owner, and opening below a folder that nothing inside it can lead out of.

#include <string>
#include <utility>

#include "shared/base/result.h"

namespace acl {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { Close(); }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  void Close();

 private:
  int fd_ = -1;
};

// openat2 with RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS: the path is followed below `folder` or not at all.
// O_CLOEXEC and O_NOFOLLOW are added. kInvalid if the path would leave the folder or meets a symbolic link, kNotFound, kUnavailable
// with "disk full" or the system's words.
Result<Fd> OpenBeneath(int folder, const std::string& path, int flags, int mode = 0);

Result<Fd> OpenFolder(const std::string& path);  // O_DIRECTORY, not through a final symlink
Result<std::string> ReadAll(int fd, std::size_t max_bytes);
Status WriteAll(int fd, std::string_view bytes);  // "disk full" said plainly

// Makes the folder and what is missing above it, mode 0700.
Status MakeFolders(const std::string& path);
// Removes a tree without following links out of it. Best effort: what cannot be removed stays.
void RemoveTree(const std::string& path);

// "what: No space left on device (disk full)" and the like, from errno. kExhausted: the machine is short of something.
Error SystemError(const std::string& what, int error_number);

}  // namespace acl
