#pragma once
// Reads what a topic keeps, from the beginning to where it ended when the reading began; joins no group, moves no offset.

#include "shared/kafka/consumer.h"

namespace acl::kafka {

// kNotFound: there is no such topic. kTimeout: not done in time.
Result<std::vector<Received>> ReadTopic(const ClientSettings& settings, const std::string& topic, std::chrono::milliseconds within);

}  // namespace acl::kafka
