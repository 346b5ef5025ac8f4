// Items with payloads that are too large for a row wait aside until the content store has them: their subjects wait, nothing else does,
// however long an object store takes to answer.
#include "worker/worker_core.h"

namespace acl {

bool WorkerCore::SetAside(CommitItem& item, int starts) {
  bool large = false;
  for (Event& event : item.events) {
    event.apart = event.payload && event.payload->size() > config_.apart_bytes;
    large = large || event.apart;
  }
  if (!large) return false;
  const SubjectId subject = item.subject;
  aside_[subject] = Aside{std::move(item), starts};
  return true;
}

void WorkerCore::SendAside(SteadyTime now) {
  for (auto& [subject, aside] : aside_) {
    if (aside.sent || (aside.retry_at && !Due(now, aside.retry_at))) continue;
    aside.sent = true;
    command::Stash stash{subject, aside.item.token, {}};
    for (const Event& event : aside.item.events) {
      if (event.apart) stash.contents.emplace_back(event.content_hash, *event.payload);
    }
    commands_.push_back(std::move(stash));
  }
}

void WorkerCore::OnStashed(SteadyTime now, const SubjectId& subject, Token token, const Status& answer) {
  auto it = aside_.find(subject);
  if (it == aside_.end() || it->second.item.token != token || !it->second.sent || it->second.stored) return;
  it->second.stored = answer.ok();
  if (answer) return observer_.OnReached(call::kStoreLarge);
  observer_.OnUnavailable(call::kStoreLarge, answer.error());
  it->second.sent = false;
  it->second.retry_at = Backoff(now, it->second.failures);
}

}  // namespace acl
