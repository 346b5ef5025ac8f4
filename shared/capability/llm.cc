// llm.ask: a question of a workflow to a language model. The worker asks no model itself: a coordinator does, by the pipeline that every
// ask goes through (docs/aegis-guide.md), and puts it on record. This is its client.
//
// The step's idempotency key goes along, the same at every attempt: what was asked under it before is answered from the record. So a worker
// that dies in the middle costs nothing but time, and the next one waits for the call that goes on.
#include <fmt/format.h>

#include <future>
#include <mutex>
#include <thread>

#include "shared/base/memory.h"
#include "shared/capability/egress.h"
#include "shared/capability/handlers.h"
#include "shared/capability/http_client.h"

namespace acl {

namespace {

constexpr std::chrono::milliseconds kLlmPause{500},
    kLlmLook{20};                                   // between two questions under one key; between two looks at the stop token
constexpr int kLlmRounds = 10;                      // without any coordinator being reached
constexpr std::size_t kLlmAnswerBytes = 32u << 20;  // an exchange as the API gives it, bundle and prompt with it

// What came of one request: the step's result, or nothing yet.
struct LlmTold {
  std::optional<StepResult> result;
  std::string why;       // nothing yet: what was said last
  bool reached = false;  // some coordinator has the question
};

class LlmDoor {
 public:
  static Result<std::shared_ptr<LlmDoor>> Make(const AskConfig& config) {
    HttpConfig http;
    http.max_redirects = 0;
    http.max_body_bytes = kLlmAnswerBytes;
    http.ca_file = config.ca_file;
    http.allow_private_networks = true;  // the operator names them
    std::vector<std::string> urls;
    for (std::string url : config.urls) {
      while (url.ends_with('/')) url.pop_back();
      const auto checked = CheckUrl(url, http);
      if (!checked) return Error{checked.code(), fmt::format("aegis_urls: {}: {}", url, checked.message())};
      const bool own = checked->host == "localhost" || NotPublicText(checked->host) == "loopback";
      if (!config.api_key.empty() && checked->scheme != "https" && !own)
        return Error{Code::kInvalid, fmt::format("aegis_urls: {}: an API key would cross the network in plain text: write https", url)};
      http.allowed_hosts.push_back(checked->host);
      urls.push_back(std::move(url));
    }
    return std::shared_ptr<LlmDoor>(new LlmDoor(std::move(http), std::move(urls), config.api_key));
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
      LlmTold told = Once(urls_[std::size_t(round) % urls_.size()], text, context);
      if (told.result) return std::move(*told.result);
      reached |= told.reached;
      if (!reached && round + 1 >= kLlmRounds) return Failed(fmt::format("no coordinator of aegis_urls was reached: {}", told.why), true);
      if (auto late = Pause(context, told.why)) return std::move(*late);
    }
  }

 private:
  LlmDoor(HttpConfig http, std::vector<std::string> urls, std::string key)
      : urls_(std::move(urls)), key_(std::move(key)), client_(std::move(http)) {}

  // Set if the step's time is over, or it is to stop. The call may go on in the coordinator, which puts it on record.
  static std::optional<StepResult> Pause(const CallContext& context, const std::string& why) {
    const auto until = std::chrono::steady_clock::now() + kLlmPause;
    do {
      if (auto late = Late(context, "asking a language model (" + why + ")")) return late;
      std::this_thread::sleep_for(kLlmLook);
    } while (std::chrono::steady_clock::now() < until);
    return std::nullopt;
  }

  LlmTold Once(const std::string& url, const std::string& body, const CallContext& context) {
    HttpCall call;
    call.method = "POST";
    call.url = url + "/v1/ask";
    call.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
    call.own_headers = {{"Idempotency-Key", context.call.step.idempotency_key}};
    if (!key_.empty()) call.own_headers.emplace_back("Authorization", "Bearer " + key_);
    if (!context.traceparent.empty()) call.own_headers.emplace_back("traceparent", context.traceparent);
    call.body = body;
    call.deadline = context.deadline;
    call.stopped = [stop = context.stop] { return stop.stopped(); };
    auto answered = std::make_shared<std::promise<HttpAnswer>>();
    auto answer = answered->get_future();
    client_.Start(std::move(call), [answered](HttpAnswer given) { answered->set_value(std::move(given)); });
    return Read(answer.get());
  }

  static LlmTold Read(const HttpAnswer& answer) {
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
    return answer.status == 200 ? LlmTold{Answered(*parsed), "", true} : Refused(answer.status, *parsed);
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
                 {"success", true}});
  }

  // By the words of the API (docs/api.md). What is not known is never asked again blindly.
  static LlmTold Refused(int status, const Json& problem) {
    const std::string code = StringOf(problem, "code");
    const std::string detail = StringOf(problem, problem.contains("detail") ? "detail" : "title");
    const std::string why = fmt::format("{}: {}", code.empty() ? std::to_string(status) : code, detail);
    if (code == "under-way" || status == 503 || status == 429) return {std::nullopt, why, true};
    if (code == "uncertain" || code == "not-recorded") return {Ended(StepResult::Outcome::kUnknown, why), "", true};
    const bool passes = code == "rate-limited" || code == "overloaded" || code == "not-connected" || code == "lease-lost";
    return {Failed(why, passes), "", true};
  }

  const std::vector<std::string> urls_;
  const std::string key_;
  HttpClient client_;
};

CapabilitySpec LlmSpec() {
  CapabilitySpec spec;
  spec.id = "llm.ask";
  spec.summary = "Ask a language model, on record.";
  spec.docs =
      "A coordinator asks (docs/aegis-guide.md): it compiles the bundle, puts it on record, asks the model, scans the answer, puts that on "
      "record, and only then answers. The exchanges of a run are a session of its own. The step's idempotency key goes along: a further "
      "attempt gets the answer that is on record, or waits for the call that goes on; only a call that surely did not run is made again. "
      "An "
      "answer that is withheld fails the step. A call of which nobody knows what became of it is an unknown outcome. The worker needs "
      "`aegis_urls`.";
  spec.parameters = {{.name = "question", .type = "string", .description = "at most 64 KiB", .required = true, .aliases = {"prompt"}},
                     {.name = "intent", .type = "string", .description = "what the question is for, in a line for the model"},
                     Flag("deep_history", false, "old history may be shown to the model, and is said"),
                     Flag("new_session", false, "not the one of the run's earlier questions")};
  spec.results = {Out("text", "string", "what the model said, sanitised"),
                  Out("exchange_id", "string", "for airun ask show"),
                  Out("session_id", "string", "of the run's exchanges"),
                  Out("model", "string", "that was asked"),
                  Out("findings", "array", "what the validator marked: severity, class, place"),
                  OutSuccess()};
  spec.effect = EffectClass::kIdempotent;
  spec.honours_key = true;
  spec.risk = RiskLevel::kMedium;
  spec.default_timeout = std::chrono::seconds(600);
  spec.retry_delay = std::chrono::seconds(2);
  return spec;
}

}  // namespace

void AddLlm(CapabilityRegistry& registry, const ConfigPtr& config) {
  if (config->ask.urls.empty()) {
    registry.Add(LlmSpec(), [](const Json&, CallContext&) {
      return Failed("this worker knows no coordinator that asks language models: set aegis_urls (docs/aegis-guide.md)");
    });
    return;
  }
  auto door = LlmDoor::Make(config->ask);
  registry.Add(LlmSpec(), [door = std::move(door)](const Json& parameters, CallContext& context) {
    return door ? (*door)->Ask(parameters, context) : Failed(door.message());
  });
}

}  // namespace acl
