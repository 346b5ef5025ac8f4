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

int ReadyShard(const SubjectId& subject) { return subject.uuid.bytes.back() & (kReadyShards - 1); }

}  // namespace acl
