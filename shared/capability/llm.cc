// llm.ask: a question of a workflow to a language model. The worker asks no model itself: a coordinator does, by the pipeline that every
// ask goes through (docs/guides/aegis.md), and puts it on record. This is its client.
//
// The step's idempotency key goes along, the same at every attempt: what was asked under it before is answered from the record. So a worker
// that dies in the middle costs nothing but time, and the next one waits for the call that goes on.
#include <fmt/format.h>

#include "shared/capability/coordinator_door.h"
#include "shared/capability/handlers.h"

namespace acl {

namespace {

constexpr int kLlmRounds = 10;  // without any coordinator being reached

// What came of one request: the step's result, or nothing yet.
struct LlmReply {
  std::optional<StepResult> result;
  std::string why;       // nothing yet: what was said last
  bool reached = false;  // some coordinator has the question
};

class LlmDoor {
 public:
  static Result<std::shared_ptr<LlmDoor>> Make(const AskConfig& config) {
    auto door = CoordinatorDoor::Make(config);
    if (!door) return door.error();
    return std::shared_ptr<LlmDoor>(new LlmDoor(std::move(*door)));
  }

  StepResult Ask(const Json& parameters, CallContext& context) {
    const StepCall& call = context.call;
    Json body = {{"question", StringOf(parameters, "question")},
                 {"run",
                  {{"id", call.subject.ToString()},
                   {"step", call.step.step_id},
                   {"token", call.token.value},
                   {"dispatched", std::string_view(call.scope) != "run"}}}};
    if (const std::string intent = StringOf(parameters, "intent"); !intent.empty()) body["intent"] = intent;
    for (const char* flag : {"deep_history", "new_session"}) body[flag] = FlagOf(parameters, flag);
    const std::string text = DumpJson(body);
    bool reached = false;
    for (int round = 0;; ++round) {
      LlmReply told = Read(door_->Send(std::size_t(round), "POST", "/v1/ask", text, context));
      if (told.result) return std::move(*told.result);
      reached |= told.reached;
      if (!reached && round + 1 >= kLlmRounds) return Failed(fmt::format("no coordinator of aegis_urls was reached: {}", told.why), true);
      if (auto late = CoordinatorDoor::Pause(context, "asking a language model (" + told.why + ")")) return std::move(*late);
    }
  }

 private:
  explicit LlmDoor(std::shared_ptr<CoordinatorDoor> door) : door_(std::move(door)) {}

  static LlmReply Read(const HttpAnswer& answer) {
    using End = HttpAnswer::End;
    if (answer.end == End::kStopped) return {Ended(StepResult::Outcome::kCancelled, "stopped while asking a language model"), "", true};
    if (answer.end == End::kTooLarge) return {Failed("the coordinator's answer is larger than is taken"), "", true};
    if (answer.end == End::kRefused) return {Failed("aegis_urls: " + answer.error), "", false};
    if (answer.end != End::kAnswered) return {std::nullopt, answer.error, answer.sent};
    const auto parsed = ParseJson(answer.body);
    if (!parsed || !parsed->is_object())
      return {std::nullopt, fmt::format("HTTP {}, and not as a coordinator answers: see aegis_urls", answer.status), false};
    if (answer.status == 200 && !(parsed->contains("exchange") && (*parsed)["exchange"].is_object()))
      return {std::nullopt, "HTTP 200, and not as a coordinator answers: see aegis_urls", false};
    return answer.status == 200 ? LlmReply{Answered(*parsed), "", true} : Refused(answer.status, *parsed);
  }

  static StepResult Answered(const Json& told) {
    const Json exchange = told.value("exchange", Json::object());
    const std::string id = StringOf(exchange, "exchange_id");
    Json findings = Json::array();
    for (const Json& one : exchange.value("drift", Json::array()))
      findings.push_back(fmt::format("{} {}: {}", StringOf(one, "severity"), StringOf(one, "drift_class"), StringOf(one, "summary")));
    if (FlagOf(told, "withheld"))
      return Failed(fmt::format("the answer is on record and withheld, for what the validator found in it ({}): airun ask show {}",
                                findings.empty() ? "" : findings[0].get<std::string>(), id));
    return Done({{"text", StringOf(told, "text")},
                 {"exchange_id", id},
                 {"session_id", StringOf(exchange, "session_id")},
                 {"model", StringOf(exchange, "model")},
                 {"findings", std::move(findings)},
                 {"tokens", TokensOf(exchange)},
                 {"cost_micros", exchange.value("cost_micros", std::int64_t(0))},
                 {"success", true}});
  }

  static std::int64_t TokensOf(const Json& exchange) {
    const Json answer = exchange.value("answer", Json::object());
    const Json usage = answer.is_object() ? answer.value("usage", Json::object()) : Json::object();
    std::int64_t tokens = 0;
    for (const char* part : {"prompt", "completion"})
      if (usage.is_object() && usage.contains(part) && usage[part].is_number_integer()) tokens += usage[part].get<std::int64_t>();
    return tokens;
  }

  // By the words of the API (docs/reference/api.md). What is not known is never asked again blindly.
  static LlmReply Refused(int status, const Json& problem) {
    const std::string code = StringOf(problem, "code");
    const std::string detail = StringOf(problem, problem.contains("detail") ? "detail" : "title");
    const std::string why = fmt::format("{}: {}", code.empty() ? std::to_string(status) : code, detail);
    if (code == "under-way" || status == 503 || status == 429) return {std::nullopt, why, true};
    if (code == "uncertain" || code == "not-recorded") return {Ended(StepResult::Outcome::kUnknown, why), "", true};
    const bool passes = code == "rate-limited" || code == "overloaded" || code == "not-connected" || code == "lease-lost";
    return {Failed(why, passes), "", true};
  }

  const std::shared_ptr<CoordinatorDoor> door_;
};

CapabilityDefinition LlmDefinition() {
  CapabilityDefinition definition;
  definition.id = "llm.ask";
  definition.summary = "Ask a language model, on record.";
  definition.docs =
      "A coordinator asks (docs/guides/aegis.md): it compiles the bundle, puts it on record, asks the model, scans the answer, puts that "
      "on "
      "record, and only then answers. The exchanges of a run are a session of its own. The step's idempotency key goes along: a further "
      "attempt gets the answer that is on record, or waits for the call that goes on; only a call that surely did not run is made again. "
      "An "
      "answer that is withheld fails the step. A call of which nobody knows what became of it is an unknown outcome. The worker needs "
      "`aegis_urls`.";
  definition.parameters = {{.name = "question", .type = "string", .description = "at most 64 KiB", .required = true, .aliases = {"prompt"}},
                           {.name = "intent", .type = "string", .description = "what the question is for, in a line for the model"},
                           Flag("deep_history", false, "old history may be shown to the model, and is said"),
                           Flag("new_session", false, "not the one of the run's earlier questions")};
  definition.results = {Out("text", "string", "what the model said, sanitised"),
                        Out("exchange_id", "string", "for airun ask show"),
                        Out("session_id", "string", "of the run's exchanges"),
                        Out("model", "string", "that was asked"),
                        Out("findings", "array", "what the validator marked: severity, class, place"),
                        Out("tokens", "integer", "of prompt and answer, as the provider counts them"),
                        Out("cost_micros", "integer", "what it cost, in millionths of a dollar"),
                        OutSuccess()};
  definition.effect = EffectClass::kIdempotent;
  definition.honours_key = true;
  definition.risk = RiskLevel::kMedium;
  definition.default_timeout = std::chrono::seconds(600);
  definition.retry_delay = std::chrono::seconds(2);
  return definition;
}

}  // namespace

void AddLlm(CapabilityRegistry& registry, const ConfigPtr& config) {
  if (config->ask.urls.empty()) {
    registry.Add(LlmDefinition(), [](const Json&, CallContext&) {
      return Failed("this worker knows no coordinator that asks language models: set aegis_urls (docs/guides/aegis.md)");
    });
    return;
  }
  auto door = LlmDoor::Make(config->ask);
  registry.Add(LlmDefinition(), [door = std::move(door)](const Json& parameters, CallContext& context) {
    return door ? (*door)->Ask(parameters, context) : Failed(door.message());
  });
}

}  // namespace acl
