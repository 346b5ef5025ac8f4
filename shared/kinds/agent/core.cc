// The core of an agent, in the words of document 003, section 2. Everything that happens to a session happens here, one point after the
// other; what it stands on (steps, extensions, approvals, inputs) is in decide_*.cc.

#include "shared/kinds/agent/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shared/base/canonical_json.h"
#include "shared/kinds/agent/decider.h"
#include "shared/kinds/agent/events.h"

namespace acl::agent {

namespace {

constexpr std::chrono::milliseconds kMinute{60'000};
constexpr int kMostPoints = 10'000;  // of one decision: far more than any turn has

// In the order in which a turn passes them; the last of a loop is chosen where it is passed.
Point After(Point point) { return Point(int(point) + 1); }

}  // namespace

// ---- 2.3 decide

Spent SpentNow(const Limits& limits, const Standing& standing, WallTime now) {
  if (!limits.per_day) return {standing.tokens, standing.micros, {}};
  const auto day = [](WallTime at) { return std::chrono::floor<std::chrono::days>(at); };
  const WallTime until = day(now) + std::chrono::days(1);
  return day(standing.spend_since) == day(now) ? Spent{standing.tokens, standing.micros, until} : Spent{0, 0, until};
}

namespace {

std::optional<Choice> OverBudget(const AgentDefinition& definition, const Standing& standing, WallTime now) {
  const Limits& limits = definition.limits;
  if (limits.requests > 0 && standing.requests >= limits.requests)
    return Choice{false, fmt::format("budget: it has made its {} requests (limits.requests)", limits.requests), {}};
  const Spent spent = SpentNow(limits, standing, now);
  const char* when = limits.per_day ? "today" : "in its life";
  if (limits.tokens > 0 && spent.tokens >= limits.tokens)
    return Choice{false, fmt::format("budget: asking took {} tokens {}, of {} (limits.tokens)", spent.tokens, when, limits.tokens),
                  spent.until};
  if (limits.micros > 0 && spent.micros >= limits.micros)
    return Choice{false,
                  fmt::format("budget: asking cost {:.6f} dollars {}, of {:.2f} (limits.dollars)", double(spent.micros) / 1e6, when,
                              double(limits.micros) / 1e6),
                  spent.until};
  return std::nullopt;
}

}  // namespace

Choice Decide(const AgentDefinition& definition, const Standing& standing, const Guard& guard, WallTime now) {
  if (!standing.uncertain.is_null() && !definition.go_on_uncertain)
    return {
        false, "uncertain: nobody knows what became of " + TextIn(standing.uncertain, "capability") + "; say so (airun agent resolve)", {}};
  if (std::string why = WhyRest(guard, definition.limits.moves_without_change); !why.empty()) return {false, "loop: " + why, {}};
  if (auto over = OverBudget(definition, standing, now)) return std::move(*over);
  const bool wanted = !standing.again.empty() || !standing.waiting.empty() || standing.look_again;
  if (!wanted) return {false, std::string(kNothingToDo), {}};
  if (standing.moves_in_minute >= definition.limits.moves_per_minute && now < standing.minute + kMinute)
    return {false, fmt::format("rate: {} moves in a minute (limits.moves_per_minute)", standing.moves_in_minute),
            standing.minute + kMinute};
  if (standing.turns_awake >= definition.limits.turns_per_wake)
    return {false, fmt::format("turns: {} since it was woken (limits.turns_per_wake)", standing.turns_awake), now + kMinute};
  return {true, "", {}};
}

// ---- 2.2 loop

void Decider::Loop() {
  for (int passed = 0; passed < kMostPoints && !broken_; ++passed) {
    if (course_) {
      if (!Pass()) return;
      continue;
    }
    if (standing_.status == kStopping) return FinishStop();
    if (standing_.status != kMoving) return;
    const Choice choice = agent::Decide(definition_, standing_, guard_, now_);
    if (choice.move) {
      BeginTurn();
    } else {
      Rest(choice.reason, choice.wake_at);
    }
  }
}

// ---- 2.4 rest

void Decider::Rest(std::string reason, std::optional<WallTime> wake_at) {
  if (ListenerAt(definition_, Phase::kBeforeRest, 0) != nullptr && !(course_ && course_->at == Point::kBeforeRest)) {
    BeginPassage(Point::kBeforeRest);
    course_->rest_reason = reason;
    course_->wake_at = wake_at;
    return Emit(event::kPassageBegan, {{"phase", std::string(NameOf(Phase::kBeforeRest))}, {"reason", reason}});
  }
  course_.reset();
  standing_.status = kResting;
  standing_.reason = reason;
  standing_.since = now_;
  standing_.wake_at = wake_at;
  if (reason == kNothingToDo || reason.starts_with(kNoPlan)) Changed(guard_);
  Json facts = {{"reason", reason}};
  if (wake_at) {
    facts["wake_at"] = FormatWallTime(*wake_at);
    SetTimer(kWakeTimer, *wake_at);
  }
  if (definition_.every) SetTimer(kEveryTimer, now_ + *definition_.every);
  Emit(event::kRest, std::move(facts));
}

void Decider::BeginPassage(Point point) {
  course_ = Course{};
  course_->turn = standing_.turns;
  course_->passage = ++standing_.passages;
  course_->began_at = now_;
  course_->at = point;
}

void Decider::BeginTurn() {
  course_ = Course{};
  Course& course = *course_;
  course.turn = ++standing_.turns;
  course.began_at = now_;
  course.at = Point::kLook;
  ++standing_.turns_awake;
  course.stimuli = std::exchange(standing_.again, {});
  // What waits until it would rest is taken up when nothing else is to be done.
  const std::vector<Stimulus> waiting = WaitingStimuli(state_, standing_);
  const bool urgent = std::any_of(waiting.begin(), waiting.end(), [](const Stimulus& one) { return one.mode != "followup"; });
  const bool would_rest = !urgent && course.stimuli.empty() && !standing_.look_again;
  standing_.waiting.clear();
  for (const Stimulus& one : waiting) {
    if (one.mode == "followup" && !would_rest) {
      standing_.waiting.push_back(one.number);
      continue;
    }
    course.stimuli.push_back(one);
    Drop(StimulusKey(one.number));
  }
  standing_.reason.clear();
  Json facts = Facts();
  facts["stimuli"] = Json::array();
  for (const Stimulus& one : course.stimuli) facts["stimuli"].push_back(one.number);
  Emit(event::kTurnBegan, std::move(facts));
}

bool Decider::Pass() {
  Course& course = *course_;
  if (const auto phase = ParsePhase(NameOf(course.at))) {
    const Point at = course.at;
    if (!PassExtensions(*phase)) return false;
    if (!course_ || course_->at != at) return true;  // one of them stopped it
    switch (at) {
      case Point::kAfterPrepare:
      case Point::kAfterRest: course_.reset(); return true;
      case Point::kBeforeRest: Rest(course_->rest_reason, course_->wake_at); return true;
      case Point::kBeforeProcess: TakeActions(); return true;
      case Point::kBeforeAction: MayAct(); return true;
      case Point::kAfterAction:
        ++course.action;
        course.at = Point::kChoose;
        return true;
      default: course.at = After(at); return true;
    }
  }
  switch (course.at) {
    case Point::kLook:
      if (definition_.tasks && state_.Find(kLookKey) == nullptr) return false;
      TakeChangesNow();
      Put(kContextKey, ContextOf(kit_, definition_, state_, course));
      course.at = Point::kBeforePlan;
      return true;
    case Point::kPlan: return Plan();
    case Point::kRequest:
      if (definition_.planner.kind != "rules") return false;
      Request();
      return true;
    case Point::kChoose: Choose(); return true;
    case Point::kEndTurn: EndTurn(); return true;
    default: return false;  // kApprove, kAct
  }
}

// ---- 2.5 plan

bool Decider::Plan() {
  const Json* found = state_.Find(kContextKey);
  const Json context = found == nullptr ? Json::object() : *found;
  auto plan = MakePlan(definition_, context);
  if (!plan || !*plan) {  // evaluation is implicit: no sensible step, and no plan is produced
    const std::string why = plan ? std::string(kNoPlan) : fmt::format("{}: {}", kNoPlan, plan.message());
    standing_.look_again = false;
    course_->rest_reason = why;
    course_->at = Point::kEndTurn;
    return true;
  }
  Json& made = **plan;
  Put(kPlanKey, made);
  Json facts = Facts();
  facts["planner"] = definition_.planner.kind;
  facts["intention"] = made["intention"];
  facts["expected_outcome"] = made["expected_outcome"];
  for (const char* key : {"rule", "passed_over"})
    if (made.contains(key)) facts[key] = made[key];
  facts["stimuli"] = Json::array();
  for (const Stimulus& one : course_->stimuli) facts["stimuli"].push_back(one.number);
  facts["context_digest"] = ToHex(CanonicalHash(context));
  Emit(event::kPlan, std::move(facts));
  Put(kRequestKey, MakeRequest(definition_, made, context));
  course_->at = Point::kAfterPlan;
  return true;
}

// ---- 2.6 request: of a planner that has its answer already. What others answered is taken in decide_steps.cc.

void Decider::Request() {
  const Json* request = state_.Find(kRequestKey);
  auto response = ResponseFrom(request == nullptr ? Json() : *request, definition_.planner.kind);
  if (!response) return RequestFailed(response.message(), 0, false, milliseconds(0));
  Put(kResponseKey, *response);
  Json facts = Facts();
  facts["planner"] = definition_.planner.kind;
  facts["attempts"] = 0;
  facts["response"] = std::move(*response);
  Emit(event::kRequest, std::move(facts));
  course_->at = Point::kAfterRequest;
}

// ---- 2.7 process

void Decider::Choose() {
  Course& course = *course_;
  if (course.action >= course.actions) return Process();
  const Json* action = state_.Find(ActionKey(course.action));
  if (action == nullptr) return Process();
  if (!course.dropped.empty()) return EndAction(OutcomeOf("refused", "dropped", course.dropped), "", 0, Json::object());
  if (const auto refusal = RefusalOf(kit_, definition_, *action, course.action))
    return EndAction(OutcomeOf("refused", refusal->code, refusal->message), "", 0, Json::object());
  const std::string id = TextIn(*action, "capability");
  if (CountCall(guard_, CallKey(id, action->at("inputs")), MatchesAny(definition_.pollers, id)) == Verdict::kRefuse)
    return EndAction(OutcomeOf("refused", "loop", "the same call again, and nothing has changed since: do something else, or nothing"), "",
                     0, Json::object());
  const std::vector<Json> before = OutcomesOf(state_, course);
  const bool failed = std::any_of(before.begin(), before.end(), [](const Json& one) { return one["outcome"] != "result"; });
  if (id == kCompleteTask && failed)
    return EndAction(OutcomeOf("refused", "not-done", "an action of this turn did not succeed, so its task is not said to be done"), "", 0,
                     Json::object());
  course.approved = course.must_ask = false;
  course.at = Point::kBeforeAction;
}

// What was asked for, one entry each: from here on every one of them ends in exactly one outcome.
void Decider::TakeActions() {
  const Json* response = state_.Find(kResponseKey);
  const Json actions = response == nullptr ? Json::array() : ActionsOf(*response, state_.Find(kLookKey));
  bool polls = !actions.empty();
  for (std::size_t index = 0; index < actions.size(); ++index) {
    Put(ActionKey(int(index)), actions[index]);
    polls = polls && MatchesAny(definition_.pollers, TextIn(actions[index], "capability"));
  }
  const Json* plan = state_.Find(kPlanKey);
  if (!polls)
    CountPlan(guard_,
              ToHex(CanonicalHash({{"intention", plan == nullptr ? "" : TextIn(*plan, "intention")}, {"actions", actions}})).substr(0, 16));
  course_->actions = int(actions.size());
  course_->action = 0;
  course_->at = Point::kChoose;
}

// Form and rights are looked at once more behind the last extension, which may have changed the action.
void Decider::MayAct() {
  const Json* action = state_.Find(ActionKey(course_->action));
  if (action == nullptr) return Process();
  if (const auto refusal = RefusalOf(kit_, definition_, *action, course_->action))
    return EndAction(OutcomeOf("refused", refusal->code, refusal->message), "", 0, Json::object());
  if (const auto why = MustAsk(*action)) return AskPerson(*why);
  course_->at = Point::kAct;
}

void Decider::Process() {
  Course& course = *course_;
  Json facts = Facts();
  facts["outcomes"] = Json::array();
  Json last = Json::array();
  for (const Json& outcome : OutcomesOf(state_, course)) {
    facts["outcomes"].push_back({{"action", outcome["action"]}, {"capability", outcome["capability"]}, {"outcome", outcome["outcome"]}});
    for (const char* key : {"code", "artifacts"})
      if (outcome.contains(key)) facts["outcomes"].back()[key] = outcome[key];
    last.push_back(outcome);
  }
  if (const Json* response = state_.Find(kResponseKey)) {
    if (!TextIn(*response, "say").empty()) facts["say"] = response->at("say");
    Json brief = {{"turn", course.turn}, {"did", Json::array()}};
    for (const Json& outcome : last) {
      Json did = {{"capability", outcome["capability"]}, {"outcome", outcome["outcome"]}};
      if (outcome.contains("code")) did["code"] = outcome["code"];
      if (outcome.contains("message")) did["message"] = Brief(outcome["message"].get<std::string>(), kKeptInBrief / 3);
      brief["did"].push_back(std::move(did));
    }
    if (const Json* plan = state_.Find(kPlanKey)) brief["intention"] = Brief(TextIn(*plan, "intention"), kKeptInBrief);
    brief["said"] = Brief(TextIn(*response, "say"), kKeptInBrief);
    Put(std::string(kPastPrefix) + std::to_string(course.turn % kKeptTurns), std::move(brief));
  }
  if (!course.dropped.empty()) facts["dropped"] = course.dropped;
  standing_.last = {{"turn", course.turn}, {"outcomes", std::move(last)}};
  if (const Json* looked = state_.Find(kLookKey); looked != nullptr && looked->contains("task_id"))
    standing_.last["task"] = looked->at("task_id");
  standing_.look_again = course.actions > 0;  // what came of it may ask for more
  Emit(event::kProcess, std::move(facts));
  course.at = Point::kAfterProcess;
}

void Decider::EndTurn() {
  const std::string reason = course_->rest_reason;
  const std::optional<WallTime> wake_at = course_->wake_at;
  for (const std::string_view key : {kDraftKey, kLookKey, kContextKey, kPlanKey, kRequestKey, kResponseKey, kApprovalKey}) Drop(key);
  for (int index = 0; index < course_->actions; ++index) {
    Drop(ActionKey(index));
    Drop(OutcomeKey(index));
  }
  course_.reset();
  Json facts = Facts();
  if (!reason.empty()) facts["reason"] = reason;
  Emit(event::kTurnEnded, std::move(facts));
  // Without a plan it would rest: what waits for that moment is taken up now.
  const bool hears_more = reason.starts_with(kNoPlan) && !standing_.waiting.empty();
  if (!reason.empty() && standing_.status == kMoving && !hears_more) Rest(reason, wake_at);
}

}  // namespace acl::agent
