#pragma once
// An object store as this system needs it (docs/architecture.md#workspaces: contents by hash; docs/operate/operations.md, "Object store").
// Objects are written once: nothing here overwrites. Implementations: S3Store (s3_store.h), MemoryObjects (memory_objects.h).
//
// Safe from any thread; calls block, within the deadline the implementation was given. Errors:
//   kNotFound     no such object (never: no such bucket)
//   kUnavailable  not reachable, overloaded, answers that make no sense; tried again as often as allowed
//   kTimeout      no whole answer in time
//   kDenied       keys, rights or clock are wrong; the message says which and what to do
//   kInvalid      the request can never work: too large, no such bucket, a certificate that does not verify
//   kCorrupt      the object is not what was put, as far as the store itself shows (its size)

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/result.h"

namespace acl {

struct ObjectInfo {
  std::string key;
  std::int64_t size = 0;
  WallTime modified;  // by the store's clock
};

// A part of a listing, by key.
struct ObjectPage {
  std::vector<ObjectInfo> objects;
  std::string next;  // hand to the next List; empty: that was all
};

class ObjectStore {
 public:
  enum class Put { kStored, kThere };

  virtual ~ObjectStore() = default;
  // One atomic write, only if nothing has this key. kThere: something of this size has it; its bytes are the reader's to verify.
  virtual Result<Put> PutIfAbsent(const std::string& key, std::string_view bytes) = 0;
  // kCorrupt if it has more than `most` bytes: not what was put.
  virtual Result<std::string> Get(const std::string& key, std::int64_t most) = 0;
  virtual Result<ObjectInfo> Head(const std::string& key) = 0;
  // Keys that start with the prefix, in their order, at most 1000 a page; `from`: ObjectPage::next, or empty.
  virtual Result<ObjectPage> List(const std::string& prefix, const std::string& from) = 0;
  // No error if there is none.
  virtual Status Delete(const std::string& key) = 0;
  // For people: where it is. Never a credential.
  virtual std::string Name() const = 0;
};

}  // namespace acl
