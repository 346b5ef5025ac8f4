#pragma once
// Contents of files by hash. The truth lies in the kernel store; a worker keeps a copy of what it used on its own disk.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "shared/base/ids.h"
#include "shared/capability/fd.h"
#include "shared/kernel/store.h"

namespace acl {

// Write-once, safe from any thread, blocking.
class ContentStore {
 public:
  virtual ~ContentStore() = default;
  virtual Status Put(const Hash256& hash, const std::string& bytes) = 0;
  virtual Result<std::string> Get(const Hash256& hash) = 0;  // kNotFound
};

class KernelContents final : public ContentStore {
 public:
  // `patience`: how long a store that is away is asked again.
  explicit KernelContents(KernelStore& store, std::chrono::milliseconds patience = std::chrono::seconds(20))
      : store_(store), patience_(patience) {}
  Status Put(const Hash256& hash, const std::string& bytes) override;
  Result<std::string> Get(const Hash256& hash) override;  // kCorrupt if it is gone or has other bytes

 private:
  KernelStore& store_;
  const std::chrono::milliseconds patience_;
};

// A worker's own folder below the configured one: `<work>/w-<random>/`, held by a file lock, removed at the end. Opening one removes those
// whose worker is gone (killed), so nothing of an earlier process is ever used again.
class WorkFolder {
 public:
  static Result<std::unique_ptr<WorkFolder>> Open(const std::string& work);
  ~WorkFolder();
  const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Fd lock_;
};

// Contents on this worker's disk, oldest use dropped first. A full disk costs the copy, not the step, where the bytes are at hand.
// Programs of steps run as the worker's user and can change what lies there. So every use checks the bytes that it hands on by their hash;
// a copy that was changed is dropped, said in the log, and fetched anew.
class ContentCache {
 public:
  ContentCache(ContentStore& store, std::string folder, std::int64_t max_bytes);

  // To the store first: what a result names is there before the result is.
  Result<Hash256> Put(const std::string& bytes);
  Result<std::string> Get(const Hash256& hash);
  // Writes the content to an empty file, open for reading and writing; fetched on first use. What is in the file then has this hash.
  Status CopyTo(const Hash256& hash, int file);

 private:
  struct Kept {
    std::int64_t size = 0;
    std::list<Hash256>::iterator use;
  };
  std::string PathOf(const Hash256& hash) const;
  Status Keep(const Hash256& hash, const std::string& bytes);
  Result<Fd> OpenKept(const Hash256& hash);
  // Somebody has changed the copy.
  void Distrust(const Hash256& hash);

  ContentStore& store_;
  const std::string folder_;
  const std::int64_t max_bytes_;
  std::mutex mutex_;
  std::map<Hash256, Kept> kept_;
  std::list<Hash256> by_use_;  // newest first
  std::int64_t bytes_ = 0;
};

}  // namespace acl
