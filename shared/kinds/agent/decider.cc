#include "shared/kinds/agent/decider.h"

#include <utility>

#include "shared/base/canonical_json.h"
#include "shared/journal/delta.h"
#include "shared/kinds/agent/events.h"

namespace acl::agent {

namespace {

constexpr std::chrono::milliseconds kOneMinute{60'000};

}  // namespace

Decider::Decider(const Kit& kit, const AgentDefinition& definition, const Document& state, WallTime now)
    : kit_(kit),
      definition_(definition),
      state_(state),
      now_(now),
      standing_(FindStanding(state).value_or(Standing{})),
      guard_(GuardFrom(state.Find(kGuardKey))),
      course_(FindCourse(state)) {
  if (const Json* agent = state.Find(kAgentKey)) session_id_ = TextIn(*agent, "session_id");
  shown_before_ = ShownStatus(state);
  reason_before_ = ShownReason(state);
  standing_before_ = ToJson(standing_);
  guard_before_ = ToJson(guard_);
  course_before_ = course_ ? ToJson(*course_) : Json();
}

void Decider::Put(std::string_view key, Json value) {
  if (!CheckStorable(value, kEntryLimits)) {
    broken_ = true;
    return;
  }
  operations_.push_back({{"op", "add"}, {"path", PointerTo(key)}, {"value", value}});
  state_.Set(key, std::move(value));
}

void Decider::Drop(std::string_view key) {
  if (!state_.Has(key)) return;
  operations_.push_back({{"op", "remove"}, {"path", PointerTo(key)}});
  state_.Remove(key);
}

void Decider::Change(Json operations) {
  if (operations.empty()) return;
  for (const Json& operation : operations) operations_.push_back(operation);
  broken_ = broken_ || !state_.Apply(std::move(operations));
}

// What the values of the session say now, where it is not what the state says.
void Decider::TakeChangesNow() {
  const auto sync = [&](std::string_view key, Json now, Json& before) {
    if (now == before) return;
    if (now.empty()) {
      Drop(key);
    } else {
      Put(key, now);
    }
    before = std::move(now);
  };
  sync(kStandingKey, ToJson(standing_), standing_before_);
  sync(kGuardKey, ToJson(guard_), guard_before_);
  sync(kCourseKey, course_ ? ToJson(*course_) : Json(), course_before_);
}

void Decider::TakeChanges(Json& operations) {
  TakeChangesNow();
  for (Json& operation : operations_) operations.push_back(std::move(operation));
  operations_ = Json::array();
}

void Decider::Emit(std::string_view type, Json facts) {
  if (type.starts_with(event::kMovePrefix)) {
    ++standing_.moves;
    if (now_ >= standing_.minute + kOneMinute) {
      standing_.minute = now_;
      standing_.moves_in_minute = 0;
    }
    if (type != event::kStimulus) ++standing_.moves_in_minute;  // nobody can put it to rest by talking
    if (type != event::kStimulus && type != event::kRest) CountMove(guard_);
  }
  EventDraft draft;
  draft.type = type;
  draft.facts = std::move(facts);
  draft.carried = {{"patch", Json::array()}};
  TakeChanges(draft.carried["patch"]);
  decision_.events.push_back(std::move(draft));
}

Decision Decider::Take() && {
  if (!decision_.events.empty()) {
    TakeChanges(decision_.events.back().carried["patch"]);
  } else if (TakeChangesNow(); broken_ || !operations_.empty()) {
    // A change that no event says would be forgotten: a bug of this kind. The session is quarantined rather than guessed at.
    decision_.events.push_back(
        {std::string(event::kUnreadable), Json{{"reason", "a decision changed the state without an event"}}, Json::object()});
  }
  if (!broken_) List();
  return std::move(decision_);
}

void Decider::List() {
  constexpr std::size_t kShown = 300;
  std::string status = ShownStatus(state_), reason = Brief(ShownReason(state_), kShown);
  if (status == shown_before_ && reason == reason_before_) return;
  ListingChange change;
  change.status = std::move(status);
  change.error_message = std::move(reason);
  decision_.listing = std::move(change);
}

void Decider::Complete(const std::string& step_id, int attempt, const Json& outputs) {
  // Joins the event that says what came of it (AgentKind::Joins): whoever checks journals finds every completion by one name.
  EventDraft completed;
  completed.type = event::kStepCompleted;
  completed.facts = {{"step_id", step_id}, {"attempt", attempt}};
  completed.carried = {{"patch", Json::array()}};
  decision_.events.push_back(std::move(completed));
  CompletionRow row;
  row.step_id = step_id;
  row.attempt_id = attempt;
  row.completed_at = now_;
  row.result_checksum = CanonicalHash(outputs);
  row.event_seq = std::int64_t(decision_.events.size());
  decision_.completions.push_back(std::move(row));
}

void Decider::SetTimer(std::string_view id, WallTime at) {
  std::erase(decision_.timers_cleared, id);
  std::erase_if(decision_.timers_set, [&](const TimerRow& timer) { return timer.timer_id == id; });
  decision_.timers_set.push_back({std::string(id), at});
}

void Decider::ClearTimer(std::string_view id) {
  std::erase_if(decision_.timers_set, [&](const TimerRow& timer) { return timer.timer_id == id; });
  decision_.timers_cleared.emplace_back(id);
}

Json Decider::Facts() const { return {{"turn", course_ ? course_->turn : standing_.turns}}; }

Json Decider::OutcomeOf(const char* outcome, const std::string& code, const std::string& message) const {
  Json json = {{"action", course_->action + 1}, {"outcome", outcome}};
  if (const Json* action = state_.Find(ActionKey(course_->action))) json["capability"] = action->at("capability");
  if (!code.empty()) json["code"] = code;
  if (!message.empty()) json["message"] = Brief(message, kKeptOutputs);
  return json;
}

}  // namespace acl::agent
