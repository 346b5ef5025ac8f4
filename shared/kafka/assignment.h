#pragma once
// What a member of a consumer group was assigned, as its leader wrote it: version, topics with their partitions, bytes of the assignor's
// own (Kafka's protocol guide, "ConsumerProtocolAssignment"; big-endian). Pure.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace acl::kafka {

// Empty: nothing was assigned, or these bytes say something else. Of a version after ours what we know of it.
std::vector<std::pair<std::string, int>> ReadAssignment(std::string_view bytes);

}  // namespace acl::kafka
