#pragma once
// The ledger behind HTTP on loopback: PUT or POST /effects/{run}/{step} with Idempotency-Key, Fencing-Token and Fencing-Scope, as every
// call of a step carries them. 200: applied or replayed; 412: the token is stale; 422: the key was used for something else.

#include <memory>
#include <mutex>

#include "chaos/effects/ledger.h"
#include "shared/base/clock.h"
#include "shared/http/server.h"

namespace acl::chaos {

class EffectsServer {
 public:
  static Result<std::unique_ptr<EffectsServer>> Start(const Clock& clock);
  ~EffectsServer();

  std::uint16_t port() const { return server_->address().port; }
  std::vector<LedgerEntry> Entries() const;
  int Count(Verdict verdict) const;

 private:
  explicit EffectsServer(const Clock& clock) : clock_(clock) {}
  HttpResponse Take(const HttpRequest& request);

  const Clock& clock_;
  mutable std::mutex mutex_;
  EffectLedger ledger_;
  Metrics metrics_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace acl::chaos
