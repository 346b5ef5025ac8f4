// Asking extensions, one after the other, each with the draft that the one before left.

#include <fmt/format.h>

#include "shared/kinds/agent/decider.h"
#include "shared/kinds/agent/events.h"

namespace acl::agent {

namespace {

using Outcome = StepResult::Outcome;

constexpr std::string_view kFailedCode = "extension-failed";

// Of a draft that an extension has changed: what it is not any more; empty: it has its form.
std::string WrongForm(Phase phase, const Json& draft) {
  switch (phase) {
    case Phase::kBeforePlan:
      return draft.is_object() && draft.contains("stimuli") && draft["stimuli"].is_array() ? "" : "a context needs 'stimuli', a list";
    case Phase::kAfterPlan:
      return draft.is_object() && draft.contains("intention") && draft["intention"].is_string() && draft.contains("expected_outcome")
                 ? ""
                 : "a plan needs 'intention', a text, and 'expected_outcome'";
    case Phase::kBeforeRequest: return draft.is_object() ? "" : "a request is an object";
    case Phase::kAfterRequest: {
      const auto read = ResponseFrom(draft, "rules");
      return read ? "" : read.message();
    }
    case Phase::kBeforeProcess: {
      const auto read = ResponseFrom({{"actions", draft}}, "rules");
      return read ? "" : read.message();
    }
    case Phase::kBeforeAction: {
      const auto read = ResponseFrom({{"actions", Json::array({draft})}}, "rules");
      return read ? "" : read.message();
    }
    default: return "";
  }
}

Result<Answer> AnswerIn(const Extension& extension, const StepResult& result) {
  if (result.outcome != Outcome::kSucceeded)
    return Error{Code::kUnavailable, result.error.empty() ? "it gave no answer in its time" : result.error};
  Json answer;
  if (!extension.command.empty()) {
    const auto text = result.outputs.find("stdout");
    const std::string said = text != result.outputs.end() && text->is_string() ? text->get<std::string>() : "";
    const bool silent = said.find_first_not_of(" \t\r\n") == std::string::npos;
    auto parsed = silent ? Result<Json>(Json::object()) : ParseJson(said);  // silent: it has no objection
    if (!parsed) return Error{Code::kInvalid, "what it wrote is no JSON: " + parsed.message()};
    answer = std::move(*parsed);
  } else {
    answer = result.outputs.value("json", Json());
  }
  return AnswerFrom(answer);
}

}  // namespace

const Extension* ListenerAt(const AgentDefinition& definition, Phase phase, int index) {
  for (const Extension& extension : definition.extensions)
    if (extension.ListensTo(phase) && index-- == 0) return &extension;
  return nullptr;
}

Json SnapshotOf(const Document& state) {
  Json snapshot = {{"outcomes", Json::array()}};
  for (const auto& [name, key] : {std::pair("session", kAgentKey), std::pair("standing", kStandingKey), std::pair("plan", kPlanKey)})
    if (const Json* entry = state.Find(key)) snapshot[name] = *entry;
  if (const auto course = FindCourse(state)) {
    snapshot["turn"] = course->turn;
    snapshot["phase"] = std::string(NameOf(course->at));
    if (const Json* action = state.Find(ActionKey(course->action))) snapshot["action"] = *action;
    snapshot["outcomes"] = OutcomesOf(state, *course);
  }
  return snapshot;
}

Json Decider::DraftOf(Phase phase) const {
  const auto entry = [&](std::string_view key) {
    const Json* found = state_.Find(key);
    return found == nullptr ? Json() : *found;
  };
  switch (phase) {
    case Phase::kBeforePlan: return entry(kContextKey);
    case Phase::kAfterPlan: return entry(kPlanKey);
    case Phase::kBeforeRequest: return entry(kRequestKey);
    case Phase::kAfterRequest: return entry(kResponseKey);
    case Phase::kBeforeProcess: return entry(kResponseKey).value("actions", Json::array());
    case Phase::kBeforeAction: return entry(ActionKey(course_->action));
    default: return Json();
  }
}

void Decider::KeepDraft(Phase phase, const Json& draft) {
  switch (phase) {
    case Phase::kBeforePlan: return Put(kContextKey, draft);
    case Phase::kAfterPlan: {
      Put(kPlanKey, draft);
      const Json* context = state_.Find(kContextKey);
      return Put(kRequestKey, MakeRequest(definition_, draft, context == nullptr ? Json::object() : *context));
    }
    case Phase::kBeforeRequest: return Put(kRequestKey, draft);
    case Phase::kAfterRequest: return Put(kResponseKey, draft);
    case Phase::kBeforeProcess: {
      Json response = *state_.Find(kResponseKey);
      response["actions"] = draft;
      return Put(kResponseKey, std::move(response));
    }
    case Phase::kBeforeAction: return Put(ActionKey(course_->action), draft);
    default: return;
  }
}

bool Decider::PassExtensions(Phase phase) {
  const Point at = course_->at;
  const bool has_draft = !RuleOf(phase).draft.empty();
  // Nobody is asked any more about what stops.
  for (const Extension* extension = nullptr; standing_.status != kStopping;) {
    extension = ListenerAt(definition_, phase, course_->asked);
    if (extension == nullptr) break;
    if (has_draft && !state_.Has(kDraftKey)) Put(kDraftKey, DraftOf(phase));
    if (extension->builtin.empty()) return false;  // by a step
    const auto found = kit_.extensions.find(extension->builtin);
    if (found == kit_.extensions.end()) {
      TakeAnswer(*extension, phase, Error{Code::kInvalid, "there is no built-in extension '" + Brief(extension->builtin, 100) + "'"},
                 nullptr);
    } else {
      TakeChangesNow();
      const Json* draft = state_.Find(kDraftKey);
      TakeAnswer(*extension, phase, found->second->LookIn(phase, extension->config, SnapshotOf(state_), draft == nullptr ? Json() : *draft),
                 nullptr);
    }
    if (!course_ || course_->at != at) return true;
  }
  if (const Json* draft = state_.Find(kDraftKey)) {
    if (has_draft && !course_->touched.empty()) KeepDraft(phase, Json(*draft));
    Drop(kDraftKey);
  }
  course_->asked = 0;
  course_->touched = Json::array();
  return true;
}

void Decider::TakeAnswer(const Extension& extension, Phase phase, const Result<Answer>& answer, const StepFinishedInput* step) {
  Json facts = Facts();
  facts["phase"] = std::string(NameOf(phase));
  facts["extension"] = extension.name;
  if (step != nullptr) {
    facts["step_id"] = step->step_id;
    facts["attempt"] = step->attempt_id;
    facts["duration_ms"] = step->result.duration.count();
  }
  std::string failed = answer ? "" : answer.message(), code, message;
  if (answer) {
    const Json* kept = state_.Find(kDraftKey);
    Json draft = kept == nullptr ? Json() : *kept, touched = course_->touched;
    if (Status applied = ApplyAnswer(phase, extension.name, *answer, draft, touched); !applied) {
      failed = applied.message();
    } else if (std::string wrong = answer->patch.empty() ? "" : WrongForm(phase, draft); !wrong.empty()) {
      failed = "what it made of the draft is none: " + wrong;
    } else if (!answer->patch.empty()) {
      facts["patch"] = answer->patch;
      course_->touched = std::move(touched);
      Put(kDraftKey, std::move(draft));
    }
    code = answer->stop_code;
    message = answer->stop_message;
    if (failed.empty() && !answer->ask.empty()) {
      course_->must_ask = true;
      course_->why_ask = answer->ask;
    }
  }
  if (!failed.empty()) {
    facts["error"] = Brief(failed, kKeptInBrief);
    code = extension.closed ? std::string(kFailedCode) : "";
    message = fmt::format("the extension '{}' failed: {}", extension.name, Brief(failed, kKeptInBrief));
  }
  facts["answer"] = !code.empty() ? "stop" : !failed.empty() ? "passed over" : course_->must_ask ? "ask" : "continue";
  ++course_->asked;
  Emit(event::kExtensionAnswered, std::move(facts));
  if (step != nullptr) Complete(step->step_id, step->attempt_id, step->result.outputs);
  if (!code.empty()) Stopped(extension, phase, code, message);
}

// What that means: phases.h.
void Decider::Stopped(const Extension& extension, Phase phase, const std::string& code, const std::string& message) {
  Json facts = Facts();
  facts["phase"] = std::string(NameOf(phase));
  facts["extension"] = extension.name;
  facts["code"] = code;
  facts["message"] = message;
  const std::string why = fmt::format("blocked: {} at {}: {}", extension.name, NameOf(phase), message);
  Drop(kDraftKey);
  course_->asked = 0;
  course_->touched = Json::array();
  Emit(event::kBlock, std::move(facts));
  if (RuleOf(phase).stop == "action") return EndAction(OutcomeOf("refused", code, message), "", 0, Json::object());
  standing_.look_again = false;
  if (phase == Phase::kBeforeRest) return Rest(course_->rest_reason, course_->wake_at);
  if (course_->passage > 0) {
    course_.reset();
    return Rest(why, std::nullopt);
  }
  course_->rest_reason = why;
  if (phase == Phase::kAfterAction) {
    course_->dropped = why;
    ++course_->action;
    course_->at = Point::kChoose;
    return;
  }
  if (RuleOf(phase).stop == "turn")
    standing_.last = {{"turn", course_->turn}, {"blocked", {{"by", extension.name}, {"code", code}, {"message", message}}}};
  course_->at = Point::kEndTurn;
}

void Decider::ExtensionFinished(const StepFinishedInput& input) {
  if (input.result.outcome == Outcome::kCancelled && course_->dropped.empty()) return;  // asked again
  const auto phase = ParsePhase(NameOf(course_->at));
  const Extension* extension = phase ? ListenerAt(definition_, *phase, course_->asked) : nullptr;
  if (extension == nullptr) return;
  TakeAnswer(*extension, *phase, AnswerIn(*extension, input.result), &input);
}

}  // namespace acl::agent
