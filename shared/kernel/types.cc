#include "shared/kernel/types.h"

namespace acl {

std::string_view EffectName(EffectClass effect) {
  switch (effect) {
    case EffectClass::kPure: return "pure";
    case EffectClass::kRead: return "read";
    case EffectClass::kIdempotent: return "idempotent";
    case EffectClass::kNonIdempotent: return "non_idempotent";
  }
  return "?";
}

std::optional<EffectClass> ParseEffect(std::string_view name) {
  for (auto effect : {EffectClass::kPure, EffectClass::kRead, EffectClass::kIdempotent, EffectClass::kNonIdempotent}) {
    if (EffectName(effect) == name) return effect;
  }
  return std::nullopt;
}

bool Grantable(const CreateItem& item) {
  if (!item.make_ready || !item.timers.empty()) return false;
  std::size_t bytes = 0;
  for (const Event& event : item.events) bytes += event.payload ? event.payload->size() : 0;
  constexpr std::size_t kMost = 64 * 1024;  // what is larger may lie in the content store
  return bytes <= kMost;
}

int ReadyShard(const SubjectId& subject) { return subject.uuid.bytes.back() & (kReadyShards - 1); }

}  // namespace acl
