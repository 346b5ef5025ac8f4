#pragma once
// The model client over HTTP: one provider, its protocol, its limits, its retries. It stands on the client of net.http
// (shared/capability/http_client.h): that one's rules for addresses, no redirects, no proxy from the environment. The key goes to the
// provider's own origin only.
//
//   auto client = HttpModelClient::Make(provider, key, clock, random);
//   if (!client) return client.error();
//   (*client)->Invoke(request, hooks);

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "shared/aegis/provider/model_client.h"
#include "shared/aegis/provider/provider_config.h"
#include "shared/base/random.h"
#include "shared/capability/http_client.h"

namespace acl::aegis {

class HttpModelClient final : public ModelClient {
 public:
  // kInvalid, kDenied: a configuration that cannot work. Nothing is asked of the provider yet. Clock and random outlive the client.
  static Result<std::unique_ptr<HttpModelClient>> Make(ProviderConfig provider, std::string key, const Clock& clock, Random& random);

  ModelResult Invoke(const ModelRequest& request, const ModelHooks& hooks) override;
  const ProviderConfig& provider() const { return provider_; }

 private:
  struct Call;  // what every attempt of one Invoke has in common

  HttpModelClient(ProviderConfig provider, std::string key, HttpConfig config, const Clock& clock, Random& random);
  std::optional<ModelFailure> TakeTurn(Call& call);
  void ReturnTurn(const Call& call, const ModelResult& result);
  ModelResult Attempt(Call& call);
  ModelResult OfEnd(const Call& call, const HttpAnswer& answer) const;
  double Unit();
  bool Pause(const Call& call, std::chrono::milliseconds wait);
  ModelResult Completed(ModelResult result, const Call& call) const;

  const ProviderConfig provider_;
  const std::string key_;  // secret
  const Protocol& protocol_;
  const Clock& clock_;
  Random& random_;
  std::mutex mutex_;  // of the limiter and of random_
  std::condition_variable changed_;
  CallLimiter limiter_;
  HttpClient client_;
};

}  // namespace acl::aegis
