// What comes from outside: stimuli, people, timers. Each leaves an event with its inbox id, refusals too; only a timer that has nothing to
// do any more leaves none.

#include <fmt/format.h>

#include "shared/base/mutant.h"
#include "shared/capability/manifest.h"
#include "shared/kernel/post.h"
#include "shared/kinds/agent/decider.h"
#include "shared/kinds/agent/events.h"
#include "shared/kinds/agent/put_files.h"

namespace acl::agent {

namespace {

bool IsMode(const std::string& mode) { return mode == "interrupt" || mode == "steer" || mode == "followup"; }

}  // namespace

Json Decider::InboxFacts(const InboxInput& input) const {
  Json facts = Json::object();
  if (!input.id.is_nil()) facts["inbox_id"] = input.id.ToString();
  if (std::string by = TextOrNone(input.payload, "by"); !by.empty()) facts["by"] = Brief(by, kKeptInBrief);
  if (std::string reason = TextOrNone(input.payload, "reason"); !reason.empty()) facts["reason"] = Brief(reason, kKeptOutputs);
  return facts;
}

void Decider::Refuse(const InboxInput& input, const std::string& reason) {
  Json facts = InboxFacts(input);
  facts["kind"] = input.kind;
  facts["reason"] = reason;
  Emit(event::kInputRefused, std::move(facts));
}

void Decider::On(const InboxInput& input) {
  if (input.kind == "timer") return Timer(input);
  if (input.kind == "decide") return DecideApproval(input);
  // Kinds of their own: what was meant for a workflow run changes nothing here.
  if (input.kind == kPauseInput) return Pause(input);
  if (input.kind == kResumeInput) return Resume(input);
  if (input.kind == kStopInput) return Stop(input);
  if (input.kind == kResolveInput) return Resolve(input);
  if (input.kind == kFilesInput) return TakeFiles(input);
  if (input.kind == "quarantine_released") return Emit(event::kReleased, InboxFacts(input));
  Stimulus stimulus;
  stimulus.by = TextOrNone(input.payload, "by");
  if (input.kind == "stimulus") {
    stimulus.mode = TextOrNone(input.payload, "mode");
    if (stimulus.mode.empty()) stimulus.mode = "followup";
    stimulus.kind = TextOrNone(input.payload, "kind").empty() ? "message" : TextOrNone(input.payload, "kind");
    stimulus.text = TextOrNone(input.payload, "text");
    if (input.payload.is_object() && input.payload.contains("payload")) stimulus.payload = input.payload["payload"];
    if (!IsMode(stimulus.mode))
      return Refuse(input, fmt::format("mode '{}' is unknown; say interrupt, steer or followup", Brief(stimulus.mode, 100)));
    return TakeStimulus(input, std::move(stimulus));
  }
  if (input.kind == kProjectChangedPost) {
    const Json said = input.payload.is_object() ? input.payload.value("said", Json::object()) : Json::object();
    stimulus.kind = "goal_changed";
    stimulus.by = TextOrNone(said, "by");
    stimulus.text = fmt::format("its project changed: {} {}", TextOrNone(said, "event"), TextOrNone(said, "of"));
    return TakeStimulus(input, std::move(stimulus));
  }
  Refuse(input,
         fmt::format("an agent has no input '{}'; say it with airun agent: tell, pause, resume, stop, resolve", Brief(input.kind, 100)));
}

// It moves again. Stopped and paused sessions are woken by people alone (Resume).
void Decider::Wake() {
  if (standing_.status != kResting) return;
  standing_.status = kMoving;
  standing_.since = now_;
  standing_.wake_at.reset();
  standing_.turns_awake = 0;
  ClearTimer(kWakeTimer);
  ClearTimer(kEveryTimer);
  if (ListenerAt(definition_, Phase::kAfterRest, 0) != nullptr) BeginPassage(Point::kAfterRest);
}

void Decider::TakeStimulus(const InboxInput& input, Stimulus stimulus) {
  if (standing_.waiting.size() >= kMostStimuli)
    return Refuse(input, fmt::format("{} stimuli wait already, which is the most that one session keeps", standing_.waiting.size()));
  if (const std::size_t bytes = stimulus.text.size() + DumpedBytes(stimulus.payload); bytes > kMostStimulus)
    return Refuse(input,
                  fmt::format("it has {} bytes; at most {} are taken: put what is large into a file of the session", bytes, kMostStimulus));
  stimulus.number = ++standing_.stimuli;
  stimulus.at = now_;
  if (stimulus.kind == "message") {
    Changed(guard_);
    standing_.failed_requests = 0;
  }
  const bool interrupts = stimulus.mode == "interrupt" && course_ && course_->passage == 0;
  Put(StimulusKey(stimulus.number), ToJson(stimulus));
  if (standing_.status != kResting || !Mutant("agent_stimulus_lost_at_rest")) standing_.waiting.push_back(stimulus.number);
  Json facts = InboxFacts(input);
  facts.update(ToJson(stimulus));
  Wake();
  Emit(event::kStimulus, std::move(facts));
  if (interrupts) DropTurn(fmt::format("interrupted by stimulus {}", stimulus.number));
  Loop();
}

// What runs is asked to end; what left no promise is dropped at once, and what came of it is not taken any more.
void Decider::DropTurn(const std::string& why) {
  Course& course = *course_;
  course.dropped = why;
  if (!course.open.empty()) {
    decision_.cancel_steps.push_back(course.open);
    return;
  }
  if (course.at == Point::kApprove) return TakeBackApproval("interrupted", why);
  TakeChangesNow();
  if (const auto step = StepAt(kit_, definition_, state_)) decision_.cancel_steps.push_back(step->step_id);
  switch (course.at) {
    case Point::kRequest: return RequestFailed(why, 0, false, milliseconds(0));
    case Point::kBeforeAction:
    case Point::kAct: return EndAction(OutcomeOf("interrupted", "interrupted", why), "", 0, Json::object());
    case Point::kAfterAction:
      ++course.action;
      course.at = Point::kChoose;
      break;
    case Point::kAfterProcess: course.at = Point::kEndTurn; break;
    default:  // before there was an answer
      standing_.again = course.stimuli;
      course.at = Point::kEndTurn;
  }
  course.asked = 0;
  course.touched = Json::array();
  Drop(kDraftKey);
}

void Decider::Pause(const InboxInput& input) {
  if (waits() || standing_.status == kStopping)
    return Refuse(input, fmt::format("a session that is {} cannot be paused", standing_.status));
  standing_.status = kPaused;
  standing_.since = now_;
  standing_.reason = TextOrNone(input.payload, "reason");
  Emit(event::kPaused, InboxFacts(input));
}

void Decider::Resume(const InboxInput& input) {
  if (!waits()) return Refuse(input, fmt::format("a session that is {} cannot be resumed", standing_.status));
  standing_.status = kMoving;
  standing_.since = now_;
  standing_.reason.clear();
  standing_.turns_awake = 0;
  Changed(guard_);
  Emit(event::kResumed, InboxFacts(input));
  Loop();
}

void Decider::Stop(const InboxInput& input) {
  if (standing_.status == kStopped || standing_.status == kStopping)
    return Refuse(input, fmt::format("the session is {} already", standing_.status));
  standing_.status = kStopping;
  standing_.since = now_;
  standing_.reason = TextOrNone(input.payload, "reason");
  for (const std::string_view timer : {kEveryTimer, kWakeTimer, kRetryTimer}) ClearTimer(timer);
  Emit(event::kStopAsked, InboxFacts(input));
  if (course_ && course_->passage > 0) course_.reset();
  if (course_) DropTurn("the session was stopped");
  Loop();
}

// Nothing is under way any more: what was left is said, and kept for whoever resumes it.
void Decider::FinishStop() {
  standing_.status = kStopped;
  standing_.since = now_;
  Json left = Json::array();
  for (const Stimulus& one : standing_.again) left.push_back(ToJson(one));
  for (const Stimulus& one : WaitingStimuli(state_, standing_)) left.push_back(ToJson(one));
  Emit(event::kStopped, {{"left", {{"stimuli", std::move(left)}}}});
}

void Decider::Resolve(const InboxInput& input) {
  const std::string decision = TextOrNone(input.payload, "decision");
  if (standing_.uncertain.is_null()) return Refuse(input, "there is no action whose outcome nobody knows");
  if (decision != "happened" && decision != "did_not_happen")
    return Refuse(input, fmt::format("decision '{}' is unknown; say happened or did_not_happen", Brief(decision, 100)));
  Json facts = InboxFacts(input);
  facts["decision"] = decision;
  facts["of"] = standing_.uncertain;
  Stimulus told;
  told.number = ++standing_.stimuli;
  told.mode = "steer";
  told.kind = "resolved";
  told.by = TextOrNone(input.payload, "by");
  told.text = fmt::format("a person says that {} (turn {}, action {}) {}", TextIn(standing_.uncertain, "capability"),
                          NumberIn(standing_.uncertain, "turn"), NumberIn(standing_.uncertain, "action"),
                          decision == "happened" ? "happened" : "did not happen");
  if (std::string comment = TextOrNone(input.payload, "comment"); !comment.empty()) told.text += ": " + Brief(comment, kKeptInBrief);
  told.at = now_;
  facts["stimulus"] = told.number;
  standing_.uncertain = Json();
  Put(StimulusKey(told.number), ToJson(told));
  standing_.waiting.push_back(told.number);
  Wake();
  Emit(event::kResolved, std::move(facts));
  Loop();
}

// They are there for whatever begins behind this; an action that runs now and changed the same file is an error (conflict).
void Decider::TakeFiles(const InboxInput& input) {
  auto changes = PutFiles(state_, input.payload);
  if (!changes) return Refuse(input, changes.message());
  const bool quiet = input.payload.value("quiet", false);
  std::string named;
  Json facts = quiet ? InboxFacts(input) : Json::object();
  facts["paths"] = Json::array();
  for (const FileChange& change : *changes) {
    if (!change.is_dir) named += (named.empty() ? "" : ", ") + change.path + (IsDeletion(change) ? " (removed)" : "");
    facts["paths"].push_back(change.path);
    if (change.hash && !change.is_dir) decision_.contents.push_back(*change.hash);
  }
  Change(PatchFiles(state_, *changes));
  Changed(guard_);
  Emit(event::kFilesChanged, std::move(facts));
  if (quiet) return Loop();
  Stimulus stimulus;
  stimulus.kind = "file";
  stimulus.by = TextOrNone(input.payload, "by");
  stimulus.mode = TextOrNone(input.payload, "mode").empty() ? "followup" : TextOrNone(input.payload, "mode");
  if (!IsMode(stimulus.mode)) stimulus.mode = "followup";
  stimulus.text = "files: " + Brief(named, kKeptInBrief);
  TakeStimulus(input, std::move(stimulus));
}

void Decider::Timer(const InboxInput& input) {
  const std::string timer_id = TextOrNone(input.payload, "timer_id");
  if (timer_id == kApprovalTimer) return ApprovalTimer();
  if (standing_.status != kResting) return;
  if (timer_id == kEveryTimer && definition_.every && now_ >= standing_.since + *definition_.every) {
    Stimulus stimulus;
    stimulus.kind = "timer";
    return TakeStimulus(input, std::move(stimulus));
  }
  if (timer_id != kWakeTimer || !standing_.wake_at || now_ < *standing_.wake_at) return;
  Wake();
  Emit(event::kWoken, {{"why", "time"}});
  Loop();
}

}  // namespace acl::agent
