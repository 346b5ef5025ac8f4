#include "shared/capability/content.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/telemetry/log.h"

namespace acl {

namespace {

// Whether asking again may do: the same bytes under the same name may be put and read as often as one likes, so that a lost answer leaves
// nothing in doubt.
bool MayPass(Code code) { return code == Code::kUnavailable || code == Code::kTimeout || code == Code::kOutcomeUnknown; }

// Our own database being away is no failure of a step: attempts are for what the step does. So it is asked again, more and more rarely.
template <class Ask>
auto Patiently(std::chrono::milliseconds patience, Ask ask) {
  constexpr std::chrono::milliseconds kFirst{20}, kLongest{1'000};
  const auto end = std::chrono::steady_clock::now() + patience;
  for (auto pause = kFirst;; pause = std::min(pause * 2, kLongest)) {
    auto answer = ask();
    if (answer || !MayPass(answer.code()) || std::chrono::steady_clock::now() + pause > end) return answer;
    std::this_thread::sleep_for(pause);
  }
}

// Copies a whole file and says the hash of what has arrived. Shares the blocks where the file system can.
Result<Hash256> CopyHashed(int from, int to) {
  const bool shared = ::ioctl(to, FICLONE, from) == 0;
  const int source = shared ? to : from;
  Sha256Stream hash;
  std::string buffer(128 << 10, '\0');
  for (;;) {
    const ssize_t n = ::read(source, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("copying a file", errno);
    if (n == 0) return hash.Finish();
    const std::string_view part(buffer.data(), std::size_t(n));
    hash.Add(part);
    if (shared) continue;
    if (auto written = WriteAll(to, part); !written) return written.error();
  }
}

}  // namespace

Status KernelContents::Put(const Hash256& hash, const std::string& bytes) {
  const std::pair<Hash256, std::string> content{hash, bytes};
  const Status put = Patiently(patience_, [&] { return store_.PutContents(std::span(&content, 1)); });
  return put || put.code() != Code::kOutcomeUnknown ? put : Status(Code::kUnavailable, put.message());
}

Result<std::string> KernelContents::Get(const Hash256& hash) {
  auto bytes = Patiently(patience_, [&] { return store_.GetContent(hash); });
  // What a run names was stored before it was named: if it is not there now, something removed it.
  if (!bytes && bytes.code() == Code::kNotFound)
    return Error{Code::kCorrupt, fmt::format("a file of the run is lost: {}", bytes.message())};
  if (bytes && Sha256(*bytes) != hash)
    return Error{Code::kCorrupt, fmt::format("content {}: the stored bytes have another hash", ToHex(hash))};
  return bytes;
}

namespace {

std::string RandomName() {
  SystemRandom random;
  return fmt::format("{:016x}", random.Next());
}

Fd TryLock(const std::string& folder) {
  Fd lock(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.ok() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return Fd();
}

void RemoveAbandoned(const std::string& work) {
  DIR* entries = ::opendir(work.c_str());
  if (!entries) return;
  while (dirent* entry = ::readdir(entries)) {
    std::string name = entry->d_name;
    if (name.compare(0, 2, "w-") != 0) continue;
    std::string folder = work + "/" + name;
    if (TryLock(folder).ok()) RemoveTree(folder);
  }
  ::closedir(entries);
}

}  // namespace

Result<std::unique_ptr<WorkFolder>> WorkFolder::Open(const std::string& work) {
  if (auto made = MakeFolders(work); !made) return made.error();
  // A folder of ours must be locked before anybody can take it for abandoned: one lock for the whole of `work` while names appear and go.
  Fd door(::open((work + "/door").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!door.ok() || ::flock(door.get(), LOCK_EX) != 0) return SystemError(fmt::format("work folder '{}'", work), errno);
  RemoveAbandoned(work);
  std::string path = work + "/w-" + RandomName();
  if (auto made = MakeFolders(path); !made) return made.error();
  Fd lock = TryLock(path);
  if (!lock.ok()) return SystemError(fmt::format("locking '{}'", path), errno);
  return std::unique_ptr<WorkFolder>(new WorkFolder(path, std::move(lock)));
}

WorkFolder::~WorkFolder() { RemoveTree(path_); }

ContentCache::ContentCache(ContentStore& store, std::string folder, std::int64_t max_bytes)
    : store_(store), folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::string ContentCache::PathOf(const Hash256& hash) const { return folder_ + "/" + ToHex(hash); }

Result<Hash256> ContentCache::Put(const std::string& bytes) {
  Hash256 hash = Sha256(bytes);
  if (auto put = store_.Put(hash, bytes); !put) return put.error();
  (void)Keep(hash, bytes).ok();  // only a copy
  return hash;
}

Result<std::string> ContentCache::Get(const Hash256& hash) {
  if (auto kept = OpenKept(hash)) {
    auto bytes = ReadAll(kept->get(), std::size_t(max_bytes_) + 1);
    if (bytes && Sha256(*bytes) == hash) return bytes;
    if (bytes) Distrust(hash);
  }
  auto bytes = store_.Get(hash);
  if (bytes) (void)Keep(hash, *bytes).ok();
  return bytes;
}

Status ContentCache::CopyTo(const Hash256& hash, int file) {
  if (auto kept = OpenKept(hash)) {
    auto copied = CopyHashed(kept->get(), file);
    if (!copied) return copied.error();
    if (*copied == hash) return {};
    Distrust(hash);
    if (::ftruncate(file, 0) != 0 || ::lseek(file, 0, SEEK_SET) != 0) return SystemError("copying a file", errno);
  }
  auto bytes = store_.Get(hash);
  if (!bytes) return bytes.error();
  (void)Keep(hash, *bytes).ok();  // only a copy
  return WriteAll(file, *bytes);
}

void ContentCache::Distrust(const Hash256& hash) {
  Logger("worker").Warn("a kept file of a run was changed by somebody on this machine: it is fetched anew", {{"content", ToHex(hash)}});
  std::lock_guard lock(mutex_);
  const auto it = kept_.find(hash);
  if (it == kept_.end()) return;
  ::unlink(PathOf(hash).c_str());
  bytes_ -= it->second.size;
  by_use_.erase(it->second.use);
  kept_.erase(it);
}

Result<Fd> ContentCache::OpenKept(const Hash256& hash) {
  std::lock_guard lock(mutex_);
  auto it = kept_.find(hash);
  if (it == kept_.end()) return Error{Code::kNotFound, "not kept here"};
  by_use_.splice(by_use_.begin(), by_use_, it->second.use);
  int fd = ::open(PathOf(hash).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return SystemError("a kept content", errno);
  return Fd(fd);
}

Status ContentCache::Keep(const Hash256& hash, const std::string& bytes) {
  if (std::int64_t(bytes.size()) > max_bytes_) return {};
  {
    std::lock_guard lock(mutex_);
    if (kept_.contains(hash)) return {};
  }
  if (auto made = MakeFolders(folder_); !made) return made;
  std::string temporary = folder_ + "/new-" + RandomName();
  {
    Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
    if (!file.ok()) return SystemError("keeping a content", errno);
    if (auto written = WriteAll(file.get(), bytes); !written) {
      ::unlink(temporary.c_str());
      return written;
    }
  }
  std::lock_guard lock(mutex_);
  if (kept_.contains(hash)) {
    ::unlink(temporary.c_str());
    return {};
  }
  if (::rename(temporary.c_str(), PathOf(hash).c_str()) != 0) {
    Error error = SystemError("keeping a content", errno);
    ::unlink(temporary.c_str());
    return error;
  }
  by_use_.push_front(hash);
  kept_[hash] = Kept{std::int64_t(bytes.size()), by_use_.begin()};
  bytes_ += std::int64_t(bytes.size());
  while (bytes_ > max_bytes_) {
    Hash256 oldest = by_use_.back();
    ::unlink(PathOf(oldest).c_str());
    bytes_ -= kept_[oldest].size;
    kept_.erase(oldest);
    by_use_.pop_back();
  }
  return {};
}

}  // namespace acl
