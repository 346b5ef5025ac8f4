#include "shared/capability/content.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "shared/base/random.h"
#include "shared/base/sha256.h"

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
    if (bytes && Sha256(*bytes) == hash) return bytes;  // a damaged copy is fetched anew
  }
  auto bytes = store_.Get(hash);
  if (bytes) (void)Keep(hash, *bytes).ok();
  return bytes;
}

Result<Fd> ContentCache::Open(const Hash256& hash) {
  if (auto kept = OpenKept(hash)) return kept;
  auto bytes = store_.Get(hash);
  if (!bytes) return bytes.error();
  if (auto keep = Keep(hash, *bytes); !keep) return keep.error();
  if (auto kept = OpenKept(hash)) return kept;
  // Larger than the whole cache, or dropped at once by others: a file without a name serves this one use.
  int fd = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError("a temporary file", errno);
  Fd file(fd);
  if (auto written = WriteAll(fd, *bytes); !written) return written.error();
  if (::lseek(fd, 0, SEEK_SET) != 0) return SystemError("a temporary file", errno);
  return file;
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
    Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
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
