// Items with payloads that are too large for a row wait aside until the content store has them: their subjects wait, nothing else does,
// however long an object store takes to answer.
#include "worker/worker_core.h"

namespace acl {

bool WorkerCore::Offload(CommitItem& item, int starts) {
  bool large = false;
  for (Event& event : item.events) {
    event.offloaded = event.payload && event.payload->size() > config_.offload_bytes;
    large = large || event.offloaded;
  }
  if (!large) return false;
  const SubjectId subject = item.subject;
  offloading_[subject] = Offloading{std::move(item), starts};
  return true;
}

void WorkerCore::SendOffloads(SteadyTime now) {
  for (auto& [subject, aside] : offloading_) {
    if (aside.sent || (aside.retry_at && !Due(now, aside.retry_at))) continue;
    aside.sent = true;
    command::StorePayloads store_payloads{subject, aside.item.token, {}};
    for (const Event& event : aside.item.events) {
      if (event.offloaded) store_payloads.contents.emplace_back(event.content_hash, *event.payload);
    }
    commands_.push_back(std::move(store_payloads));
  }
}

void WorkerCore::OnOffloaded(SteadyTime now, const SubjectId& subject, Token token, const Status& answer) {
  auto it = offloading_.find(subject);
  if (it == offloading_.end() || it->second.item.token != token || !it->second.sent || it->second.stored) return;
  it->second.stored = answer.ok();
  if (answer) return observer_.OnReached(call::kStoreLarge);
  observer_.OnUnavailable(call::kStoreLarge, answer.error());
  it->second.sent = false;
  it->second.retry_at = Backoff(now, it->second.failures);
}

}  // namespace acl
