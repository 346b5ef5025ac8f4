#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "shared/base/canonical_json.h"
#include "shared/journal/delta.h"
#include "shared/verify/row_checks.h"

namespace acl::verify {

namespace {

constexpr std::string_view kUndo = "undo:", kGlobalUndo = "undo:/";
constexpr std::size_t kHashDigits = 16, kLongId = 100;

// An id that was cut ends in "~" and digits of its hash: what it stands for cannot be read off it.
bool IsCut(const std::string& id) { return id.size() >= kLongId && id[id.size() - kHashDigits - 1] == '~'; }

std::string TextOf(const Json& payload, const char* member) {
  auto it = payload.find(member);
  return it != payload.end() && it->is_string() ? it->get<std::string>() : std::string();
}

EventFact::What WhatOf(const std::string& type) {
  if (type == "step.started") return EventFact::What::kStarted;
  if (type == "step.completed") return EventFact::What::kCompleted;
  if (type == "compensation.completed") return EventFact::What::kUndone;
  if (type == "compensation.failed") return EventFact::What::kUndoFailed;
  return EventFact::What::kOther;
}

std::string KeyOf(const SubjectRows& rows, const std::string& step_id) { return fmt::format("{}/{}", rows.subject.ToString(), step_id); }

const EventFact* Find(const std::vector<EventFact>& events, std::int64_t seq) {
  auto it = std::lower_bound(events.begin(), events.end(), seq, [](const EventFact& e, std::int64_t s) { return e.seq < s; });
  return it != events.end() && it->seq == seq ? &*it : nullptr;
}

// The log of document 002 has a line for every promise, success and failure, in the order of the events that say so.
void CheckLog(const SubjectRows& rows, const std::vector<EventFact>& events, Report& report) {
  if (events.empty() || events.front().seq != 1 ||
      !std::all_of(events.begin(), events.end(), [](const EventFact& e) { return e.readable; }))
    return;
  std::vector<std::pair<std::string, const char*>> expected;
  for (const EventFact& event : events) {
    if (event.what == EventFact::What::kCompleted && event.has_undo) expected.emplace_back(event.step_id, "pending");
    if (event.what == EventFact::What::kUndone) expected.emplace_back(event.step_id, "executed");
    if (event.what == EventFact::What::kUndoFailed) expected.emplace_back(event.step_id, "failed");
  }
  const std::size_t most = std::max(expected.size(), rows.compensations.size());
  for (std::size_t i = 0; i < most; ++i) {
    const std::string key = fmt::format("{}, line {}", rows.subject.ToString(), i + 1);
    std::string wanted = "no line", found = "no line";
    bool same = i < expected.size() && i < rows.compensations.size();
    if (i < expected.size()) {
      auto [step, status] = expected[i];
      // A line names the step that is undone; a step of nobody's (global) its own id.
      if (status != std::string_view("pending") && step.starts_with(kUndo) && !step.starts_with(kGlobalUndo)) step.erase(0, kUndo.size());
      wanted = fmt::format("{} {}", step, status);
      same = same && status == rows.compensations[i].status && (step == rows.compensations[i].step_id || IsCut(expected[i].first));
    }
    if (i < rows.compensations.size()) found = fmt::format("{} {}", rows.compensations[i].step_id, rows.compensations[i].status);
    report.Check("compensation.log", same, "compensation_rows", key, wanted, found);
    if (!same) return;  // what follows is shifted
  }
}

}  // namespace

namespace {

void Read(const Json& facts, EventFact& fact) {
  fact.step_id = TextOf(facts, "step_id");
  for (const char* member : {"attempt", "attempt_id"}) {
    if (auto it = facts.find(member); it != facts.end() && it->is_number_integer()) fact.attempt_id = it->get<int>();
  }
  const std::string undo = TextOf(facts, "undo");
  fact.has_undo = !undo.empty() && undo != "files";
  fact.undoes = facts.contains("undo_of") && fact.step_id.empty();
}

// The first operation on the entry of the step's outputs puts them whole.
std::optional<Hash256> ResultOf(const Json& payload) {
  const std::string name = TextOf(payload, "step_name");
  std::string path;
  const std::string id = TextOf(payload, "step_id");
  const bool of_item = id.find('[') != std::string::npos;  // no name has one (shared/workflow/step_id.h)
  AppendPointer(of_item ? "out:" + id : "var:" + (name.empty() ? id : name), "", path);
  const auto delta = payload.find(kDeltaKey);
  if (delta == payload.end() || !delta->is_array()) return std::nullopt;
  for (const Json& op : *delta) {
    if (!op.is_object() || TextOf(op, "path") != path) continue;
    const auto value = op.find("value");
    return value != op.end() ? std::optional<Hash256>(CanonicalHash(*value)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<EventFact> FactsOf(const Event& event, const std::optional<Json>& payload) {
  EventFact fact;
  fact.seq = event.seq;
  fact.token = event.token;
  fact.what = WhatOf(event.type);
  fact.readable = payload.has_value() && payload->is_object();
  if (!fact.readable) return {fact};
  Read(*payload, fact);
  if (fact.what == EventFact::What::kCompleted) fact.result = ResultOf(*payload);
  std::vector<EventFact> facts = {fact};
  const auto also = payload->find(kAlsoKey);
  if (also == payload->end() || !also->is_array()) return facts;
  for (const Json& joined : *also) {
    EventFact& next = facts.emplace_back();
    next.seq = event.seq;
    next.token = event.token;
    next.readable = true;
    if (!joined.is_object()) continue;
    next.what = WhatOf(TextOf(joined, "type"));
    Read(joined, next);
  }
  return facts;
}

std::vector<std::string> JoinedTypes(const std::optional<Json>& payload) {
  std::vector<std::string> types;
  if (!payload || !payload->is_object()) return types;
  const auto also = payload->find(kAlsoKey);
  if (also == payload->end() || !also->is_array()) return types;
  for (const Json& joined : *also) types.push_back(joined.is_object() ? TextOf(joined, "type") : std::string());
  return types;
}

void CheckCompletions(const SubjectRows& rows, const std::vector<EventFact>& events, Report& report) {
  std::set<std::pair<std::string, int>> attempts;
  for (const AttemptRow& row : rows.attempts) {
    report.Check("attempt.once", attempts.insert({row.step_id, row.attempt_id}).second, "attempt_rows",
                 fmt::format("{}/{}", KeyOf(rows, row.step_id), row.attempt_id), "one row", "another");
  }
  std::map<std::string, std::int64_t> completed;
  for (const auto& [row, token] : rows.completions) {
    const std::string key = KeyOf(rows, row.step_id);
    report.Check("completion.once", completed.emplace(row.step_id, row.event_seq).second, "completion_rows", key, "one row", "another");
    report.Check("completion.attempt", attempts.contains({row.step_id, row.attempt_id}), "completion_rows", key, "an attempt that exists",
                 fmt::format("attempt {}", row.attempt_id));
    if (!events.empty() && row.event_seq < events.front().seq) continue;  // of a journal that was dropped
    const EventFact* event = Find(events, row.event_seq);
    report.Check("completion.event", event != nullptr, "completion_rows", key, "an event that exists",
                 fmt::format("event {}", row.event_seq));
    if (event == nullptr) continue;
    report.Check("completion.token", event->token == token, "completion_rows", key,
                 fmt::format("the token of event {}, {}", row.event_seq, event->token.value), std::to_string(token.value));
    if (event->step_id.empty()) continue;
    report.Check("completion.step", event->step_id == row.step_id, "completion_rows", key,
                 fmt::format("step_id {} of event {}", event->step_id, row.event_seq), row.step_id);
    if (event->result) {
      report.Check("completion.result", *event->result == row.result_checksum, "completion_rows", key,
                   fmt::format("{} (of the outputs in event {})", ToHex(*event->result), row.event_seq), ToHex(row.result_checksum));
    }
    if (event->attempt_id == 0) continue;
    report.Check("completion.step", event->attempt_id == row.attempt_id, "completion_rows", key,
                 fmt::format("attempt {} of event {}", event->attempt_id, row.event_seq), fmt::format("attempt {}", row.attempt_id));
  }
  for (const EventFact& event : events) {
    if (event.step_id.empty()) continue;
    if (event.what == EventFact::What::kCompleted) {
      auto row = completed.find(event.step_id);
      report.Check("completion.row", row != completed.end() && row->second == event.seq, "completion_rows", KeyOf(rows, event.step_id),
                   fmt::format("a row for event {}", event.seq),
                   row == completed.end() ? "none" : fmt::format("one for event {}", row->second));
    } else if (event.what == EventFact::What::kStarted && event.attempt_id > 0) {
      report.Check("attempt.row", attempts.contains({event.step_id, event.attempt_id}), "attempt_rows",
                   fmt::format("{}/{}", KeyOf(rows, event.step_id), event.attempt_id), fmt::format("a row for event {}", event.seq),
                   "none");
    }
  }
}

void CheckCompensations(const SubjectRows& rows, const std::vector<EventFact>& events, Report& report) {
  std::map<std::string, std::int64_t> completed;
  std::map<std::string, std::int64_t> undone;  // by undo id
  for (const auto& [row, token] : rows.completions) {
    (row.step_id.starts_with(kUndo) ? undone : completed)[row.step_id] = row.event_seq;
  }
  std::set<std::string> once;
  for (const EventFact& event : events) {
    if (event.what != EventFact::What::kUndone || event.step_id.empty()) continue;
    report.Check("compensation.once", once.insert(event.step_id).second, "event_rows",
                 fmt::format("{}/{}", rows.subject.ToString(), event.seq), event.step_id + " undone once", "again");
    undone[event.step_id] = event.seq;
  }
  std::vector<std::pair<std::int64_t, std::string>> in_order;
  for (const auto& [id, seq] : undone) in_order.emplace_back(seq, id);
  std::sort(in_order.begin(), in_order.end());
  std::optional<std::int64_t> before;
  if (!events.empty() && events.front().undoes) in_order.clear();  // the steps completed in another's journal
  for (const auto& [seq, id] : in_order) {
    if (id.starts_with(kGlobalUndo) || IsCut(id)) continue;
    const std::string step = id.substr(kUndo.size());
    auto original = completed.find(step);
    report.Check("compensation.of_completed", original != completed.end(), "completion_rows", KeyOf(rows, id), step + " completed",
                 "it did not");
    if (original == completed.end()) continue;
    report.Check("compensation.order", original->second < seq && (!before || original->second <= *before), "completion_rows",
                 KeyOf(rows, id), "undone in reverse order of completion", fmt::format("{} completed at event {}", step, original->second));
    before = original->second;
  }
  CheckLog(rows, events, report);
}

}  // namespace acl::verify
