#pragma once
// An object store in memory, for unit tests and the simulator. Time is the Clock's.

#include <map>
#include <mutex>

#include "shared/objectstore/object_store.h"

namespace acl {

class MemoryObjects : public ObjectStore {
 public:
  explicit MemoryObjects(const Clock& clock) : clock_(clock) {}

  Result<Put> PutIfAbsent(const std::string& key, std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    const bool fresh = objects_.try_emplace(key, Object{std::string(bytes), clock_.Wall()}).second;
    puts_ += fresh ? 1 : 0;
    return fresh ? Put::kStored : Put::kThere;
  }
  Result<std::string> Get(const std::string& key, std::int64_t most) override {
    std::lock_guard lock(mutex_);
    auto it = objects_.find(key);
    if (it == objects_.end()) return Error{Code::kNotFound, "no object " + key};
    if (std::int64_t(it->second.bytes.size()) > most) return Error{Code::kCorrupt, key + " is larger than allowed"};
    return it->second.bytes;
  }
  Result<ObjectInfo> Head(const std::string& key) override {
    std::lock_guard lock(mutex_);
    auto it = objects_.find(key);
    if (it == objects_.end()) return Error{Code::kNotFound, "no object " + key};
    return ObjectInfo{key, std::int64_t(it->second.bytes.size()), it->second.modified};
  }
  Result<ObjectPage> List(const std::string& prefix, const std::string& from) override {
    std::lock_guard lock(mutex_);
    ObjectPage page;
    for (auto it = objects_.lower_bound(std::max(prefix, from)); it != objects_.end() && it->first.starts_with(prefix); ++it) {
      if (page.objects.size() == 1'000) {
        page.next = it->first;
        break;
      }
      page.objects.push_back({it->first, std::int64_t(it->second.bytes.size()), it->second.modified});
    }
    return page;
  }
  Status Delete(const std::string& key) override {
    std::lock_guard lock(mutex_);
    objects_.erase(key);
    return {};
  }
  std::string Name() const override { return "memory"; }

  // -- for tests
  int puts() const {
    std::lock_guard lock(mutex_);
    return puts_;
  }
  std::vector<std::string> Keys() const {
    std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& [key, object] : objects_) keys.push_back(key);
    return keys;
  }
  // What a damaged store would do.
  void Overwrite(const std::string& key, std::string bytes) {
    std::lock_guard lock(mutex_);
    objects_[key].bytes = std::move(bytes);
  }

 private:
  struct Object {
    std::string bytes;
    WallTime modified;
  };
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;
  int puts_ = 0;
};

}  // namespace acl
