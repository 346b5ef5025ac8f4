#pragma once
// Sequence, hashes, chain, state roots, snapshots and head of one subject: everything that a replay shows.

#include <map>
#include <set>

#include "shared/verify/subject_check.h"

namespace acl::verify {

// Walks the journal once. A state that is lost (content removed, delta that does not apply) is found again at the next snapshot.
class JournalWalk {
 public:
  JournalWalk(const SubjectRows& rows, const ChunkReader& read_chunk, Report& report);
  // The payload as read on the way; nullopt if it was removed or does not verify.
  std::optional<Json> Step(const Event& event);
  void Finish();
  // By replay, up to here; nullopt if it is not known.
  const std::optional<Document>& state() const { return state_; }

 private:
  std::string Key(std::int64_t seq) const;
  void Begin(std::int64_t first);
  // `payload`: as read; null if it was removed or does not verify. `chain_before`: of the event before.
  void Segment(const Event& event, const Json* payload, const Hash256& chain_before);
  void BeginsSegment(const Event& event, const Json* payload, const Hash256& chain_before);
  const SegmentRow* SegmentAt(std::int64_t first_seq) const;
  void Replay(const Event& event, const Json& payload);
  void Compare(const Event& event);

  const SubjectRows& rows_;
  Report& report_;
  const std::string subject_;
  std::map<std::int64_t, Document> snapshots_;  // those that decode
  bool begun_ = false;
  std::int64_t expected_ = 1;
  Hash256 chain_{};
  std::optional<Document> state_;
  WallTime last_timestamp_ = WallTime::min();
  std::vector<JournalId> journals_;  // segments in the order met
  std::int64_t first_ = 1;           // event that is kept
  std::int64_t last_start_ = 1;      // the first event of the last of them
  std::set<std::int64_t> starts_;    // of those that are not the first
};

}  // namespace acl::verify
