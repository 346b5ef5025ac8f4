#include "coordinator/api/event_feed.h"

#include <pthread.h>

#include "coordinator/api/json_views.h"
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
      arriving_.push_back({subject, after_seq, std::move(stream), clock_.Steady(), clock_.Steady(), options_.busy});
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

// Those that follow before those that catch up, but some of these between them.
EventFeed::Follower* EventFeed::Next(SteadyTime now) {
  constexpr int kFollowingFirst = 8;
  Follower *following = nullptr, *behind = nullptr;
  for (Follower& follower : followers_) {
    if (follower.due > now) continue;
    Follower*& first = follower.behind ? behind : following;
    if (first == nullptr || follower.due < first->due) first = &follower;
  }
  if (behind != nullptr && (following == nullptr || turns_since_behind_ >= kFollowingFirst)) {
    turns_since_behind_ = 0;
    return behind;
  }
  ++turns_since_behind_;
  return following;
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
    if (!nudged.empty()) {
      for (Follower& follower : followers_) {
        if (std::find(nudged.begin(), nudged.end(), follower.subject) != nudged.end()) follower.due = std::min(follower.due, started);
      }
    }
    std::size_t gone = 0;
    if (Follower* follower = Next(started)) {
      bool stays = false;
      if (!WithinMemory([&] { stays = Look(*follower); })) follower->stream->End();  // its reader comes again, from where it was
      if (!stays) {
        if (follower != &followers_.back()) std::swap(*follower, followers_.back());
        followers_.pop_back();
        gone = 1;
      }
    }
    lock.lock();
    reserved_ -= gone;
  }
  for (auto& follower : arriving_) followers_.push_back(std::move(follower));
  arriving_.clear();
  lock.unlock();
  for (auto& follower : followers_) follower.stream->End();
  followers_.clear();
}

bool EventFeed::Send(Follower& follower, const std::string& text, std::int64_t seq) {
  const HttpStream::Wrote wrote = follower.stream->Write(text);
  if (wrote == HttpStream::Wrote::kFull) follower.wants_empty = true;
  if (wrote != HttpStream::Wrote::kOk) return false;
  follower.after_seq = std::max(follower.after_seq, seq);
  follower.last_written = clock_.Steady();
  return true;
}

// Events up to a page are bounded by the number of streams; of larger ones only so many bytes wait at one time, but one always may.
bool EventFeed::HasRoomFor(const Follower& follower, std::size_t bytes) const {
  if (bytes <= options_.page_bytes) return true;
  std::size_t waiting = 0;
  for (const Follower& other : followers_) {
    const std::size_t of_it = &other == &follower ? 0 : other.stream->waiting();
    waiting += of_it > HttpStream::kMaxBuffered ? of_it : 0;
  }
  return waiting == 0 || waiting + bytes <= options_.large_bytes;
}

bool EventFeed::Look(Follower& follower) {
  if (follower.stream->closed()) return false;
  follower.pause = std::min(follower.pause * 2, options_.idle);
  follower.due = clock_.Steady() + follower.pause;
  // Nothing is read for a reader that has not taken what it was sent: reading costs the others their turns.
  if (follower.stream->waiting() > (follower.wants_empty ? 0 : HttpStream::kMaxBuffered / 2)) return true;
  if (!HasRoomFor(follower, follower.next_bytes)) return true;
  follower.wants_empty = false;
  follower.next_bytes = 0;
  // Asked before the events: an event that comes between the two is found next time.
  auto view = queries_.GetSubject(follower.subject);
  auto page = view ? queries_.Events(follower.subject, follower.after_seq, options_.page, options_.page_bytes)
                   : Result<std::vector<Event>>(view.error());
  if (!page) {
    // The database is away: the stream waits as everybody does. A subject that is gone ends it.
    if (page.code() != Code::kNotFound) return true;
    follower.stream->End();
    return false;
  }
  if (Json dropped = page->empty() ? Json() : DroppedToJson(follower.subject, follower.after_seq, page->front().seq); !dropped.is_null()) {
    const std::int64_t last = page->front().seq - 1;
    const std::string text = DumpJson({{"dropped", std::move(dropped)}});
    if (!Send(follower, FormatSseEvent(std::to_string(last), "dropped", text), last)) return !follower.stream->closed();
  }
  for (const auto& event : *page) {
    const std::size_t bytes = event.payload ? event.payload->size() : 0;
    if (!HasRoomFor(follower, bytes)) {
      follower.next_bytes = bytes;
      return true;
    }
    if (!Send(follower, FormatSseEvent(std::to_string(event.seq), event.type, EventText(event)), event.seq)) {
      return !follower.stream->closed();
    }
  }
  follower.behind = follower.after_seq < view->head.seq;
  if (!page->empty()) {
    follower.pause = options_.busy;
    follower.due = clock_.Steady() + (follower.behind ? milliseconds(0) : follower.pause);
  }
  if (view->state == OpenState::kClosed && !follower.behind) {
    const std::string status = view->listing ? view->listing->status : "";
    Send(follower, FormatSseEvent(std::to_string(follower.after_seq), "end", DumpJson({{"status", status}})), follower.after_seq);
    if (follower.wants_empty) return true;
    follower.stream->End();
    return false;
  }
  if (clock_.Steady() - follower.last_written > options_.keep_alive) Send(follower, std::string(kSseKeepAlive), 0);
  return !follower.stream->closed();
}

}  // namespace acl::coordinator
