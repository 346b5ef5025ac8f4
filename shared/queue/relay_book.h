#pragma once
// What the relay of one shard has sent and not seen claimed (docs/architecture.md#ready). The ready table is the truth; this is memory
// only: a relay that begins anew sends what is there once more, and whoever reads drops what is gone.
//
//   look:  rows behind the mark, sent at once; the mark moves with what is sent. Every `late_every` it begins `late_within` before
//          the last that did: a row has the time of its statement and is seen when that has committed, often after rows of a later time
//   sweep: every few seconds from zero up to the mark: rows that a late transaction put before it are sent, rows that were sent long ago
//          are sent again (less and less often), and what is not there any more is forgotten
//   told:  rows that somebody says are there, sent without a look. Nobody vouches for it, so only of queues and priorities that were seen
//   in the
//          table, and only so many that were not seen there yet
//
// Bounded: while `max_out` rows are sent and unclaimed no more are sent; the mark stays, the rest waits in the table.

#include <map>
#include <optional>
#include <vector>

#include "shared/kernel/types.h"

namespace acl {

class RelayBook {
 public:
  struct Options {
    std::size_t max_out = 20'000, max_hinted = 8'000;
    milliseconds late_every{40}, late_within{200};  // what commits later than this finds the sweep
    milliseconds sweep_every{2'000};
    milliseconds again_min{5'000}, again_max{300'000};  // doubling from one to the other
    milliseconds failed_after{500};                     // a send that failed is tried again so much later
  };

  RelayBook() : RelayBook(Options()) {}
  explicit RelayBook(Options options) : options_(options) {}

  // -- looking
  bool room() const { return sent_.size() < options_.max_out; }
  // The rows of an answer: the database's time then, from which now is counted.
  void Heard(SteadyTime now, WallTime db_now) { heard_ = {now, db_now}; }
  // From where to read each lane.
  std::vector<ReadyKey> Marks(SteadyTime now);
  // How long that look took: those that begin further back take a tenth of the time at most.
  void Looked(SteadyTime began, SteadyTime ended);
  // Something that was sent may have another before it that is not to be seen yet.
  bool MayBeLate(SteadyTime now) const { return now < last_sent_ + options_.late_within; }
  milliseconds late_every() const { return options_.late_every; }
  // There may be more behind this one, the last of a full page: the next Marks are behind it. Else a look begins anew.
  void BeginPage() { pages_.clear(); }
  void GoOnBehind(const ReadyKey& last) { pages_[{last.queue, last.priority}] = {last.ready_at, last.subject}; }
  // 0: do not send now; n: send it, the n-th time.
  int Wanted(SteadyTime now, const ReadyKey& key) const;
  // Sent; the mark moves behind it if it is a look's.
  void Sent(SteadyTime now, const ReadyKey& key);
  void Moved(const ReadyKey& key);
  void Failed(SteadyTime now, const ReadyKey& key);

  // -- telling
  // Whether a row that somebody told of may be sent, if it is wanted.
  bool WithinTrustLimit(const ReadyKey& key) const { return unseen_ < options_.max_hinted && marks_.contains({key.queue, key.priority}); }
  // It was sent because of that.
  void Hinted(const ReadyKey& key);

  // -- sweeping: Begin, Seen for each row found up to the marks, End
  bool SweepDue(SteadyTime now) const { return !sweeping_ && now >= sweep_at_; }
  bool sweeping() const { return sweeping_; }
  void BeginSweep(SteadyTime now);
  std::vector<ReadyKey> SweepMarks() const;
  // Whether the row is one the sweep is about: not behind the mark.
  bool Seen(const ReadyKey& key);
  void EndSweep(SteadyTime now);

  std::size_t out() const { return sent_.size(); }

 private:
  struct Sending {
    SteadyTime sent_at, again_at;
    int times = 0;
    std::uint64_t seen = 0;  // the last sweep that saw it
    bool unseen = false;     // told, and no look or sweep has found it
  };
  using Lane = std::pair<std::string, int>;
  using Place = std::pair<WallTime, SubjectId>;

  // A look or a sweep has found its row in the table: it is not just told any more.
  std::map<ReadyKey, Sending>::iterator FoundInTable(const ReadyKey& key);

  const Options options_;
  std::map<ReadyKey, Sending> sent_;
  std::size_t unseen_ = 0;
  std::map<Lane, Place> marks_, pages_, cursor_;
  std::optional<std::pair<SteadyTime, WallTime>> heard_;
  SteadyTime late_look_at_{}, last_sent_{};
  bool late_look_ = false;                         // the last one began further back
  WallTime late_look_time_{}, late_look_began_{};  // when, by the database's clock; when the last of them that was answered
  bool sweeping_ = false;
  std::uint64_t sweep_ = 0;
  SteadyTime sweep_at_{}, sweep_began_{}, sweep_before_began_{};
};

}  // namespace acl
