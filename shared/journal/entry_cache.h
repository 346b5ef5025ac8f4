#pragma once
// Entries with which many subjects begin, such as the definition of a workflow. Where the payload of a first event holds the text of one
// word for word, its value is shared between the subjects, with its hash, instead of being read, hashed and kept again for each of them.
//
// A short cut only: it answers when all that the long way checks holds (restore.cc), and nothing else; what it does not answer is read the
// long way.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shared/journal/document.h"
#include "shared/journal/event.h"

namespace acl {

class EntryCache {
 public:
  // Below this it is not worth it; what is above is not kept.
  static constexpr std::size_t kLeastBytes = 512, kMostBytes = 64 * 1024;

  // At most `max` entries, the longest not asked for are forgotten.
  explicit EntryCache(std::size_t max = 64) : max_(max) {}

  // The state after the event, if its payload puts an entry that is known, has the event's checksum, and leads to the root that it names.
  // The caller has checked the event's content hash and chain.
  std::optional<Document> Replay(const Event& event, const Document& state);
  // The event was read the long way and led to `state`. What it put is known when it comes for the second time.
  void Learn(const Event& event, const Document& state);

  std::size_t size() const;
  std::size_t names() const;  // of entries that one payload is looked through for

 private:
  using LeafPtr = std::shared_ptr<const trie::Leaf>;
  struct Entry {
    std::string before;           // how a payload puts it: what stands in front of its value
    std::string text, canonical;  // of its value
    LeafPtr leaf;
  };
  using EntryPtr = std::shared_ptr<const Entry>;
  struct Found {
    std::size_t at = 0;  // its text in the payload
    EntryPtr entry;
  };

  std::vector<Found> Find(std::string_view payload);
  bool SeenBefore(const LeafPtr& leaf);
  void Keep(EntryPtr entry);

  const std::size_t max_;
  mutable std::mutex mutex_;
  // By `before`; of each, the one asked for last in front.
  std::map<std::string, std::list<EntryPtr>> known_;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> seen_;  // once: the beginnings of their hashes, each in its place
};

}  // namespace acl
