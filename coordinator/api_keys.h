#pragma once
// Who may use the API. The keys in force are kept in memory and read again every two seconds, so that a request is judged before its body
// is read and without a query, and a revoked key is refused within two seconds.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "shared/base/clock.h"
#include "shared/http/server.h"
#include "shared/postgres/pg_key_store.h"
#include "shared/telemetry/log.h"

namespace acl::coordinator {

class ApiKeys final : public Service {
 public:
  ApiKeys(KeyStore& store, std::chrono::milliseconds refresh) : store_(store), refresh_(refresh) {}
  ~ApiKeys() override { Stop(); }

  Status Start() override;
  void Stop() override;

  // Fills `principal` with the key's name; 401 with a way out, or 503 before the keys were read for the first time.
  std::optional<HttpResponse> Authorize(HttpRequest& request) const;
  // Reads the keys now: Start does it first, the thread again and again. The error is logged too.
  Status Refresh();

 private:
  using Keys = std::unordered_map<std::string, ApiKeyRow>;  // by id

  KeyStore& store_;
  const std::chrono::milliseconds refresh_;
  const Logger log_{"api-keys"};
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false, failed_ = false;
  std::shared_ptr<const Keys> keys_;  // null: never read
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl::coordinator
