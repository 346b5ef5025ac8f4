// What a turn is planned on, and what is asked of whom: the pure half of plan, request and process (core.h).

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/mutant.h"
#include "shared/capability/manifest.h"
#include "shared/kernel/call_format.h"
#include "shared/kinds/agent/core.h"

namespace acl::agent {

namespace {

constexpr std::size_t kMostPaths = 100, kMostCapabilities = 40, kMostSay = 16 * 1024, kMostQuestion = 60'000;

Json FilesIn(const Document& state) {
  std::vector<std::string> paths;
  std::size_t count = 0;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (!key.starts_with(kFileKeyPrefix) || value.contains("dir")) return true;
    ++count;
    paths.push_back(key.substr(kFileKeyPrefix.size()));
    return true;
  });
  std::sort(paths.begin(), paths.end());
  if (paths.size() > kMostPaths) paths.resize(kMostPaths);
  return {{"count", count}, {"paths", paths}};
}

// Those it may use, with what each takes.
Json CapabilitiesOf(const Kit& kit, const AgentDefinition& definition) {
  Json list = Json::array();
  for (const CapabilityDefinition* one : kit.capabilities.All()) {
    if (!MatchesAny(definition.capabilities, one->id) || list.size() >= kMostCapabilities) continue;
    Json inputs = Json::object();
    for (const FieldDefinition& field : one->parameters) inputs[field.name] = field.type + (field.required ? "" : " (optional)");
    list.push_back({{"capability", one->id}, {"about", one->summary}, {"inputs", std::move(inputs)}});
  }
  return list;
}

TemplateScope ScopeOf(const Json& context) {
  return [&context](std::string_view name) -> const Json* {
    const auto found = context.find(name);
    return found == context.end() ? nullptr : &*found;
  };
}

// The first rule that holds; what was wrong with those before it stands in `passed_over`.
Result<std::optional<Json>> PlanByRules(const Planner& planner, const Json& context, Json& passed_over) {
  const TemplateScope scope = ScopeOf(context);
  for (std::size_t n = 0; n < planner.rules.size(); ++n) {
    const Rule& rule = planner.rules[n];
    if (rule.when) {
      const auto holds = EvaluateCondition(*rule.when, scope);
      if (!holds) passed_over.push_back({{"rule", n + 1}, {"why", holds.message()}});
      if (!holds || !*holds) continue;
    }
    const auto made = ExpandTemplates({{"say", rule.say}, {"intention", rule.intention}, {"actions", rule.actions}}, scope);
    if (!made) return Error{Code::kInvalid, fmt::format("rule {}: {}", n + 1, made.message())};
    if (!made->missing.empty())
      return Error{Code::kInvalid, fmt::format("rule {}: nothing answers {{{{{}}}}}", n + 1, made->missing.front())};
    Json plan = {{"intention", made->value["intention"]}, {"expected_outcome", rule.expected}, {"rule", n + 1}};
    plan["does"] = {{"say", made->value["say"]}, {"actions", made->value["actions"]}};
    return std::optional(std::move(plan));
  }
  return std::optional<Json>();
}

// What a planner that asks others plans on: its project's next step, what it was told, or what it did last.
std::optional<Json> PlanToAsk(const AgentDefinition& definition, const Json& context) {
  const auto next = context.find("project");
  const bool has_next = next != context.end() && !TextOrNone(*next, "task_id").empty();
  const auto stimuli = context.find("stimuli");
  const bool told = stimuli != context.end() && !stimuli->empty();
  // What came of a task's last step is looked at with its next one; behind the last there is none.
  const auto last = context.find("last");
  const bool of_task = last != context.end() && !TextOrNone(*last, "task").empty();
  const bool has_done = last != context.end() && last->is_object();  // at its start there was no turn yet
  const bool did = has_done && context.contains("look_again") && context["look_again"] == true && (has_next || !of_task);
  if (!told && !did && !has_next) return std::nullopt;
  // Woken by time alone, with nothing of its own to do, it has no plan unless it has a standing intention.
  const bool by_time = !told || std::all_of(stimuli->begin(), stimuli->end(), [](const Json& one) {
    const std::string kind = TextOrNone(one, "kind");
    return kind == "timer" || (kind == "goal_changed" && TextOrNone(one, "text").starts_with("its project changed"));
  });
  if (by_time && !did && !has_next && definition.intention.empty()) return std::nullopt;
  std::string intention = has_next ? TextOrNone(*next, "next_step") : definition.intention;
  if (intention.empty() && told) intention = Brief(TextOrNone(stimuli->back(), "text"), kKeptInBrief);
  return Json{{"intention", intention}, {"expected_outcome", ""}};
}

std::string QuestionOf(const AgentDefinition& definition, const Json& plan, const Json& context) {
  std::string text = fmt::format(
      "You are the agent '{}'. You plan one step of work; a runtime carries it out and tells you what came of it.\n", definition.name);
  if (!definition.intention.empty()) text += "Standing intention: " + definition.intention + "\n";
  text += "Now: " + TextIn(plan, "intention") + "\n";
  if (!definition.planner.instructions.empty()) text += definition.planner.instructions + "\n";
  text +=
      "Answer with one JSON object and nothing else: {\"say\": \"one or two sentences\", \"actions\": [{\"capability\": \"...\", "
      "\"inputs\": {...}}]}. "
      "When nothing is left to do, \"actions\" is [].\nWhat is known, as JSON:\n";
  return Brief(text + DumpJson(context), kMostQuestion);
}

// The JSON object in what a model wrote: the text itself, or what stands between its first and last brace.
Result<Json> ObjectIn(const std::string& text) {
  const auto begin = text.find('{'), end = text.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return Error{Code::kInvalid, "it holds no JSON object"};
  return ParseJson(std::string_view(text).substr(begin, end - begin + 1));
}

}  // namespace

std::string KeyOf(std::string_view session_id, std::string_view step_id) {
  constexpr std::size_t kDigits = 32;
  return ToHex(CanonicalHash({{"session", session_id}, {"step", step_id}})).substr(0, kDigits);
}

Json ContextOf(const Kit& kit, const AgentDefinition& definition, const Document& state, const Course& course) {
  const auto standing = FindStanding(state);
  const Json* agent = state.Find(kAgentKey);
  Json context = {
      {"session", {{"id", agent == nullptr ? "" : TextIn(*agent, "session_id")}, {"name", definition.name}, {"turn", course.turn}}},
      {"at", FormatWallTime(course.began_at)},
      {"intention", definition.intention},
      {"stimuli", Json::array()},
      {"stimulus", Json::object()},
      {"last", standing ? standing->last : Json()},
      {"look_again", standing && standing->look_again},
      {"past", PastTurns(state)},
      {"files", FilesIn(state)}};
  for (const Stimulus& one : course.stimuli) context["stimuli"].push_back(ToJson(one));
  if (!course.stimuli.empty()) context["stimulus"] = context["stimuli"].back();
  if (const Json* looked = state.Find(kLookKey)) context["project"] = *looked;
  if (definition.planner.kind != "rules") context["capabilities"] = CapabilitiesOf(kit, definition);
  return context;
}

Result<std::optional<Json>> MakePlan(const AgentDefinition& definition, const Json& context) {
  if (definition.planner.kind != "rules") return PlanToAsk(definition, context);
  Json passed_over = Json::array();
  auto plan = PlanByRules(definition.planner, context, passed_over);
  if (!plan) return plan.error();
  if (passed_over.empty()) return plan;
  if (*plan) {
    (**plan)["passed_over"] = std::move(passed_over);
    return plan;
  }
  return Error{Code::kInvalid,
               fmt::format("rule {} was passed over: {}", passed_over[0]["rule"].dump(), TextOrNone(passed_over[0], "why"))};
}

Json MakeRequest(const AgentDefinition& definition, const Json& plan, const Json& context) {
  if (definition.planner.kind == "rules") return plan.at("does");
  if (definition.planner.kind == "command")
    return {{"intention", plan.at("intention")}, {"expected_outcome", plan.at("expected_outcome")}, {"context", context}};
  return {{"question", QuestionOf(definition, plan, context)}, {"intent", Brief(TextIn(plan, "intention"), kKeptInBrief)}};
}

Result<Json> ResponseFrom(const Json& outputs, const std::string& planner) {
  const auto wrong = [](const std::string& what) {
    return Error{Code::kInvalid, "the answer is no plan: " + what +
                                     "; it must be {\"say\": \"...\", \"actions\": [{\"capability\": \"...\", \"inputs\": {...}}]}"};
  };
  Json answer = outputs;
  if (planner != "rules") {
    if (outputs.is_object() && outputs.contains("stdout_truncated")) return wrong("it is longer than 1 MiB");
    auto parsed = ObjectIn(TextOrNone(outputs, planner == "command" ? "stdout" : "text"));
    if (!parsed) return wrong(parsed.message());
    answer = std::move(*parsed);
  }
  if (!answer.is_object()) return wrong("it is no JSON object");
  if (answer.contains("say") && !answer["say"].is_string()) return wrong("'say' is no text");
  Json response = {{"say", Brief(TextOrNone(answer, "say"), kMostSay)}, {"actions", Json::array()}};
  if (answer.contains("checkpoint")) {
    const Json& checkpoint = answer["checkpoint"];
    if (TextOrNone(checkpoint, "where").empty() || TextOrNone(checkpoint, "next").empty())
      return wrong("'checkpoint' needs 'where' and 'next', texts");
    response["checkpoint"] = {{"where", checkpoint["where"]}, {"next", checkpoint["next"]}};
  }
  if (answer.contains("complete")) {
    if (!answer["complete"].is_object()) return wrong("'complete' is no object");
    const auto evidence = answer["complete"].find("evidence");
    response["complete"] = {{"evidence", evidence != answer["complete"].end() && evidence->is_array() ? *evidence : Json::array()}};
  }
  if (answer.contains("block")) {
    if (TextOrNone(answer, "block").empty()) return wrong("'block' is no text");
    response["block"] = answer["block"];
  }
  if (!answer.contains("actions") || answer["actions"].is_null()) return response;
  if (!answer["actions"].is_array()) return wrong("'actions' is no list");
  for (Json& action : answer["actions"]) {
    if (!action.is_object() || TextOrNone(action, "capability").empty()) return wrong("one of 'actions' names no capability");
    Json inputs = action.contains("inputs") ? std::move(action["inputs"]) : Json::object();
    if (!inputs.is_object()) return wrong("'inputs' of an action is no object");
    response["actions"].push_back({{"capability", TextOrNone(action, "capability")}, {"inputs", std::move(inputs)}});
  }
  if (Status storable = CheckStorable(response); !storable) return wrong(storable.message());
  return response;
}

Json ActionsOf(const Json& response, const Json* looked) {
  Json actions = response.value("actions", Json::array());
  const std::string task = looked == nullptr ? "" : TextOrNone(*looked, "task_id");
  if (task.empty()) return actions;
  const auto say = [&](std::string_view capability, Json inputs) {
    inputs["task_id"] = task;
    actions.push_back({{"capability", std::string(capability)}, {"inputs", std::move(inputs)}});
  };
  if (response.contains("checkpoint"))
    say(kSaveCheckpoint, {{"where_we_left_off", response["checkpoint"]["where"]}, {"next_step", response["checkpoint"]["next"]}});
  if (response.contains("block")) say(kBlockTask, {{"blocker", response["block"]}});
  if (response.contains("complete")) say(kCompleteTask, {{"evidence", response["complete"]["evidence"]}});
  return actions;
}

std::optional<Refusal> RefusalOf(const Kit& kit, const AgentDefinition& definition, const Json& action, int index) {
  if (index >= definition.limits.actions_per_turn)
    return Refusal{"too-many", fmt::format("a turn has at most {} actions (limits.actions_per_turn)", definition.limits.actions_per_turn)};
  const std::string id = TextOrNone(action, "capability");
  const CapabilityDefinition* capability = kit.capabilities.Find(id);
  if (capability == nullptr) {
    const std::string nearest = kit.capabilities.Nearest(id);
    return Refusal{"unknown-capability", fmt::format("there is no capability '{}'{}", Brief(id, 100),
                                                     nearest.empty() ? "" : "; did you mean '" + nearest + "'?")};
  }
  const bool of_tasks = definition.tasks && (id == kSaveCheckpoint || id == kCompleteTask || id == kBlockTask);
  if (!of_tasks && !MatchesAny(definition.capabilities, id))
    return Refusal{"not-allowed",
                   fmt::format("'{}' is not among the capabilities of this agent: {}", id, fmt::join(definition.capabilities, ", "))};
  if (!action.contains("inputs") || !action["inputs"].is_object()) return Refusal{"bad-inputs", "'inputs' is no object"};
  // What lets it work on its tasks is for its own project alone.
  if (id.starts_with("project.") && action["inputs"].contains("project"))
    return Refusal{"not-allowed", "an agent works on its own project: leave 'project' out"};
  const auto wrong = CheckParameters(*capability, action["inputs"], false);
  if (!wrong.empty()) return Refusal{"bad-inputs", fmt::format("{}", fmt::join(wrong, "; "))};
  return std::nullopt;
}

std::optional<StartStep> NextStep(const Kit& kit, const AgentDefinition& definition, const Document& state) {
  const auto standing = FindStanding(state);
  return standing && standing->status == kMoving ? StepAt(kit, definition, state) : std::nullopt;
}

std::optional<StartStep> StepAt(const Kit& kit, const AgentDefinition& definition, const Document& state) {
  const auto course = FindCourse(state);
  if (!course) return std::nullopt;
  const Json* agent = state.Find(kAgentKey);
  if (agent == nullptr) return std::nullopt;
  StartStep step;
  const auto call = [&](std::string_view capability, Json inputs) {
    step.call = CallToJson({std::string(capability), std::move(inputs), ""});
  };
  const auto program = [&](const std::string& command, const Json& args, const Json& input, std::chrono::milliseconds timeout) {
    call(kRunCommand, {{"command", command}, {"args", args}, {"check", true}, {"stdin", DumpJson(input)}});
    step.timeout = timeout;
  };
  switch (course->at) {
    case Point::kLook:
      step.step_id = StepIdOf(*course, "look");
      call(kTakeNext, {{"watch", true}});  // nothing there: it is woken when something may be
      step.effect = EffectClass::kIdempotent;
      step.timeout = std::chrono::seconds(60);
      break;
    case Point::kRequest: {
      const Json* request = state.Find(kRequestKey);
      if (definition.planner.kind == "rules" || request == nullptr) return std::nullopt;
      step.step_id = StepIdOf(*course, "request");
      if (definition.planner.kind == "command") {
        program(definition.planner.command, definition.planner.args, *request, definition.planner.timeout);
      } else {
        call(kAskModel, *request);
        step.timeout = definition.planner.timeout;
      }
      step.effect = EffectClass::kIdempotent;  // it has no effect but the call
      break;
    }
    case Point::kAct: {
      const Json* action = state.Find(ActionKey(course->action));
      if (action == nullptr) return std::nullopt;
      const std::string id = TextIn(*action, "capability");
      const CapabilityDefinition* capability = kit.capabilities.Find(id);
      step.step_id = StepIdOf(*course, "action", course->action);
      call(id, action->at("inputs"));
      step.effect = capability == nullptr || Mutant("agent_move_before_promise") ? EffectClass::kPure : capability->effect;
      if (capability != nullptr) step.timeout = capability->default_timeout;
      break;
    }
    default: {
      const auto phase = ParsePhase(NameOf(course->at));
      const Extension* extension = phase ? ListenerAt(definition, *phase, course->asked) : nullptr;
      if (extension == nullptr || !extension->builtin.empty()) return std::nullopt;
      const Json* draft = state.Find(kDraftKey);
      const Json asked = {
          {"phase", std::string(NameOf(*phase))}, {"snapshot", SnapshotOf(state)}, {"draft", draft == nullptr ? Json() : *draft}};
      step.step_id = StepIdOf(*course, fmt::format("{}-{}", NameOf(*phase), course->action), course->asked);
      if (!extension->command.empty()) {
        program(extension->command, extension->args, asked, extension->timeout);
      } else {
        call(kPostHttp, {{"url", extension->url},
                         {"body", DumpJson(asked)},
                         {"expect_status", "200-299"},
                         {"timeout", double(extension->timeout.count()) / 1000}});
        step.timeout = extension->timeout;
      }
      step.effect = EffectClass::kRead;  // it looks on; asked again after a crash
    }
  }
  step.idempotency_key = KeyOf(TextIn(*agent, "session_id"), step.step_id);
  return step;
}

}  // namespace acl::agent
