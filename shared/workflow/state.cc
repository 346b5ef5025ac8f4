#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {
thread_local std::uint64_t lookups = 0;
}

std::string NotUndoneKey(int number) { return "not_undone:" + std::to_string(number); }

const Json* Lookup(const Document& state, std::string_view key) {
  ++lookups;
  return state.Find(key);
}
std::uint64_t LookupsOfThisThread() { return lookups; }

const Json* MemberOf(const Json* object, std::string_view key) {
  if (!object || !object->is_object()) return nullptr;
  for (auto it = object->begin(); it != object->end(); ++it) {
    if (it.key() == key) return &it.value();
  }
  return nullptr;
}

std::string TextOf(const Json* object, std::string_view key) {
  const Json* member = MemberOf(object, key);
  return member && member->is_string() ? member->get<std::string>() : std::string();
}

std::int64_t NumberOf(const Json* object, std::string_view key, std::int64_t otherwise) {
  const Json* member = MemberOf(object, key);
  return member && member->is_number_integer() ? member->get<std::int64_t>() : otherwise;
}

bool FlagOf(const Json* object, std::string_view key) {
  const Json* member = MemberOf(object, key);
  return member && member->is_boolean() && member->get<bool>();
}

std::optional<WallTime> TimeOf(const Json* object, std::string_view key) {
  const Json* member = MemberOf(object, key);
  if (!member) return std::nullopt;
  if (member->is_number_integer()) return WallTimeFromMicros(member->get<std::int64_t>());
  if (member->is_string()) return ParseWallTime(member->get_ref<const std::string&>());
  return std::nullopt;
}

std::vector<std::string> ListOf(const Json* object, std::string_view key) {
  std::vector<std::string> list;
  const Json* member = MemberOf(object, key);
  if (!member || !member->is_array()) return list;
  for (const Json& item : *member) {
    if (item.is_string()) list.push_back(item.get<std::string>());
  }
  return list;
}

TraceContext TraceOfRun(const Document& state) {
  const Json* run = Lookup(state, kRunKey);
  auto parent = ParseTraceparent(TextOf(run, "traceparent"));
  return parent ? std::move(*parent) : TraceContext{TextOf(run, "trace_id"), "", true};
}

std::optional<RunRecord> ReadRun(const Document& state) {
  RunRecord run;
  run.json = Lookup(state, kRunKey);
  auto status = ParseRunStatus(TextOf(run.json, "status"));
  if (!status) return std::nullopt;
  run.status = *status;
  run.run_id = TextOf(run.json, "run_id");
  std::string phase = TextOf(run.json, "phase");
  run.phase = phase == "closed" ? Phase::kClosed : phase == "stopping" ? Phase::kStopping : Phase::kForward;
  run.reason = TextOf(run.json, "reason");
  run.rollback = FlagOf(run.json, "rollback");
  run.deadline = TimeOf(run.json, "deadline_at");
  if (const Json* left = MemberOf(run.json, "deadline_left_ms"); left && left->is_number_integer())
    run.deadline_left_ms = left->get<std::int64_t>();
  return run;
}

Progress ReadProgress(const Document& state) {
  const Json* json = Lookup(state, kProgressKey);
  Progress progress;
  progress.done = int(NumberOf(json, "done"));
  progress.open = ListOf(json, "open");
  progress.tasks = ListOf(json, "tasks");
  progress.uncertain = ListOf(json, "uncertain");
  progress.settle = ListOf(json, "settle");
  progress.retrying = int(NumberOf(json, "retrying"));
  progress.next_retry = TimeOf(json, "next_retry");
  progress.waiting = int(NumberOf(json, "waiting"));
  progress.next_due = TimeOf(json, "next_due");
  progress.undo = TextOf(json, "undo");
  progress.global = int(NumberOf(json, "global"));
  progress.not_undone = int(NumberOf(json, "not_undone"));
  progress.failed = TextOf(json, "failed");
  return progress;
}

StepRecord ReadStep(const Document& state, std::string_view step_id) {
  StepRecord record;
  record.json = Lookup(state, StepKey(step_id));
  if (!record.json) return record;
  record.status = ParseStepStatus(TextOf(record.json, "status")).value_or(StepStatus::kPending);
  record.attempts = int(NumberOf(record.json, "attempts"));
  record.attempt = int(NumberOf(record.json, "attempt"));
  record.waits = int(NumberOf(record.json, "waits", -1));
  record.order = int(NumberOf(record.json, "order"));
  record.losses = int(NumberOf(record.json, "losses"));
  record.error = TextOf(record.json, "error");
  record.started_at = TimeOf(record.json, "started_at");
  record.retry_at = TimeOf(record.json, "retry_at");
  record.due_at = TimeOf(record.json, "due_at");
  record.task = MemberOf(record.json, "task");
  record.call = MemberOf(record.json, "call");
  record.undo = MemberOf(record.json, "undo");
  return record;
}

}  // namespace acl::workflow
