#include "shared/kernel/dispatch.h"

#include <algorithm>

#include "shared/base/sha256.h"

namespace acl {

DispatchId DispatchIdOf(const SubjectId& subject, std::string_view step_id, int attempt_id) {
  const std::string_view id(reinterpret_cast<const char*>(subject.uuid.bytes.data()), subject.uuid.bytes.size());
  const Hash256 hash = Sha256({id, std::string_view("dispatch"), step_id, std::string_view("\0", 1), std::to_string(attempt_id)});
  DispatchId dispatch;
  std::copy_n(hash.begin(), dispatch.uuid.bytes.size(), dispatch.uuid.bytes.begin());
  dispatch.uuid.bytes[6] = std::uint8_t((dispatch.uuid.bytes[6] & 0x0f) | 0x80);
  dispatch.uuid.bytes[8] = std::uint8_t((dispatch.uuid.bytes[8] & 0x3f) | 0x80);
  return dispatch;
}

std::string LostDispatchText(const DispatchKey& dispatch, bool counted, const std::string& worker, Token token) {
  return DumpJson(Json{{"step_id", dispatch.step_id},
                       {"attempt", dispatch.attempt_id},
                       {"outcome", "lost"},
                       {"counted", counted},
                       {"worker", worker},
                       {"token", token.value}});
}

std::string WithdrawnDispatchText(const DispatchKey& dispatch) {
  return DumpJson(Json{{"step_id", dispatch.step_id}, {"attempt", dispatch.attempt_id}, {"outcome", "cancelled"}});
}

}  // namespace acl
