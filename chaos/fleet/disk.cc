#include "chaos/fleet/disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "chaos/process/child.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kBytes = std::uintmax_t(700) << 20;  // the file has holes: it takes what is written
constexpr milliseconds kLimit{30'000};

bool HasProgram(const char* name) {
  for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}) {
    if (access((folder + std::string(name)).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> Disk::UnsupportedReason() {
  if (geteuid() != 0) return "needs root, for a disk of its own";
  if (!HasProgram("mkfs.xfs") || !HasProgram("xfs_io")) return "needs mkfs.xfs and xfs_io (Debian: xfsprogs)";
  if (!fs::exists("/dev/loop-control")) return "needs loop devices";
  return std::nullopt;
}

Result<std::unique_ptr<Disk>> Disk::Make(const fs::path& image, const fs::path& at) {
  // Of this thread, which starts every process of the fleet: the mount is seen by nobody else.
  if (unshare(CLONE_NEWNS) != 0) return Error{Code::kDenied, "a mount namespace of its own"};
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);  // fails where / is no mount point (a chroot), which is private already
  std::unique_ptr<Disk> disk(new Disk(image, at));
  const int file = open(image.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool sized = file >= 0 && ftruncate(file, off_t(kBytes)) == 0;
  if (file >= 0) close(file);
  if (!sized) return Error{Code::kUnavailable, "cannot make " + image.string()};
  if (Status made = disk->Do({"mkfs.xfs", "-q", image}); !made) return made.error();
  if (Status mounted = disk->Mount(); !mounted) return mounted.error();
  return disk;
}

Disk::~Disk() {
  if (mounted_) umount2(at_.c_str(), MNT_DETACH);
}

Status Disk::Do(const std::vector<std::string>& argv) const {
  auto done = RunProgram(argv, {}, image_.string() + ".log", kLimit);
  return done ? Status() : Status(done.error());
}

Status Disk::Mount() {
  Status mounted = Do({"mount", "-o", "loop", image_, at_});
  mounted_ = mounted.ok();
  return mounted;
}

Status Disk::Unmount() {
  Status unmounted;
  Await([&] { return (unmounted = Do({"umount", at_})).ok(); }, milliseconds(10'000));  // the dead still close their files
  mounted_ = !unmounted.ok();
  return unmounted;
}

void Disk::Flush() {
  const int folder = open(at_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  syncfs(folder);
  close(folder);
}

Status Disk::CutPower() { return Do({"xfs_io", "-x", "-c", "shutdown", at_}); }

bool Disk::TakesWrites() const {
  const fs::path probe = at_ / "probe";
  const int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool written = write(file, "x", 1) == 1 && fsync(file) == 0;
  close(file);
  unlink(probe.c_str());
  return written;
}

Status Disk::Fill() {
  const int file = open(Filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return Error{Code::kUnavailable, "cannot make " + Filler().string()};
  struct stat made {};
  for (off_t piece = 64 << 20; piece >= 4096;) {
    fstat(file, &made);
    if (posix_fallocate(file, made.st_size, piece) != 0) piece /= 2;
  }
  close(file);
  struct statvfs left {};
  if (statvfs(at_.c_str(), &left) != 0 || left.f_bavail * left.f_bsize > (1 << 20)) return Error{Code::kInternal, "the disk is not full"};
  return {};
}

void Disk::Free() {
  if (unlink(Filler().c_str()) == 0) Flush();  // else it is there again after a power loss
}

}  // namespace acl::chaos
