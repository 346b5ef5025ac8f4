#pragma once
// Server-sent events of journals: one thread follows all streams of this process, asks the database for what is new, and ends a stream
// when its run has ended and everything was sent. A reader that is slow gets the rest later: nothing is read for it until it has taken most
// of what it was sent. Streams take turns, each a small page; a stream that has much to catch up with goes behind those that follow.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "shared/http/message.h"
#include "shared/kernel/queries.h"
#include "shared/runtime/service.h"

namespace acl::coordinator {

class EventFeed final : public Service {
 public:
  struct Options {
    std::size_t max_streams = 256;
    int page = 200;                                   // events read at once for one stream,
    std::size_t page_bytes = 256 * 1024;              // and their payloads, one event at least
    std::size_t large_bytes = 64u << 20;              // of events larger than that, what may wait for readers, all streams together
    std::chrono::milliseconds busy{50}, idle{1'000};  // between two looks at a run: after news, at most
    std::chrono::milliseconds keep_alive{15'000};
  };

  EventFeed(Queries& queries, const Clock& clock) : EventFeed(queries, clock, Options{}) {}
  EventFeed(Queries& queries, const Clock& clock, Options options) : queries_(queries), clock_(clock), options_(options) {}
  ~EventFeed() override { Stop(); }

  Status Start() override;
  void Stop() override;  // ends all streams

  // A place for one more stream; false if there is none (503). The caller then calls Follow once or Release.
  bool Reserve();
  void Release();
  // From the first event after `after_seq` on. Never blocks.
  void Follow(const SubjectId& subject, std::int64_t after_seq, std::shared_ptr<HttpStream> stream);
  // Something happened to this subject: look now.
  void Nudge(const SubjectId& subject);

 private:
  struct Follower {
    SubjectId subject;
    std::int64_t after_seq = 0;
    std::shared_ptr<HttpStream> stream;
    SteadyTime due, last_written;
    std::chrono::milliseconds pause{0};
    bool behind = false;         // there is more to read for it than one page
    bool wants_empty = false;    // what comes next fits only once it has taken everything
    std::size_t next_bytes = 0;  // of the next event, if it is known and waits for what other readers have not taken
  };

  void RunUntilStopped();
  // Whose turn it is; null if nobody's is due.
  Follower* Next(SteadyTime now);
  // False: the stream has ended.
  bool Look(Follower& follower);
  // False: it was not taken.
  bool Send(Follower& follower, const std::string& text, std::int64_t seq);
  bool HasRoomFor(const Follower& follower, std::size_t bytes) const;

  Queries& queries_;
  const Clock& clock_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::size_t reserved_ = 0;  // places taken, followers included
  std::vector<Follower> arriving_;
  std::vector<SubjectId> nudged_;
  std::mutex lifecycle_;
  std::thread thread_;
  std::vector<Follower> followers_;  // the thread's own, as what follows
  int turns_since_behind_ = 0;
};

}  // namespace acl::coordinator
