#include "shared/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace acl {

namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

Error CannotRead(const std::string& path, const std::string& why) {
  return {Code::kInvalid, "cannot read " + (path.empty() ? "''" : path) + ": " + why};
}

Status Check(const std::string& path, const OpenFile& file) {
  if (file.fd() < 0) return CannotRead(path, std::strerror(errno));
  struct stat is {};
  if (::fstat(file.fd(), &is) != 0) return CannotRead(path, std::strerror(errno));
  if (S_ISDIR(is.st_mode)) return CannotRead(path, "it is a folder; name a file");
  return {};
}

std::string Size(std::size_t bytes) {
  return bytes >= 1u << 20 ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t most) {
  const OpenFile file(path);
  if (Status checked = Check(path, file); !checked) return checked.error();
  std::string text;
  std::string piece(64 * 1024, '\0');
  for (ssize_t count; (count = ::read(file.fd(), piece.data(), piece.size())) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(path, std::strerror(errno));
    text.append(piece, 0, static_cast<std::size_t>(count));
    if (text.size() > most) return CannotRead(path, "it is larger than " + Size(most));
  }
  return text;
}

Status CheckReadable(const std::string& path) { return Check(path, OpenFile(path)); }

}  // namespace acl
