#pragma once
// How a capability asks a coordinator over its API: for what no worker does itself (language models, projects). The step's idempotency key
// goes along, so that a coordinator that was asked before gives the first answer again.

#include <memory>
#include <string>
#include <vector>

#include "shared/capability/capability.h"
#include "shared/capability/config.h"
#include "shared/capability/http_client.h"

namespace acl {

class CoordinatorDoor {
 public:
  // kInvalid: an address that is none, or a key that would cross the network in plain text.
  static Result<std::shared_ptr<CoordinatorDoor>> Make(const AskConfig& config);

  // Waits for the answer, until the call's deadline or stop. `which`: counted over all addresses, the next one with each attempt.
  HttpAnswer Send(std::size_t which, const std::string& method, const std::string& path, const std::string& body,
                  const CallContext& context);

  // Until it is asked again. Set if the step's time is over, or it is to stop; `doing`: for the message.
  static std::optional<StepResult> Pause(const CallContext& context, const std::string& doing);

 private:
  CoordinatorDoor(HttpConfig http, std::vector<std::string> urls, std::string key)
      : urls_(std::move(urls)), key_(std::move(key)), client_(std::move(http)) {}

  const std::vector<std::string> urls_;
  const std::string key_;
  HttpClient client_;
};

}  // namespace acl
