#include "coordinator/api/cursor.h"

#include "shared/base/sha256.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kIdBytes = 16, kCheckBytes = 6;

std::string Check(std::string_view id, std::string_view filters) {
  return std::string(AsBytes(Sha256({"acl-cursor-1", id, filters})).substr(0, kCheckBytes));
}

}  // namespace

std::string MakeCursor(const SubjectId& last, std::string_view filters) {
  const std::string id(reinterpret_cast<const char*>(last.uuid.bytes.data()), kIdBytes);
  return ToHex(id + Check(id, filters));
}

std::optional<SubjectId> ReadCursor(std::string_view cursor, std::string_view filters) {
  const auto bytes = FromHex(cursor);
  if (!bytes || bytes->size() != kIdBytes + kCheckBytes) return std::nullopt;
  const std::string id = bytes->substr(0, kIdBytes);
  if (bytes->substr(kIdBytes) != Check(id, filters)) return std::nullopt;
  SubjectId subject;
  std::memcpy(subject.uuid.bytes.data(), id.data(), kIdBytes);
  return subject;
}

}  // namespace acl::coordinator
