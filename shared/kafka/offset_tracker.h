#pragma once
// Which offset of a partition may be committed: everything before it has been dealt with in the database. Messages are dealt with in any
// order; the offset moves over a gap only when the gap is closed. So a crash repeats messages and never skips one.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

namespace acl::kafka {

class OffsetTracker {
 public:
  // A message was handed out. Offsets come in rising order (some may be missing: the log is compacted, or they are control records).
  void Out(std::int64_t offset) {
    if (next_ < 0) committed_ = offset;  // where reading began: committed already, or the beginning
    open_.insert(offset);
    next_ = offset + 1;
  }
  // It was dealt with. Repeats and offsets never handed out are ignored.
  void Done(std::int64_t offset) { open_.erase(offset); }

  // The offset to commit (the next to read after a crash), if it has moved since the last one committed.
  std::optional<std::int64_t> Committable() const {
    if (next_ < 0) return std::nullopt;
    const std::int64_t at = open_.empty() ? next_ : *open_.begin();
    if (at <= committed_) return std::nullopt;
    return at;
  }
  void Committed(std::int64_t offset) {
    if (offset > committed_) committed_ = offset;
  }
  // Messages from the place that may be committed to the partition's end; 0 while nothing was read.
  std::int64_t Behind(std::int64_t end) const {
    if (next_ < 0) return 0;
    return std::max<std::int64_t>(0, end - (open_.empty() ? next_ : *open_.begin()));
  }
  std::size_t open() const { return open_.size(); }

 private:
  std::set<std::int64_t> open_;
  std::int64_t next_ = -1, committed_ = -1;
};

}  // namespace acl::kafka
