#include "coordinator/api/event_feed.h"

#include <pthread.h>

#include "coordinator/api/forms.h"
#include "shared/base/memory.h"
#include "shared/http/sse.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

Status EventFeed::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "event-feed");
    RunUntilStopped();
  });
  return {};
}

void EventFeed::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool EventFeed::Reserve() {
  std::lock_guard lock(mutex_);
  if (stopping_ || reserved_ >= options_.max_streams) return false;
  ++reserved_;
  return true;
}

void EventFeed::Release() {
  std::lock_guard lock(mutex_);
  --reserved_;
}

void EventFeed::Follow(const SubjectId& subject, std::int64_t after_seq, std::shared_ptr<HttpStream> stream) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) {
      arriving_.push_back({subject, after_seq, std::move(stream), clock_.Steady(), clock_.Steady(), options_.busy, "", 0});
      stream = nullptr;
    } else {
      --reserved_;
    }
  }
  if (stream) stream->End();
  changed_.notify_all();
}

void EventFeed::Nudge(const SubjectId& subject) {
  {
    std::lock_guard lock(mutex_);
    if (reserved_ == 0 || nudged_.size() > 10'000) return;
    nudged_.push_back(subject);
  }
  changed_.notify_all();
}

void EventFeed::RunUntilStopped() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const SteadyTime now = clock_.Steady();
    SteadyTime next = now + milliseconds(60'000);
    for (const auto& follower : followers_) next = std::min(next, follower.due);
    changed_.wait_for(lock, std::max(next - now, SteadyTime::duration(0)),
                      [this] { return stopping_ || !arriving_.empty() || !nudged_.empty(); });
    for (auto& arrived : arriving_) followers_.push_back(std::move(arrived));
    arriving_.clear();
    const auto nudged = std::move(nudged_);
    nudged_.clear();
    if (stopping_) break;
    lock.unlock();
    const SteadyTime started = clock_.Steady();
    const auto ended = std::remove_if(followers_.begin(), followers_.end(), [&](Follower& follower) {
      const bool called = std::find(nudged.begin(), nudged.end(), follower.subject) != nudged.end();
      if (!called && follower.due > started) return false;
      bool stays = false;
      if (!WithinMemory([&] { stays = Look(follower); })) follower.stream->End();  // its reader comes again, from where it was
      return !stays;
    });
    const auto gone = std::size_t(followers_.end() - ended);
    followers_.erase(ended, followers_.end());
    lock.lock();
    reserved_ -= gone;
  }
  for (auto& follower : arriving_) followers_.push_back(std::move(follower));
  arriving_.clear();
  lock.unlock();
  for (auto& follower : followers_) follower.stream->End();
  followers_.clear();
}

bool EventFeed::Send(Follower& follower, std::string text, std::int64_t seq) {
  switch (follower.stream->Write(text)) {
    case HttpStream::Wrote::kOk:
      follower.after_seq = std::max(follower.after_seq, seq);
      follower.last_written = clock_.Steady();
      return true;
    case HttpStream::Wrote::kFull:
      follower.held = std::move(text);
      follower.held_seq = seq;
      return false;
    case HttpStream::Wrote::kClosed: break;
  }
  return false;
}

bool EventFeed::Look(Follower& follower) {
  if (follower.stream->closed()) return false;
  follower.pause = std::min(follower.pause * 2, options_.idle);
  follower.due = clock_.Steady() + follower.pause;
  if (!follower.held.empty()) {
    const auto text = std::exchange(follower.held, "");
    if (!Send(follower, text, follower.held_seq)) return !follower.stream->closed();
  }
  // Asked before the events: an event that comes between the two is found next time.
  auto view = queries_.GetSubject(follower.subject);
  auto page = view ? queries_.Events(follower.subject, follower.after_seq, options_.page, limits::kPageBytes)
                   : Result<std::vector<Event>>(view.error());
  if (!page) {
    // The database is away: the stream waits as everybody does. A subject that is gone ends it.
    if (page.code() != Code::kNotFound) return true;
    follower.stream->End();
    return false;
  }
  for (const auto& event : *page) {
    if (!Send(follower, FormatSseEvent(std::to_string(event.seq), event.type, DumpJson(EventToJson(event))), event.seq)) {
      return !follower.stream->closed();
    }
  }
  if (!page->empty()) {
    follower.pause = options_.busy;
    follower.due = clock_.Steady() + (follower.after_seq < view->head.seq ? milliseconds(0) : follower.pause);
  }
  if (view->state == OpenState::kClosed && follower.after_seq >= view->head.seq) {
    const std::string status = view->listing ? view->listing->status : "";
    Send(follower, FormatSseEvent(std::to_string(follower.after_seq), "end", DumpJson({{"status", status}})), follower.after_seq);
    follower.stream->End();
    return false;
  }
  if (clock_.Steady() - follower.last_written > options_.keep_alive) Send(follower, std::string(kSseKeepAlive), 0);
  return !follower.stream->closed();
}

}  // namespace acl::coordinator
