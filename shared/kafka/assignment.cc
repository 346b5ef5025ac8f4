#include "shared/kafka/assignment.h"

#include <cstdint>
#include <optional>

namespace acl::kafka {

namespace {

// Takes numbers and texts from the front; nothing once there are too few bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::optional<std::int32_t> Number(std::size_t bytes) {
    if (left_.size() < bytes) return std::nullopt;
    std::uint32_t value = 0;
    for (const char c : left_.substr(0, bytes)) value = value << 8 | static_cast<unsigned char>(c);
    left_.remove_prefix(bytes);
    return bytes == 2 ? std::int16_t(value) : std::int32_t(value);
  }
  std::optional<std::string> Text() {
    const auto size = Number(2);
    if (!size || *size < 0 || left_.size() < std::size_t(*size)) return std::nullopt;
    std::string text(left_.substr(0, std::size_t(*size)));
    left_.remove_prefix(text.size());
    return text;
  }

 private:
  std::string_view left_;
};

}  // namespace

std::vector<std::pair<std::string, int>> ReadAssignment(std::string_view bytes) {
  Reader reader(bytes);
  const auto version = reader.Number(2), topics = reader.Number(4);
  if (!version || *version < 0 || !topics) return {};
  std::vector<std::pair<std::string, int>> out;
  for (std::int32_t t = 0; t < *topics; ++t) {
    const auto topic = reader.Text();
    const auto partitions = reader.Number(4);
    if (!topic || !partitions || *partitions < 0) return {};
    for (std::int32_t p = 0; p < *partitions; ++p) {
      const auto partition = reader.Number(4);
      if (!partition) return {};
      out.emplace_back(*topic, *partition);
    }
  }
  return out;
}

}  // namespace acl::kafka
