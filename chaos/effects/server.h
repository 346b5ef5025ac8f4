#pragma once
// The ledger behind HTTP on loopback: PUT or POST /effects/{run}/{step} with Idempotency-Key, Fencing-Token and Fencing-Scope, as every
// call of a step carries them. 200: applied or replayed; 412: the token is stale; 422: the key was used for something else. With keys it
// wants each call signed as a Standard Webhook, under the idempotency key as its id, and notes whether it was.

#include <memory>
#include <mutex>

#include "chaos/effects/ledger.h"
#include "shared/base/clock.h"
#include "shared/http/server.h"
#include "shared/webhook/webhook.h"

namespace acl::chaos {

class EffectsServer {
 public:
  static Result<std::unique_ptr<EffectsServer>> Start(const Clock& clock, std::vector<webhook::Key> keys = {});
  ~EffectsServer();

  std::uint16_t port() const { return server_->address().port; }
  std::vector<LedgerEntry> Entries() const;
  int Count(Verdict verdict) const;

 private:
  EffectsServer(const Clock& clock, std::vector<webhook::Key> keys) : clock_(clock), keys_(std::move(keys)) {}
  HttpResponse Take(const HttpRequest& request);

  const Clock& clock_;
  const std::vector<webhook::Key> keys_;
  mutable std::mutex mutex_;
  EffectLedger ledger_;
  Metrics metrics_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace acl::chaos
