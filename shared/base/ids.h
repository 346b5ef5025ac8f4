#pragma once
// Ids are distinct types, never bare strings. All of them are UUIDs; new ones are version 7 (time-ordered), see uuid7.h.

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace acl {

using Hash256 = std::array<std::uint8_t, 32>;  // SHA-256

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  std::string ToString() const;  // 8-4-4-4-12, lower case
  static std::optional<Uuid> Parse(std::string_view text);
  bool is_nil() const { return *this == Uuid{}; }
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

template <class Tag>
struct Id {
  Uuid uuid;

  std::string ToString() const { return uuid.ToString(); }
  static std::optional<Id> Parse(std::string_view text) {
    auto parsed = Uuid::Parse(text);
    if (!parsed) return std::nullopt;
    return Id{*parsed};
  }
  bool is_nil() const { return uuid.is_nil(); }
  friend auto operator<=>(const Id&, const Id&) = default;
};

using SubjectId = Id<struct SubjectTag>;              // whatever has a journal and a lease; `workflow_id` in the documents' tables
using WorkerSessionId = Id<struct WorkerSessionTag>;  // one incarnation of a worker process; random, never a name
using ProjectId = Id<struct ProjectTag>;              // the tenant
using JournalId = Id<struct JournalTag>;              // a segment of a subject's journal
using InboxId = Id<struct InboxTag>;                  // one outside input
using DispatchId = Id<struct DispatchTag>;            // one attempt of a dispatched step; DispatchIdOf (shared/kernel/dispatch.h)

// The one project every installation starts with.
inline constexpr ProjectId kDefaultProject{Uuid{{0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1}}};

// A fencing token: epoch x 2^32 + counter, below 2^53. Minted by one SQL function only (docs/architecture.md#tokens).
struct Token {
  std::int64_t value = 0;

  std::int64_t epoch() const { return value >> 32; }
  std::int64_t counter() const { return value & 0xffffffff; }
  friend auto operator<=>(const Token&, const Token&) = default;
};

std::string ToHex(const void* data, std::size_t size);
inline std::string ToHex(const Hash256& hash) { return ToHex(hash.data(), hash.size()); }
inline std::string ToHex(std::string_view bytes) { return ToHex(bytes.data(), bytes.size()); }
std::optional<std::string> FromHex(std::string_view hex);
std::optional<Hash256> HashFromHex(std::string_view hex);

}  // namespace acl

template <>
struct std::hash<acl::Uuid> {
  std::size_t operator()(const acl::Uuid& uuid) const noexcept {
    std::size_t value = 0;
    std::memcpy(&value, uuid.bytes.data() + 8, sizeof value);
    return value;
  }
};
template <class Tag>
struct std::hash<acl::Id<Tag>> {
  std::size_t operator()(const acl::Id<Tag>& id) const noexcept { return std::hash<acl::Uuid>()(id.uuid); }
};
