#include "tests/support/counter_kind.h"

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/journal/json_patch.h"
#include "shared/kernel/fold.h"

namespace acl::test {

namespace {

EffectClass EffectOf(const Json& counter, int step) {
  const std::string effects = counter.at("effects");
  switch (effects[std::size_t(step) % effects.size()]) {
    case 'p': return EffectClass::kPure;
    case 'r': return EffectClass::kRead;
    case 'i': return EffectClass::kIdempotent;
    default: return EffectClass::kNonIdempotent;
  }
}

const Json& CounterOf(const Document& state) {
  const Json* counter = state.Find("counter");
  ACL_CHECK(counter != nullptr, "a counter has its record");
  return *counter;
}

std::string StepName(int step) { return fmt::format("step{}", step); }

bool AllDone(const Json& counter) { return counter.at("done") == counter.at("steps"); }

void CloseIfDone(const Json& counter, bool stop, bool last_step_done, Decision& decision) {
  const bool all = last_step_done || AllDone(counter);
  const bool stopped = stop || counter.at("stopped").get<bool>();
  if (counter.at("closed").get<bool>()) return;
  if (stopped || (all && !counter.at("wait_for_stop").get<bool>())) decision.events.push_back({"counter.closed", Json::object(), {}});
}

}  // namespace

CreateItem CounterKind::MakeCreateItem(const SubjectId& subject, const CounterOptions& options) const {
  Document state;
  Json facts = {{"steps", options.steps}, {"effects", options.effects}, {"wait_for_stop", options.wait_for_stop}};
  auto event = FoldDraft(*this, state, {"counter.created", std::move(facts), {}});
  ACL_CHECK(event.ok(), "the first event folds");
  CreateItem item;
  item.subject = subject;
  item.kind = "counter";
  item.events.push_back(std::move(*event));
  item.state_root = state.Root();
  return item;
}

DirectDecider CounterKind::Increment(int by) const {
  return [this, by](const Claimed& claimed) -> Result<CommitItem> {
    auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, [](const Hash256&) -> Result<std::string> {
      return Error{Code::kNotFound, "no chunks here"};
    });
    if (!restored) return restored.error();
    CommitItem item;
    item.subject = claimed.subject;
    item.token = claimed.token;
    item.base_seq = claimed.head.seq;
    const bool closed = CounterOf(restored->state).at("closed");
    auto event = FoldDraft(*this, restored->state, {closed ? "command.refused" : "counter.incremented", Json{{"by", by}}, {}});
    if (!event) return event.error();
    event->subject = claimed.subject;
    event->seq = claimed.head.seq + 1;
    event->journal = claimed.head.journal;
    event->token = claimed.token;
    event->timestamp = std::max(claimed.db_now, claimed.head.last_timestamp);
    Seal(*event, claimed.head.chain);
    item.chain = event->chain;
    item.last_timestamp = event->timestamp;
    item.events.push_back(std::move(*event));
    item.state_root = restored->state.Root();
    return item;
  };
}

Decision CounterKind::Decide(const Document& state, const Input& input, WallTime now) const {
  Decision decision;
  const Json& counter = CounterOf(state);
  const int current = counter.at("done");
  const std::string current_step = StepName(current);
  if (const auto* resumed = std::get_if<ResumedInput>(&input)) {
    for (const AttemptRow& row : resumed->open_attempts) {
      const Json* record = state.Find("step:" + row.step_id);
      const int known = record ? record->value("known", 0) : 0;
      if (row.step_id != current_step || row.attempt_id <= known) continue;
      const bool uncertain = EffectOf(counter, current) == EffectClass::kNonIdempotent;
      decision.events.push_back(
          {uncertain ? "step.uncertain" : "step.attempt_lost", Json{{"step_id", row.step_id}, {"attempt_id", row.attempt_id}}, {}});
    }
  } else if (const auto* starting = std::get_if<StartingInput>(&input)) {
    decision.events.push_back({"step.started", Json{{"step_id", starting->step.step_id}, {"attempt_id", starting->attempt_id}}, {}});
  } else if (const auto* finished = std::get_if<StepFinishedInput>(&input)) {
    Json facts = {{"step_id", finished->step_id}, {"attempt_id", finished->attempt_id}};
    switch (finished->result.outcome) {
      case StepResult::Outcome::kSucceeded: {
        decision.events.push_back({"step.completed", facts, Json{{"outputs", finished->result.outputs}}});
        CompletionRow row;
        row.step_id = finished->step_id;
        row.attempt_id = finished->attempt_id;
        row.result_checksum = CanonicalHash(finished->result.outputs);
        row.event_seq = 1;
        decision.completions.push_back(std::move(row));
        CloseIfDone(counter, false, current + 1 == counter.at("steps"), decision);
        break;
      }
      case StepResult::Outcome::kNotStarted: decision.events.push_back({"attempt.not_started", facts, {}}); break;
      case StepResult::Outcome::kUnknown: decision.events.push_back({"step.uncertain", facts, {}}); break;
      default: {
        const WallTime retry_at = now + milliseconds(700 * finished->attempt_id);
        facts["retry_at"] = FormatWallTime(retry_at);
        decision.events.push_back({"step.attempt_failed", facts, {}});
        decision.timers_set.push_back({"retry", retry_at});
        break;
      }
    }
  } else if (const auto* inbox = std::get_if<InboxInput>(&input)) {
    if (inbox->kind == "timer") {
      const Json* record = state.Find("step:" + current_step);
      if (record && record->contains("retry_at") && record->at("retry_at") == inbox->payload.value("fire_at", "")) {
        decision.events.push_back({"step.retry_due", Json{{"step_id", current_step}}, {}});
      }
      return decision;
    }
    if (inbox->kind == "quarantine_released") return decision;
    Json facts = {{"inbox_id", inbox->id.ToString()}, {"payload", inbox->payload}};
    if (inbox->kind == "stop" && !counter.at("closed").get<bool>()) {
      decision.events.push_back({"counter.stopped", facts, {}});
      decision.cancel_all = true;
      CloseIfDone(counter, true, false, decision);
    } else if (inbox->kind == "resolve") {
      decision.events.push_back({"step.resolved", Json{{"inbox_id", inbox->id.ToString()}, {"step_id", current_step}}, {}});
    } else {
      decision.events.push_back({"signal.received", facts, {}});
    }
  }
  return decision;
}

Delta CounterKind::Evolve(const Document& state, const EventDraft& draft) const {
  Json delta = Json::array();
  if (draft.type == "counter.created") {
    Json counter = draft.facts;
    counter.update(Json{{"done", 0}, {"signals", 0}, {"value", 0}, {"stopped", false}, {"closed", false}});
    delta.push_back(PatchAdd({"counter"}, std::move(counter)));
    return delta;
  }
  const Json& counter = CounterOf(state);
  const std::string step_key = draft.facts.contains("step_id") ? "step:" + draft.facts.at("step_id").get<std::string>() : "";
  const Json* record = step_key.empty() ? nullptr : state.Find(step_key);
  auto put_record = [&](Json value) { delta.push_back(PatchAdd({step_key}, std::move(value))); };
  const int attempt_id = draft.facts.value("attempt_id", 0);
  if (draft.type == "step.completed") {
    delta.push_back(PatchReplace({"counter", "done"}, counter.at("done").get<int>() + 1));
    delta.push_back(PatchReplace({"counter", "value"}, counter.at("value").get<int>() + draft.carried.at("outputs").value("add", 0)));
    if (record) delta.push_back(PatchRemove({step_key}));
  } else if (draft.type == "step.attempt_failed") {
    put_record({{"known", attempt_id}, {"retry_at", draft.facts.at("retry_at")}});
  } else if (draft.type == "step.attempt_lost" || draft.type == "attempt.not_started") {
    put_record({{"known", attempt_id}});
  } else if (draft.type == "step.uncertain") {
    put_record({{"known", attempt_id}, {"uncertain", true}});
  } else if (draft.type == "step.started") {
    put_record({{"known", attempt_id - 1}, {"started", attempt_id}});
  } else if (draft.type == "step.retry_due" || draft.type == "step.resolved") {
    if (record) put_record({{"known", record->value("known", 0)}});
  } else if (draft.type == "signal.received") {
    delta.push_back(PatchReplace({"counter", "signals"}, counter.at("signals").get<int>() + 1));
  } else if (draft.type == "counter.stopped") {
    delta.push_back(PatchReplace({"counter", "stopped"}, true));
  } else if (draft.type == "counter.closed") {
    delta.push_back(PatchReplace({"counter", "closed"}, true));
  } else if (draft.type == "counter.incremented") {
    delta.push_back(PatchReplace({"counter", "value"}, counter.at("value").get<int>() + draft.facts.at("by").get<int>()));
  }
  return delta;
}

StepTrace CounterKind::TraceOf(const Document& state, const std::string& step_id) const {
  const Json& counter = CounterOf(state);
  for (int step = 0; step < counter.at("done").get<int>(); ++step) {
    if (StepName(step) == step_id) return {true, 0};
  }
  const Json* record = state.Find("step:" + step_id);
  return {false, record ? record->value("started", 0) : 0};
}

Next CounterKind::WhatNext(const Document& state, const NextContext& context) const {
  Next next;
  const Json& counter = CounterOf(state);
  if (counter.at("closed").get<bool>()) {
    next.closed = true;
    return next;
  }
  if (AllDone(counter)) {
    next.waiting = Waiting{"signal", std::nullopt};
    return next;
  }
  const int current = counter.at("done");
  const std::string step_id = StepName(current);
  const Json* record = state.Find("step:" + step_id);
  if (record && record->contains("retry_at")) {
    next.waiting = Waiting{"retry", ParseWallTime(record->at("retry_at").get<std::string>())};
    return next;
  }
  if (record && record->contains("uncertain")) {
    next.waiting = Waiting{"uncertain", std::nullopt};
    return next;
  }
  if (context.running.contains(step_id) || context.free_slots < 1) return next;
  StartStep start;
  start.step_id = step_id;
  start.effect = EffectOf(counter, current);
  start.call = Json{{"step", current}};
  start.idempotency_key = step_id;
  start.timeout = milliseconds(20'000);
  next.start.push_back(std::move(start));
  return next;
}

}  // namespace acl::test
