#include "coordinator/ask/exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/ask/exchange_facts.h"
#include "coordinator/ask/proposals.h"
#include "shared/aegis/compile.h"
#include "shared/aegis/rebuild.h"
#include "shared/base/canonical_json.h"
#include "shared/base/fail_point.h"
#include "shared/base/json_members.h"
#include "shared/base/sha256.h"
#include "shared/telemetry/log.h"

namespace acl::coordinator {

namespace {

constexpr std::string_view kMarkerLetters = "abcdefghijklmnopqrstuvwxyz0123456789";

std::string Sha(std::string_view text) { return "sha256:" + ToHex(Sha256(text)); }

// Of a request key: two asks under one key want the same reservation, and only one gets it.
std::string CallIdOf(const AskAsked& asked, const std::string& exchange_id) {
  return asked.key ? "key:" + ToHex(CanonicalHash(Json::array({asked.by, *asked.key}))) : exchange_id;
}

std::string MarkerFrom(Random& random) {
  std::string marker;
  while (marker.size() < 24) marker += kMarkerLetters[std::size_t(random.Next() % kMarkerLetters.size())];
  return marker;
}

}  // namespace

AskDesk::Exchange::Exchange(AskDesk& desk, const AskAsked& asked)
    : desk_(desk),
      asked_(asked),
      setup_(*desk.setup_),
      kernel_(setup_.kernel),
      exchange_id_(desk.parts_.ids.Make().ToString()),
      turn_user_id_(desk.parts_.ids.Make().ToString()),
      turn_aurora_id_(desk.parts_.ids.Make().ToString()),
      call_id_(CallIdOf(asked, exchange_id_)) {}

void AskDesk::Exchange::End(std::string code, std::string message, int status, Json details) const {
  throw Ended{{std::move(code), std::move(message), status, std::move(details)}};
}

void AskDesk::Exchange::EndFor(const Error& error, const std::string& what) const {
  // A database that refuses a row quotes it behind the first line: prompt and answer with it.
  const std::string message = what + ": " + error.message.substr(0, error.message.find('\n'));
  if (error.code == Code::kNotFound) End("not-found", message, 404);
  if (error.code == Code::kInvalid) End("invalid-request", message, 422);
  if (error.code == Code::kCorrupt) End("quarantined", message, 409);
  End("unavailable", message, 503);
}

std::variant<Json, AskRefusal> AskDesk::Exchange::Run() {
  try {
    question_ = Clean(asked_.question, "the question");
    intent_ = Clean(asked_.intent, "the intent");
    CheckStepHolds();
    if (const auto before = AskedBefore()) return AnsweredBefore(*before);
    SessionOpenOrResume();
    aegis::CompiledBundle bundle = Compile();
    aegis::RenderedPrompt prompt = Render(std::move(bundle));
    Prepare(prompt);
    aegis::Invoked invoked = Invoke(std::move(prompt));
    auto receipt = Write(Scan(std::move(invoked)));
    if (!receipt) {
      SettleWith(cost_);
      End("not-recorded",
          fmt::format("the model answered, but exchange {} could not be put on record, so its answer is not shown; what it cost counts. "
                      "The coordinator's log says why; ask again, under another key",
                      exchange_id_),
          409, {{"exchange_id", exchange_id_}});
    }
    const aegis::Shown shown(std::move(*receipt));
    return OnRecord(shown.exchange_id());
  } catch (Ended& ended) {
    return std::move(ended.why);
  } catch (const std::exception& thrown) {
    return Broken(thrown.what());
  }
}

// Something threw that nobody foresaw. What was promised gets an outcome, and what was set aside is settled: by what it cost, if that is
// known. The words of the error may be the prompt's or the answer's: the log has their length only.
AskRefusal AskDesk::Exchange::Broken(std::string_view what) {
  static const Logger log("ask");
  log.Error("an ask failed within", {{"exchange", exchange_id_}, {"error_bytes", what.size()}, {"prepared", prepared_}});
  try {
    if (prepared_) {
      const std::string message = "the coordinator failed within while it asked; nothing of the answer is kept";
      (void)Execute({{"name", "lose"}, {"exchange_id", exchange_id_}, {"message", message}});
    }
    SettleWith(!prepared_ ? 0 : answered_ ? cost_ : reserved_);
  } catch (...) {  // at their deadlines it is UNCERTAIN, and the money spent
  }
  if (!prepared_) return {"failed-within", "the coordinator failed within before a model was asked; its log has the exchange", 500};
  return {
      "uncertain",
      fmt::format("the coordinator failed within while it asked: exchange {} is UNCERTAIN and may be billed; ask again under another key",
                  exchange_id_),
      409,
      {{"exchange_id", exchange_id_}}};
}

std::string AskDesk::Exchange::Clean(std::string_view text, const char* what) const {
  auto clean = setup_.sanitizer.Sanitize(text);
  if (!clean) End("invalid-request", fmt::format("{} cannot be read: it is too long", what), 422);
  return std::move(clean->text);
}

// Whoever lost the run asks nothing more for it: another worker goes on with it, under the same key.
void AskDesk::Exchange::CheckStepHolds() {
  if (!asked_.asking) return;
  const AskingStep& asking = *asked_.asking;
  bool holds = false;
  if (asking.dispatched) {
    auto dispatches = desk_.parts_.queries.Dispatches(asking.run);
    if (!dispatches) EndFor(dispatches.error(), "the dispatch that asks");
    holds = std::any_of(dispatches->begin(), dispatches->end(), [&](const DispatchView& dispatch) {
      return dispatch.step_id == asking.step && dispatch.token == asking.token && dispatch.state == "started";
    });
  } else {
    auto run = desk_.parts_.queries.GetSubject(asking.run);
    if (!run) EndFor(run.error(), "the run that asks");
    holds = run->holder && run->token == asking.token;
  }
  if (!holds)
    End("lease-lost",
        fmt::format("step {} of run {} is not held by token {}: another worker goes on with it", asking.step, asking.run.ToString(),
                    asking.token.value),
        409);
}

std::optional<std::string> AskDesk::Exchange::AskedBefore() {
  if (!asked_.key) return std::nullopt;
  auto before = desk_.parts_.rows.ExchangeOfKey(asked_.project, asked_.by, *asked_.key);
  if (!before) EndFor(before.error(), "what was asked under this key");
  if (!*before || !asked_.asking) return std::move(*before);
  auto row = desk_.parts_.rows.Exchange(asked_.project, **before);
  if (!row) EndFor(row.error(), "exchange " + **before);
  // The key of a step is the same for all its attempts: one that cost nothing and gave nothing does not stand for those after it.
  const bool never_ran = TextIn(*row, "status") == "FAILED" && NumberIn(*row, "cost_micros") == 0;
  return never_ran ? std::nullopt : std::move(*before);
}

Json AskDesk::Exchange::AnsweredBefore(const std::string& exchange_id) {
  auto row = desk_.parts_.rows.Exchange(asked_.project, exchange_id);
  if (!row) EndFor(row.error(), "exchange " + exchange_id);
  bool same = !asked_.session || TextIn(*row, "session_id") == asked_.session->ToString();
  for (const Json& turn : row->at("turns")) same = same && (TextIn(turn, "speaker") != "user" || TextIn(turn, "content") == question_);
  // The intent that was declared with it, if it went into the bundle.
  const auto bundle = ParseJson(TextIn(*row, "context_bundle"), kStoredJson);
  for (const Json& entry : bundle ? bundle->value("intent", Json::array()) : Json::array())
    same = same && (!entry.contains("id") || TextIn(entry, "intent") == intent_);
  if (!same) End("key-reused", "this Idempotency-Key was used for another question: take a new one for each question", 422);
  return OnRecord(exchange_id);
}

// As anybody sees it afterwards; an answer that was withheld stays so.
Json AskDesk::Exchange::OnRecord(const std::string& exchange_id) {
  auto row = desk_.parts_.rows.Exchange(asked_.project, exchange_id);
  if (!row) EndFor(row.error(), "exchange " + exchange_id);
  const std::string status = TextIn(*row, "status");
  if (status == "UNDER_WAY")
    End("under-way",
        fmt::format("exchange {} was asked under this key and has no outcome yet: airun ask show {}", exchange_id, exchange_id), 409,
        {{"exchange_id", exchange_id}});
  if (status == "UNCERTAIN")
    End("uncertain",
        fmt::format("nobody knows what became of exchange {}: it may have been answered and billed; ask again under another key",
                    exchange_id),
        409, {{"exchange_id", exchange_id}});
  if (status == "FAILED") End(WordOf(TextIn(*row, "code")), TextIn(*row, "message"), 502, {{"exchange_id", exchange_id}});
  const Json answer = row->value("answer", Json::object());
  const bool withheld = answer.is_object() && answer.value("withheld", false);
  const std::string text = TextIn(*row, "response");
  if (withheld) {  // who audits reads it: airun ask show
    row->erase("response");
    for (Json& turn : row->at("turns"))
      if (TextIn(turn, "speaker") == "aurora") turn.erase("content");
    if (const auto proposed = (*row)["answer"].find("proposed"); proposed != (*row)["answer"].end())
      for (Json& call : *proposed) call.erase("arguments");
  }
  Json told = {{"exchange", std::move(*row)}, {"withheld", withheld}, {"text", withheld ? "" : text}};
  return told;
}

CommandAnswer AskDesk::Exchange::Execute(Json command) {
  auto told = desk_.Session(session_, std::move(command), std::nullopt);
  if (!told) EndFor(told.error(), "the session");
  return std::move(*told);
}

// True: the session that was found may be gone on with.
bool AskDesk::Exchange::OpensSession() {
  auto read = desk_.asks_.Read(session_);
  if (!read) EndFor(read.error(), "the session");
  const auto session = ask::FindSession(read->state);
  if (!session) return false;
  opened_ = *session;
  const ask::Binding mine{kernel_.phase, kernel_.tier, kernel_.hash, kernel_.host_role, kernel_.ModelId()};
  return session->open && session->binding == mine && session->exchanges < ask::kMostExchanges;
}

void AskDesk::Exchange::SessionOpenOrResume() {
  const Json binding = {{"phase", kernel_.phase},
                        {"tier", kernel_.tier},
                        {"kernel_hash", kernel_.hash},
                        {"host_role", kernel_.host_role},
                        {"model_id", kernel_.ModelId()}};
  if (asked_.session) {
    session_ = *asked_.session;
    const auto view = desk_.parts_.queries.GetSubject(session_);
    if (!view || view->project.uuid != asked_.project.uuid || view->kind != ask::kKindName)
      End("not-found", fmt::format("there is no ask session {} in this project", session_.ToString()), 404);
    if (!OpensSession())
      End("session-closed", "this session is closed, full, or of another kernel or model: leave out the session, and another one is opened",
          409);
    return;
  }
  if (!asked_.new_session) {
    auto found = desk_.parts_.rows.OpenSession(asked_.project, asked_.by, binding);
    if (!found) EndFor(found.error(), "the session");
    if (*found) {
      session_ = **found;
      if (OpensSession()) return;
    }
  }
  session_ = desk_.parts_.ids.New<SubjectId>();
  const WallTime now = desk_.parts_.clock.Wall();
  Status made = desk_.MakeSubject(desk_.parts_.ask_kind, session_, asked_.project, ask::kAskQueue, ask::Created(asked_.by, now));
  if (!made) EndFor(made.error(), "a new session");
  Json command = binding;
  command["name"] = "open_session";
  command["session_id"] = session_.ToString();
  command["owner"] = asked_.by;
  if (const auto limit = aegis::ParseMoney(TextIn(kernel_.budgets, "session"))) command["limit_micros"] = *limit;
  if (const auto opened = Execute(std::move(command)); opened.refused) End("session", opened.refused->message, 409);
  if (!OpensSession()) End("session-closed", "the session that was opened cannot be gone on with", 409);
}

aegis::CompiledBundle AskDesk::Exchange::Compile() {
  aegis::CompileInput input;
  input.session_id = session_.ToString();
  input.session_started_at = opened_.started_at;
  input.compiled_at = std::chrono::floor<std::chrono::microseconds>(desk_.parts_.clock.Wall());
  input.kernel = kernel_;
  input.user_input = question_;
  input.deep_history = asked_.deep_history;
  auto found = desk_.ArtifactsOf(asked_.project)
                   ->Gather({session_.ToString(), question_, asked_.deep_history, input.compiled_at}, kernel_, intent_, turn_user_id_);
  if (!found) EndFor(found.error(), "continuity could not be compiled, so no model is asked");
  input.found = std::move(*found);
  const auto finds = [this](std::string_view text) -> std::optional<std::string> {
    const auto clean = setup_.sanitizer.Sanitize(text);
    if (!clean) return "unreadable";
    return clean->cut.empty() ? std::nullopt : std::optional(clean->cut.front().kind);
  };
  if (desk_.parts_.look) {
    for (aegis::ToolOutput& output : desk_.parts_.look(kernel_)) input.tools.push_back(aegis::ScreenOutput(std::move(output), finds));
  }
  input.marker = MarkerFrom(desk_.parts_.random);
  inputs_ = CompileInputToJson(input);
  auto bundle = aegis::Compile(std::move(input));
  if (!bundle) EndFor(bundle.error(), "continuity could not be compiled, so no model is asked");
  return std::move(*bundle);
}

aegis::RenderedPrompt AskDesk::Exchange::Render(aegis::CompiledBundle bundle) {
  auto prompt = aegis::Render(std::move(bundle));
  if (!prompt) EndFor(prompt.error(), "the prompt could not be made, so no model is asked");
  return std::move(*prompt);
}

aegis::ModelRequest AskDesk::Exchange::RequestOf(const aegis::RenderedPrompt& prompt) const {
  aegis::ModelRequest request;
  for (const aegis::PromptMessage& message : prompt.messages()) {
    aegis::Message out;
    out.role = message.role == "system" ? aegis::Role::kSystem : message.role == "assistant" ? aegis::Role::kAssistant : aegis::Role::kUser;
    out.content = message.content;
    out.cache_to_here = request.messages.empty();  // the first is the stable part
    request.messages.push_back(std::move(out));
  }
  request.model = kernel_.model.model;
  request.max_tokens = kernel_.model.max_tokens;
  request.temperature = kernel_.model.temperature;
  request.seed = kernel_.model.seed;
  request.tools = ToolsToOffer(kernel_);
  return request;
}

Json AskDesk::Exchange::Said(const std::string& turn_id, const std::string& clean, std::string_view original) const {
  return {{"turn_id", turn_id},
          {"content", clean},
          {"content_hash", Sha(clean)},
          {"said_digest", "hmac-sha256:" + setup_.sanitizer.key().Digest(original)},
          {"rules", setup_.sanitizer.rules_name()}};
}

void AskDesk::Exchange::Prepare(const aegis::RenderedPrompt& prompt) {
  const aegis::ModelRequest request = RequestOf(prompt);
  const aegis::ProviderConfig& provider = setup_.model->provider();
  if (const auto price = provider.prices.At(request.model, desk_.parts_.clock.Wall())) {
    price_ = *price;
  } else if (IsBounded()) {
    End("no-price",
        fmt::format("a budget bounds this, and model {} has no price: add a row to prices of provider {} (\"0\" if it is free)",
                    request.model, provider.name),
        409);
  }
  estimate_ = aegis::WorstCase(request, price_);
  reserved_ = aegis::AmountToReserve(estimate_, provider.retries);
  Reserve();
  const aegis::CompiledBundle& bundle = prompt.bundle();
  Json command = {{"name", "prepare"},
                  {"exchange_id", exchange_id_},
                  {"by", asked_.by},
                  {"user", Said(turn_user_id_, question_, asked_.question)},
                  {"bundle", bundle.canonical()},
                  {"bundle_hash", bundle.hash()},
                  {"prompt", aegis::CanonicalMessages(prompt.messages())},
                  {"prompt_hash", prompt.prompt_hash()},
                  {"prefix_hash", prompt.prefix_hash()},
                  {"inputs", inputs_},
                  {"refs", RefsOf(bundle, desk_.parts_.ids)},
                  {"call",
                   {{"provider", provider.name},
                    {"model", request.model},
                    {"max_tokens", request.max_tokens},
                    {"temperature", kernel_.model.temperature},
                    {"seed", request.seed ? Json(*request.seed) : Json()},
                    {"prices", provider.prices.version}}},
                  {"reserved_micros", reserved_},
                  {"deadline", FormatWallTime(desk_.parts_.clock.Wall() + provider.total_timeout + kRecordMargin)}};
  if (asked_.key) command["request_key"] = *asked_.key;
  CommandAnswer told;
  try {
    CheckStepHolds();
    if (const auto before = AskedBefore())
      End("under-way", "an ask under this key was answered meanwhile: ask again, under the same key", 409);
    FailPoint("ask.before_prepared");
    told = Execute(std::move(command));
  } catch (Ended&) {
    SettleWith(0);
    throw;
  }
  FailPoint("ask.prepared");
  prepared_ = !told.refused;
  if (prepared_) return;
  SettleWith(0);
  End(told.refused->reason == "BUDGET" ? "budget" : "session", told.refused->message, 409, told.refused->details);
}

aegis::Invoked AskDesk::Exchange::Invoke(aegis::RenderedPrompt prompt) {
  aegis::ModelHooks hooks;
  hooks.deadline = desk_.parts_.clock.Steady() + setup_.model->provider().total_timeout;
  hooks.cancelled = [&desk = desk_] { return desk.stopping_.load(); };
  const aegis::ModelRequest request = RequestOf(prompt);
  ModelCallSeen seen{asked_.caller, desk_.parts_.clock.Wall(), {}, exchange_id_, session_.ToString(), prompt.prompt_hash()};
  aegis::ModelResult result = setup_.model->Invoke(request, hooks);
  seen.ended = desk_.parts_.clock.Wall();
  if (desk_.parts_.telemetry != nullptr) desk_.parts_.telemetry->Called(setup_.model->provider(), request, result, seen);
  FailPoint("ask.invoked");
  if (!result) CallFailed(result.failure());
  if (result->text.size() > ask::kMostText) {
    aegis::ModelFailure too_large{.code = aegis::Failure::kTooLarge, .ran = aegis::Ran::kYes};
    too_large.detail =
        fmt::format("the answer has {} bytes, {} at most are taken: ask for less (max_tokens)", result->text.size(), ask::kMostText);
    too_large.provider = result->provider;
    CallFailed(too_large);
  }
  answer_ = std::move(*result);
  const aegis::Settlement cost = aegis::SettlementOf(answer_, estimate_, price_);
  cost_ = cost.cost;
  answered_ = true;
  return aegis::Invoked(std::move(prompt), {answer_.text, AnswerFacts(answer_)});
}

aegis::Scanned AskDesk::Exchange::Scan(aegis::Invoked invoked) {
  const aegis::CompiledBundle& bundle = invoked.prompt().bundle();
  summary_ = aegis::Scan(InputOf(kernel_, bundle, question_, answer_));
  for (const std::string& tool : bundle.parts().unseen_tools) {
    summary_.completeness_drift = true;
    summary_.findings.push_back(
        {aegis::DriftClass::kCompleteness, "sight_without_values", "sight/" + tool, "completeness sight_without_values " + tool});
  }
  aegis::Validation validation;
  validation.summary = SummaryJson(summary_);
  for (const aegis::Finding& finding : summary_.findings) validation.fail_closed |= kernel_.Drift(NameOf(finding.drift)).fail_closed;
  return aegis::Scanned(std::move(invoked), std::move(validation));
}

Result<aegis::WriteReceipt> AskDesk::Exchange::Write(aegis::Scanned scanned) {
  const std::string clean = Clean(answer_.text, "the answer");
  const bool withheld = scanned.validation().fail_closed;
  Json findings = Json::array();
  bool authority = false;
  for (const aegis::Finding& finding : summary_.findings) {
    authority |= finding.drift == aegis::DriftClass::kAuthority;
    findings.push_back({{"drift_class", NameOf(finding.drift)},
                        {"severity", kernel_.Drift(NameOf(finding.drift)).severity},
                        {"summary", Clean(finding.summary, "a finding")}});
  }
  Json aurora = Said(turn_aurora_id_, clean, answer_.text);
  aurora["refusal"] = answer_.finish == aegis::Finish::kRefused;
  aurora["authority_state"] = withheld ? "blocked" : authority ? "insufficient" : "ok";
  auto details = setup_.sanitizer.SanitizeJson(scanned.invoked().answer().details);  // some of it are the provider's words
  Json answer = details ? std::move(details->value) : Json::object();
  answer["withheld"] = withheld;
  Proposals proposals = ReadProposals(kernel_, answer_, summary_, withheld, setup_.sanitizer);
  answer["proposed"] = std::move(proposals.recorded);
  Json command = {{"name", "record"},
                  {"exchange_id", exchange_id_},
                  {"aurora", std::move(aurora)},
                  {"response_hash", Sha(clean)},
                  {"validator_summary", scanned.validation().summary},
                  {"findings", std::move(findings)},
                  {"answer", std::move(answer)},
                  {"intents", std::move(proposals.intents)},
                  {"cost_micros", cost_}};
  FailPoint("ask.before_recorded");
  CommandAnswer told;
  try {
    told = Execute(std::move(command));
  } catch (Ended& ended) {
    static const Logger log("ask");
    log.Error("an answer could not be put on record", {{"exchange", exchange_id_}, {"error", ended.why.message}});
    return Error{Code::kUnavailable, ended.why.message};
  }
  FailPoint("ask.recorded");
  if (told.refused) return Error{Code::kConflict, told.refused->message};
  SettleWith(cost_);
  return Receipt(std::move(scanned), exchange_id_, clean);
}

}  // namespace acl::coordinator
