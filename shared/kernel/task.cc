#include "shared/kernel/task.h"

#include <algorithm>

#include "shared/base/sha256.h"

namespace acl {

TaskId TaskIdOf(const SubjectId& subject, std::string_view step_id, int attempt_id) {
  const std::string_view id(reinterpret_cast<const char*>(subject.uuid.bytes.data()), subject.uuid.bytes.size());
  const Hash256 hash = Sha256({id, std::string_view("task"), step_id, std::string_view("\0", 1), std::to_string(attempt_id)});
  TaskId task;
  std::copy_n(hash.begin(), task.uuid.bytes.size(), task.uuid.bytes.begin());
  task.uuid.bytes[6] = std::uint8_t((task.uuid.bytes[6] & 0x0f) | 0x80);
  task.uuid.bytes[8] = std::uint8_t((task.uuid.bytes[8] & 0x3f) | 0x80);
  return task;
}

std::string LostTaskText(const TaskKey& task, bool counted, const std::string& worker, Token token) {
  return DumpJson(Json{{"step_id", task.step_id},
                       {"attempt", task.attempt_id},
                       {"outcome", "lost"},
                       {"counted", counted},
                       {"worker", worker},
                       {"token", token.value}});
}

std::string WithdrawnTaskText(const TaskKey& task) {
  return DumpJson(Json{{"step_id", task.step_id}, {"attempt", task.attempt_id}, {"outcome", "cancelled"}});
}

}  // namespace acl
