#include "shared/workflow/state.h"

#include "shared/base/limits.h"
#include "shared/journal/trie.h"

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
  for (const auto& [name, member] : object->get_ref<const Json::object_t&>()) {
    if (name == key) return &member;
  }
  return nullptr;
}

namespace {

using Members = Json::object_t;

// The members of an entry, read in one pass; nothing if it is no object.
const Members& MembersOf(const Json* object) {
  static const Members none;
  return object && object->is_object() ? object->get_ref<const Members&>() : none;
}

std::string Text(const Json& value) { return value.is_string() ? value.get_ref<const std::string&>() : std::string(); }
std::int64_t Number(const Json& value, std::int64_t otherwise = 0) {
  return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
}
bool Flag(const Json& value) { return value.is_boolean() && value.get<bool>(); }
std::optional<WallTime> Time(const Json& value) {
  if (value.is_number_integer()) return WallTimeFromMicros(value.get<std::int64_t>());
  if (value.is_string()) return ParseWallTime(value.get_ref<const std::string&>());
  return std::nullopt;
}
std::vector<std::string> List(const Json& value) {
  std::vector<std::string> list;
  if (!value.is_array()) return list;
  list.reserve(value.size());
  for (const Json& item : value.get_ref<const Json::array_t&>()) {
    if (item.is_string()) list.push_back(item.get_ref<const std::string&>());
  }
  return list;
}

}  // namespace

bool OutgrowsRun(const Document& state, const Json& outputs) {
  constexpr std::size_t kSmall = 4 * limits::kKiB;  // of as many steps as a file can hold they come to less than the limit
  return SizeOf(outputs, kSmall) > kSmall && state.stored_bytes() + DumpedBytes(outputs) > limits::kRunStateBytes;
}

std::string TextOf(const Json* object, std::string_view key) {
  const Json* member = MemberOf(object, key);
  return member ? Text(*member) : std::string();
}

std::int64_t NumberOf(const Json* object, std::string_view key, std::int64_t otherwise) {
  const Json* member = MemberOf(object, key);
  return member ? Number(*member, otherwise) : otherwise;
}

bool FlagOf(const Json* object, std::string_view key) {
  const Json* member = MemberOf(object, key);
  return member && Flag(*member);
}

std::optional<WallTime> TimeOf(const Json* object, std::string_view key) {
  const Json* member = MemberOf(object, key);
  return member ? Time(*member) : std::nullopt;
}

std::vector<std::string> ListOf(const Json* object, std::string_view key) {
  const Json* member = MemberOf(object, key);
  return member ? List(*member) : std::vector<std::string>();
}

TraceContext TraceOfRun(const Document& state) {
  const Json* run = Lookup(state, kRunKey);
  auto parent = ParseTraceparent(TextOf(run, "traceparent"));
  return parent ? std::move(*parent) : TraceContext{TextOf(run, "trace_id"), "", true};
}

namespace {

std::optional<RunRecord> ReadRunRecord(const Json* json) {
  RunRecord run;
  run.json = json;
  std::optional<RunStatus> status;
  for (const auto& [name, value] : MembersOf(run.json)) {
    const std::string_view key = name;  // compared by length first
    if (key == "status") {
      if (value.is_string()) status = ParseRunStatus(value.get_ref<const std::string&>());
    } else if (key == "phase") {
      if (value.is_string() && value.get_ref<const std::string&>() == "closed") run.phase = Phase::kClosed;
      if (value.is_string() && value.get_ref<const std::string&>() == "stopping") run.phase = Phase::kStopping;
    } else if (key == "run_id") {
      if (value.is_string()) run.run_id = value.get_ref<const std::string&>();
    } else if (key == "spec_hash") {
      if (value.is_string()) run.definition_hash = value.get_ref<const std::string&>();
    } else if (key == "reason") {
      run.reason = Text(value);
    } else if (key == "rollback") {
      run.rollback = Flag(value);
    } else if (key == "deadline_at") {
      run.deadline = Time(value);
    } else if (key == "deadline_left_ms") {
      if (value.is_number_integer()) run.deadline_left_ms = value.get<std::int64_t>();
    } else if (key == "finishes") {
      run.finishes = &value;
    }
  }
  if (!status) return std::nullopt;
  run.status = *status;
  return run;
}

}  // namespace

std::string_view RollbackOf(const RunRecord& run) {
  const Json* first = run.finishes ? MemberOf(run.finishes, "first") : nullptr;
  return first && first->is_string() ? std::string_view(first->get_ref<const std::string&>()) : run.run_id;
}

int GlobalsOf(const RunRecord& run, std::size_t all) {
  return run.finishes ? int(NumberOf(run.finishes, "globals", std::int64_t(all))) : int(all);
}

// A decision reads the record several times, and most steps leave it as it is: the one read last is kept, with the entry that it is of.
std::optional<RunRecord> ReadRun(const Document& state) {
  struct Known {
    std::shared_ptr<const trie::Leaf> leaf;
    std::optional<RunRecord> record;
  };
  thread_local Known known;
  ++lookups;
  const trie::Leaf* leaf = trie::Find(state.root_node(), trie::PathOf(kRunKey));
  if (leaf == nullptr) return std::nullopt;
  if (leaf != known.leaf.get()) {
    known.leaf = state.LeafOf(kRunKey);
    known.record = ReadRunRecord(&leaf->value());
  }
  return known.record;
}

Progress ReadProgress(const Document& state) {
  Progress progress;
  progress.json = Lookup(state, kProgressKey);
  for (const auto& [name, value] : MembersOf(progress.json)) {
    const std::string_view key = name;
    if (key == "done") {
      progress.done = int(Number(value));
    } else if (key == "items") {
      progress.items = int(Number(value));
    } else if (key == "skipped") {
      progress.skipped = int(Number(value));
    } else if (key == "children") {
      progress.children = int(Number(value));
    } else if (key == "signals") {
      progress.signals = int(Number(value));
    } else if (key == "approvals") {
      progress.approvals = int(Number(value));
    } else if (key == "due") {
      progress.due = List(value);
    } else if (key == "open") {
      progress.open = List(value);
    } else if (key == "dispatches") {
      progress.dispatches = List(value);
    } else if (key == "uncertain") {
      progress.uncertain = List(value);
    } else if (key == "settle") {
      progress.settle = List(value);
    } else if (key == "retrying") {
      progress.retrying = int(Number(value));
    } else if (key == "next_retry") {
      progress.next_retry = Time(value);
    } else if (key == "waiting") {
      progress.waiting = int(Number(value));
    } else if (key == "next_due") {
      progress.next_due = Time(value);
    } else if (key == "undo") {
      progress.undo = Text(value);
    } else if (key == "global") {
      progress.global = int(Number(value));
    } else if (key == "not_undone") {
      progress.not_undone = int(Number(value));
    } else if (key == "failed") {
      progress.failed = Text(value);
    }
  }
  return progress;
}

Json ToJson(const Progress& progress) {
  Json json = Json::object();
  auto& members = json.get_ref<Members&>();
  members.reserve(4);
  members.emplace_back("done", progress.done);
  const auto list = [&](const char* key, const std::vector<std::string>& of) {
    if (!of.empty()) members.emplace_back(key, of);
  };
  const auto number = [&](const char* key, int of) {
    if (of != 0) members.emplace_back(key, of);
  };
  const auto text = [&](const char* key, const std::string& of) {
    if (!of.empty()) members.emplace_back(key, of);
  };
  const auto time = [&](const char* key, const std::optional<WallTime>& of) {
    if (of) members.emplace_back(key, FormatWallTime(*of));
  };
  number("items", progress.items);
  number("skipped", progress.skipped);
  number("children", progress.children);
  list("due", progress.due);
  list("open", progress.open);
  list("dispatches", progress.dispatches);
  list("uncertain", progress.uncertain);
  list("settle", progress.settle);
  number("retrying", progress.retrying);
  number("waiting", progress.waiting);
  number("signals", progress.signals);
  number("approvals", progress.approvals);
  time("next_due", progress.next_due);
  time("next_retry", progress.next_retry);
  text("undo", progress.undo);
  number("global", progress.global);
  number("not_undone", progress.not_undone);
  text("failed", progress.failed);
  return json;
}

StepRecord ReadStep(const Document& state, std::string_view step_id) { return ReadStepFrom(Lookup(state, StepKey(step_id))); }

StepRecord ReadStepFrom(const Json* json) {
  StepRecord record;
  record.json = json;
  for (const auto& [name, value] : MembersOf(record.json)) {
    const std::string_view key = name;
    if (key == "status") {
      if (value.is_string()) record.status = ParseStepStatus(value.get_ref<const std::string&>()).value_or(StepStatus::kPending);
    } else if (key == "attempts") {
      record.attempts = int(Number(value));
    } else if (key == "attempt") {
      record.attempt = int(Number(value));
    } else if (key == "waits") {
      record.waits = int(Number(value, -1));
    } else if (key == "order") {
      record.order = int(Number(value));
    } else if (key == "losses") {
      record.losses = int(Number(value));
    } else if (key == "lost") {
      record.lost = int(Number(value));
    } else if (key == "died") {
      record.died_alone = int(NumberOf(&value, "alone"));
      record.died_with = int(NumberOf(&value, "with"));
      record.died_done = int(NumberOf(&value, "done"));
    } else if (key == "error") {
      record.error = Text(value);
    } else if (key == "started_at") {
      record.started_at = Time(value);
    } else if (key == "retry_at") {
      record.retry_at = Time(value);
    } else if (key == "due_at") {
      record.due_at = Time(value);
    } else if (key == "dispatch") {
      record.dispatch = &value;
    } else if (key == "call") {
      record.call = &value;
    } else if (key == "undo") {
      record.undo = &value;
    }
  }
  return record;
}

ScopeRecord ReadScope(const Json* record) {
  ScopeRecord scope;
  scope.left = int(NumberOf(record, "left"));
  scope.active = int(NumberOf(record, "active"));
  scope.branch = int(NumberOf(record, "branch", -1));
  scope.failed = TextOf(record, "failed");
  scope.items = int(NumberOf(record, "items"));
  scope.next = int(NumberOf(record, "next"));
  scope.ended = int(NumberOf(record, "ended"));
  if (const Json* failures = MemberOf(record, "failures"); failures && failures->is_array()) {
    for (const Json& item : *failures) scope.failures.push_back(int(Number(item)));
  }
  return scope;
}

}  // namespace acl::workflow
