#pragma once
// Workflows that were loaded lately, so that a thousand runs of one file parse it once. By content hash; the least recently used go first.
// Thread-safe.

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "shared/base/sha256.h"
#include "shared/definition/loader.h"
#include "shared/workflow/first_event_template.h"

namespace acl::coordinator {

// A workflow that was loaded, and what runs of it have in common (first_event_template.h).
struct CachedDefinition : Loaded {
  explicit CachedDefinition(Loaded loaded)
      : Loaded(std::move(loaded)), queues(definition ? QueuesOf(*definition) : std::vector<std::string>()) {}
  mutable workflow::FirstEventTemplates event_templates;
  const std::vector<std::string> queues;  // of its runs and steps, each once
};

class LoadedDefinitionCache {
 public:
  explicit LoadedDefinitionCache(const CapabilityRegistry& capabilities, std::size_t max_bytes = 8u << 20)
      : capabilities_(capabilities), max_bytes_(max_bytes) {}

  // As LoadWorkflow for a submission. Of the options those count that a submission has.
  std::shared_ptr<const CachedDefinition> Load(const std::string& text, const LoadOptions& options) {
    const std::string key = KeyOf(text, options);
    if (auto known = Known(key)) return known;
    auto loaded = std::make_shared<const CachedDefinition>(LoadWorkflow(text, capabilities_, options));
    if (!loaded->ok() || text.size() > max_bytes_) return loaded;
    std::lock_guard lock(mutex_);
    if (by_key_.contains(key)) return loaded;
    recent_.push_front({key, text.size(), loaded});
    by_key_[key] = recent_.begin();
    bytes_ += text.size();
    while (bytes_ > max_bytes_) {
      bytes_ -= recent_.back().size;
      by_key_.erase(recent_.back().key);
      recent_.pop_back();
    }
    return loaded;
  }
  // nullptr: it was not loaded lately.
  std::shared_ptr<const CachedDefinition> Find(const std::string& text, const LoadOptions& options) { return Known(KeyOf(text, options)); }

 private:
  struct Entry {
    std::string key;
    std::size_t size = 0;
    std::shared_ptr<const CachedDefinition> loaded;
  };
  static std::string KeyOf(const std::string& text, const LoadOptions& options) {
    return std::string(options.strict ? "s" : "-") + (options.strict_templates ? "t" : "-") + (options.lenient_templates ? "l" : "-") +
           HashBytes(text);
  }
  std::shared_ptr<const CachedDefinition> Known(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, known->second);
    return recent_.front().loaded;
  }
  static std::string HashBytes(const std::string& text) {
    const Hash256 hash = Sha256(text);
    return std::string(hash.begin(), hash.end());
  }

  const CapabilityRegistry& capabilities_;
  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::list<Entry> recent_;
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  std::size_t bytes_ = 0;
};

}  // namespace acl::coordinator
