#include "shared/http/stream_handle.h"

#include "shared/http/response_head.h"

namespace acl::internal {

HttpStream::Wrote StreamHandle::Write(std::string_view bytes) {
  std::lock_guard lock(mutex_);
  if (closed_ || ended_) return Wrote::kClosed;
  const std::size_t waiting = pending_.size() + in_flight_;
  if (waiting > 0 && waiting + bytes.size() > kMaxBuffered) return Wrote::kFull;  // one large part alone is taken
  pending_ += chunked_ ? FormatChunk(bytes) : std::string(bytes);
  if (!woken_) {
    woken_ = true;
    wake_();
  }
  return Wrote::kOk;
}

void StreamHandle::End() {
  std::lock_guard lock(mutex_);
  if (closed_ || ended_) return;
  ended_ = true;
  if (!woken_) {
    woken_ = true;
    wake_();
  }
}

bool StreamHandle::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t StreamHandle::waiting() const {
  std::lock_guard lock(mutex_);
  return pending_.size() + in_flight_;
}

std::string StreamHandle::Take(bool* last) {
  std::lock_guard lock(mutex_);
  std::string out = std::move(pending_);
  pending_.clear();
  *last = ended_;
  if (ended_ && chunked_) out += "0\r\n\r\n";
  in_flight_ = out.size();
  if (out.empty()) woken_ = false;  // nothing is under way: the next Write wakes again
  return out;
}

void StreamHandle::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  std::string().swap(pending_);
  wake_ = nullptr;
}

}  // namespace acl::internal
