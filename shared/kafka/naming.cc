#include "shared/kafka/naming.h"

#include <fmt/format.h>

namespace acl::kafka {

std::string StepTopic(const std::string& prefix, const std::string& queue, int priority) {
  std::string safe;
  for (const char c : queue) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    safe += plain ? std::string(1, c) : fmt::format("_{:02x}", unsigned(static_cast<unsigned char>(c)));
  }
  return fmt::format("{}.steps.{}.{}", prefix, safe, priority);
}

std::vector<std::string> StepTopics(const std::string& prefix, const std::vector<std::string>& queues) {
  std::vector<std::string> topics;
  for (const std::string& queue : queues) {
    for (int priority = 0; priority < kPriorities; ++priority) topics.push_back(StepTopic(prefix, queue, priority));
  }
  return topics;
}

std::string DeadTopic(const std::string& prefix) { return prefix + ".dead"; }

}  // namespace acl::kafka
