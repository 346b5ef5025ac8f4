#include "shared/queue/grant_book.h"

#include <algorithm>

namespace acl {

namespace {
bool Has(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}
}  // namespace

void GrantBook::Hello(std::int64_t peer, const WorkerSessionId& session, std::vector<std::string> queues) {
  std::lock_guard lock(mutex_);
  peers_[peer] = Peer{session, std::move(queues), {}, 0, 0, 0};
}

void GrantBook::Room(std::int64_t number, const WorkerSessionId& session, std::uint64_t limit, int known_version,
                     std::vector<std::string> kinds) {
  std::lock_guard lock(mutex_);
  auto peer = peers_.find(number);
  if (peer == peers_.end() || session.is_nil() || peer->second.session != session) return;
  peer->second.limit = std::min(limit, peer->second.taken + kMostFree);
  peer->second.known_version = known_version;
  peer->second.kinds = std::move(kinds);
}

void GrantBook::Gone(std::int64_t peer) {
  std::lock_guard lock(mutex_);
  peers_.erase(peer);
}

bool GrantBook::Serves(const std::string& queue) {
  std::lock_guard lock(mutex_);
  return std::any_of(peers_.begin(), peers_.end(), [&](const auto& peer) { return Has(peer.second.queues, queue); });
}

std::optional<WorkerSessionId> GrantBook::Take(const CreateItem& item) {
  if (!Grantable(item)) return std::nullopt;
  std::lock_guard lock(mutex_);
  Peer* best = nullptr;
  for (auto& [number, peer] : peers_) {
    const bool can =
        peer.free() > 0 && peer.known_version >= item.required_version && Has(peer.queues, item.queue) && Has(peer.kinds, item.kind);
    if (can && (best == nullptr || peer.free() > best->free())) best = &peer;
  }
  if (best == nullptr) return std::nullopt;
  ++best->taken;
  return best->session;
}

GrantBook::Peer* GrantBook::Find(const WorkerSessionId& session) {
  auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const auto& one) { return one.second.session == session; });
  return peer == peers_.end() ? nullptr : &peer->second;
}

void GrantBook::PutBack(const WorkerSessionId& session) {
  std::lock_guard lock(mutex_);
  if (Peer* peer = Find(session); peer != nullptr && peer->taken > 0) --peer->taken;
}

void GrantBook::Dead(const WorkerSessionId& session) {
  std::lock_guard lock(mutex_);
  if (Peer* peer = Find(session)) peer->limit = 0;
}

}  // namespace acl
