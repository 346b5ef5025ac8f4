#pragma once
// Who may use the API. The keys in force are kept in memory and read again every two seconds, so that a request is judged before its body
// is read and without a query, and a revoked key is refused within two seconds. A key that was made meanwhile is looked for at once.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "coordinator/key_looks.h"
#include "shared/base/clock.h"
#include "shared/http/server.h"
#include "shared/postgres/pg_key_store.h"
#include "shared/telemetry/outage.h"

namespace acl::coordinator {

class ApiKeys final : public Service {
 public:
  ApiKeys(KeyStore& store, std::chrono::milliseconds refresh, const Clock& clock)
      : store_(store), refresh_(refresh), clock_(clock), looks_(refresh) {}
  ~ApiKeys() override { Stop(); }

  Status Start() override;
  void Stop() override;

  // Fills `principal` with the key's name; 401 with a way out, or 503 before the keys were read for the first time. `undecided`: the key is
  // not among those known, may have been made since they were read, and LookAgain may be asked. Not for a key that was looked for within
  // the last two seconds, and not more often than wrong keys may make the database work (key_looks.h).
  std::optional<HttpResponse> Authorize(HttpRequest& request);
  // Reads the keys and judges once more. Blocks.
  std::optional<HttpResponse> LookAgain(HttpRequest& request);
  // Reads the keys now: Start does it first, the thread again and again. The error is logged too.
  Status Refresh();

 private:
  using Keys = std::unordered_map<std::string, ApiKeyRow>;  // by id
  enum class Standing { kKnown, kUnknown, kWrong, kNotRead, kNoKey };

  // Fills `principal` if it is known, `id` if there is one.
  Standing Judge(HttpRequest& request, std::string* id) const;
  static std::optional<HttpResponse> Answer(Standing standing, const HttpRequest& request);

  KeyStore& store_;
  const std::chrono::milliseconds refresh_;
  const Clock& clock_;
  OutageLog outage_{Logger("api-keys"),
                    clock_,
                    {"cannot read the API keys; those known stay in force", "the API keys are read again"},
                    {.settle = std::chrono::milliseconds(0)}};
  std::mutex reading_;  // from the database, until what was read is in force; taken before mutex_
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  KeyLooks looks_;
  std::shared_ptr<const Keys> keys_;  // null: never read
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl::coordinator
