#pragma once
// What a decision says to the outside: an outbox row of its commit, which the job `deliveries` sends, at least once and under one id, and
// in the order in which one subject said it to one endpoint (shared/delivery/, docs/guides/webhooks.md).

#include <string>
#include <string_view>

#include "shared/base/sha256.h"
#include "shared/kernel/types.h"

namespace acl {

inline constexpr std::string_view kWebhookTopic = "webhook/";        // then the event: `deploy.approval_requested`
inline constexpr std::string_view kCloudEventTopic = "cloudevent/";  // then the event's type
inline constexpr std::size_t kMostPublishedBytes = 256u << 10;       // of one message's payload or data

// The id of what is said at `what`, which the sender says once: the same for ever, and no other sender's.
inline std::string MessageIdOf(std::string_view sender, std::string_view what) {
  return "msg_" + ToHex(Sha256(std::string(sender).append(1, '/').append(what))).substr(0, 32);
}

// `payload` is the body, as it is; `endpoint` a name of the coordinator's endpoints file.
inline OutboxRow WebhookMessage(std::string_view sender, const std::string& message_id, std::string_view event, const std::string& endpoint,
                                const Json& payload) {
  return {std::string(kWebhookTopic).append(event), std::string(sender),
          DumpJson({{"id", message_id}, {"endpoint", endpoint}, {"payload", payload}})};
}

// Becomes a CloudEvent 1.0 in the topic, whose id is the message's and whose subject is `subject`.
inline OutboxRow CloudEventMessage(std::string_view sender, const std::string& message_id, std::string_view type, const std::string& topic,
                                   const Json& data, const std::string& subject) {
  return {std::string(kCloudEventTopic).append(type), std::string(sender),
          DumpJson({{"id", message_id}, {"topic", topic}, {"data", data}, {"subject", subject}})};
}

}  // namespace acl
