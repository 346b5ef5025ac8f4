#pragma once
// Names of the fleet's topics: PREFIX.steps.QUEUE.PRIORITY, one for each queue and priority priority; PREFIX.dead for what nobody can deal
// with.

#include <string>
#include <vector>

namespace acl::kafka {

inline constexpr int kPriorities = 4;

// Characters that a topic may not have become _ and two hex digits, _ itself too, so that two queues never share a topic.
std::string StepTopic(const std::string& prefix, const std::string& queue, int priority);
// Of all priorities of these queues.
std::vector<std::string> StepTopics(const std::string& prefix, const std::vector<std::string>& queues);
std::string DeadTopic(const std::string& prefix);

}  // namespace acl::kafka
