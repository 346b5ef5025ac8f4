#include "shared/kafka/naming.h"

#include <fmt/format.h>

namespace acl::kafka {

std::string StepTopic(const std::string& prefix, const std::string& queue, int band) {
  std::string safe;
  for (const char c : queue) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    safe += plain ? std::string(1, c) : fmt::format("_{:02x}", unsigned(static_cast<unsigned char>(c)));
  }
  return fmt::format("{}.steps.{}.{}", prefix, safe, band);
}

std::vector<std::string> StepTopics(const std::string& prefix, const std::vector<std::string>& queues) {
  std::vector<std::string> topics;
  for (const std::string& queue : queues) {
    for (int band = 0; band < kBands; ++band) topics.push_back(StepTopic(prefix, queue, band));
  }
  return topics;
}

std::string DeadTopic(const std::string& prefix) { return prefix + ".dead"; }

}  // namespace acl::kafka
