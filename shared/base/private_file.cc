#include "shared/base/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace acl {

Result<std::string> ReadPrivateFile(std::string_view setting, const std::string& file) {
  constexpr std::size_t kLargest = 1 << 20;
  const auto bad = [&](const std::string& what) { return Error{Code::kInvalid, fmt::format("{} {}: {}", setting, file, what)}; };
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // not waiting for who writes a pipe
  if (fd < 0) return bad(std::strerror(errno));
  std::string text;
  const auto read = [&]() -> Status {
    struct stat is {};
    if (::fstat(fd, &is) != 0) return bad(std::strerror(errno));
    if (!S_ISREG(is.st_mode)) return bad("is no file");
    if (is.st_uid != ::geteuid() && is.st_uid != 0) return bad("belongs to another user");
    if ((is.st_mode & (is.st_uid == 0 && ::geteuid() != 0 ? 0037u : 0077u)) != 0)
      return bad("others may read or change it: chmod 600 (0640 if it is root's)");
    char piece[4096];
    for (ssize_t count; (count = ::read(fd, piece, sizeof piece)) != 0;) {
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return bad(std::strerror(errno));
      text.append(piece, std::size_t(count));
      if (text.size() > kLargest) return bad("is larger than 1 MiB");
    }
    return {};
  }();
  ::close(fd);
  if (!read) return read.error();
  return text;
}

}  // namespace acl
