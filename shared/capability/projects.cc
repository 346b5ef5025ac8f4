// project.*: unfinished work of the project that a run or an agent belongs to (docs/guides/continuity.md). A coordinator keeps projects;
// this is its client. The step's idempotency key is the command's request key: a further attempt gets the first answer.
#include <fmt/format.h>

#include "shared/capability/coordinator_door.h"
#include "shared/capability/handlers.h"

namespace acl {

namespace {

constexpr int kProjectRounds = 10;  // without any coordinator being reached

// One of them: what it is called here and in the API, and the members that go along.
struct ProjectCall {
  const char *id, *operation, *summary, *docs;
  std::vector<FieldDefinition> parameters;
  EffectClass effect = EffectClass::kIdempotent;
};

// As one part of a path.
std::string PathPart(const std::string& text) {
  std::string part;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    part += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return part;
}

FieldDefinition TextField(const char* name, const char* description, bool required = false) {
  return {.name = name, .type = "string", .description = description, .required = required};
}

class ProjectDoor {
 public:
  explicit ProjectDoor(std::shared_ptr<CoordinatorDoor> door) : door_(std::move(door)) {}

  StepResult Do(const ProjectCall& what, const Json& parameters, CallContext& context) const {
    const std::string named = StringOf(parameters, "project");
    const std::string project = named.empty() ? context.call.project.ToString() : named;
    const std::string actor = "run:" + context.call.subject.ToString();
    std::string path = "/v1/projects/" + PathPart(project) + "/" + what.operation, body;
    const bool reads = what.effect == EffectClass::kRead;
    if (reads) {
      path += "?actor=" + actor;
    } else {
      Json members = parameters;
      members.erase("project");
      members["by"] = actor;
      body = DumpJson(members);
    }
    for (int round = 0;; ++round) {
      const HttpAnswer answer = door_->Send(std::size_t(round), reads ? "GET" : "POST", path, body, context);
      if (auto result = Read(answer)) return std::move(*result);
      if (round + 1 >= kProjectRounds) return Failed("no coordinator of aegis_urls was reached: " + answer.error, true);
      if (auto late = CoordinatorDoor::Pause(context, fmt::format("asking its project ({})", answer.error))) return std::move(*late);
    }
  }

 private:
  // Nothing: ask again.
  static std::optional<StepResult> Read(const HttpAnswer& answer) {
    using End = HttpAnswer::End;
    if (answer.end == End::kStopped) return Ended(StepResult::Outcome::kCancelled, "stopped while asking its project");
    if (answer.end == End::kTooLarge) return Failed("the coordinator's answer is larger than is taken");
    if (answer.end == End::kRefused) return Failed("aegis_urls: " + answer.error);
    if (answer.end != End::kAnswered || answer.status == 503 || answer.status == 429) return std::nullopt;
    const auto told = ParseJson(answer.body);
    if (!told || !told->is_object()) return Failed(fmt::format("HTTP {}, and not as a coordinator answers: see aegis_urls", answer.status));
    if (answer.status >= 300)
      return Failed(fmt::format("the project says no: {}", StringOf(*told, told->contains("detail") ? "detail" : "title")));
    Json outputs = told->contains("answer") && (*told)["answer"].is_object() ? (*told)["answer"] : *told;
    outputs["event_seq"] = told->value("event_seq", Json());
    outputs["success"] = true;
    return Done(std::move(outputs));
  }

  const std::shared_ptr<CoordinatorDoor> door_;
};

std::vector<ProjectCall> ProjectCalls() {
  return {{"project.next",
           "next",
           "What is next in a project.",
           "The task that is next and its next step, by the rules of docs/guides/continuity.md. Takes nothing.",
           {},
           EffectClass::kRead},
          {"project.take",
           "take_next",
           "Choose what is next in a project and start it.",
           "In one command, under a claim; who holds a task already gets that one.",
           {{.name = "claim_seconds", .type = "integer", .description = "how long the claim holds; 900 unless given"},
            {.name = "watch",
             .type = "boolean",
             .description = "of a session of an agent: when nothing is there to take, wake it when something may be"}}},
          {"project.checkpoint",
           "update_checkpoint",
           "Say where a task was left.",
           "Whoever comes next goes on from there.",
           {TextField("task_id", "the task, as in t1", true),
            TextField("where_we_left_off", "where it stands, in 1 to 3 sentences", true),
            TextField("next_step", "the next step: one action, on one line", true),
            {.name = "needed_context_refs", .type = "array", .description = "what is needed to go on, as in file:PATH@sha256:HEX"},
            {.name = "blockers", .type = "array", .description = "what may come in the way"}}},
          {"project.complete",
           "complete_task",
           "Say that a task is done.",
           "With the evidence that it asks for.",
           {TextField("task_id", "the task, as in t1", true),
            {.name = "evidence",
             .type = "array",
             .description = "what shows it: {\"kind\": \"person\" | \"artifact\" | \"run\" | \"check\", ...} each"}}},
          {"project.block",
           "block_task",
           "Say what keeps a task from going on.",
           "It is the work of whoever can lift it.",
           {TextField("task_id", "the task, as in t1", true), TextField("blocker", "what is in the way", true)}}};
}

CapabilityDefinition DefinitionOf(const ProjectCall& what) {
  CapabilityDefinition definition;
  definition.id = what.id;
  definition.summary = what.summary;
  definition.docs = fmt::format(
      "{} Of the project that the run or agent belongs to, unless another is named. A coordinator is asked: the worker needs `aegis_urls`.",
      what.docs);
  definition.parameters = what.parameters;
  definition.parameters.push_back(TextField("project", "its id or name; that of the run or agent unless given"));
  definition.results = {OutIf("event_seq", "integer", "the project's last event"), OutSuccess()};
  definition.open_results = true;
  definition.effect = what.effect;
  definition.honours_key = what.effect == EffectClass::kIdempotent;
  definition.risk = RiskLevel::kLow;
  definition.default_timeout = std::chrono::seconds(60);
  definition.retry_delay = std::chrono::seconds(1);
  return definition;
}

}  // namespace

void AddProjects(CapabilityRegistry& registry, const ConfigPtr& config) {
  const auto made = config->ask.urls.empty() ? Result<std::shared_ptr<CoordinatorDoor>>(
                                                   Code::kInvalid, "this worker knows no coordinator that keeps projects: set aegis_urls")
                                             : CoordinatorDoor::Make(config->ask);
  for (const ProjectCall& what : ProjectCalls()) {
    registry.Add(DefinitionOf(what), [what, made](const Json& parameters, CallContext& context) {
      return made ? ProjectDoor(*made).Do(what, parameters, context) : Failed(made.message());
    });
  }
}

}  // namespace acl
