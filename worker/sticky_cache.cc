#include "worker/sticky_cache.h"

#include <utility>

namespace acl {

namespace {

// In memory an entry of a state is some times as long as its text, and has a hash.
constexpr std::size_t kAtLeast = 1024;

}  // namespace

void StickyCache::Put(const SubjectId& subject, State state) {
  const std::size_t bytes = kAtLeast + state.restored.state.stored_bytes();
  if (bytes > max_bytes_) return Forget(subject);
  std::lock_guard lock(mutex_);
  (void)TakeLocked(subject);
  while (bytes_ + bytes > max_bytes_) (void)TakeLocked(SubjectId(in_turn_.front()));
  const auto place = in_turn_.insert(in_turn_.end(), subject);
  kept_.emplace(subject, Kept{std::move(state), bytes, place});
  bytes_ += bytes;
}

Token StickyCache::ReleasedToken(const SubjectId& subject) const {
  std::lock_guard lock(mutex_);
  const auto it = kept_.find(subject);
  return it == kept_.end() ? Token{} : it->second.state.token;
}

std::optional<StickyCache::State> StickyCache::Take(const SubjectId& subject) {
  std::lock_guard lock(mutex_);
  return TakeLocked(subject);
}

std::optional<StickyCache::State> StickyCache::TakeLocked(const SubjectId& subject) {
  const auto it = kept_.find(subject);
  if (it == kept_.end()) return std::nullopt;
  std::optional<State> state(std::move(it->second.state));
  bytes_ -= it->second.bytes;
  in_turn_.erase(it->second.place);
  kept_.erase(it);
  return state;
}

std::size_t StickyCache::size() const {
  std::lock_guard lock(mutex_);
  return kept_.size();
}

std::size_t StickyCache::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace acl
