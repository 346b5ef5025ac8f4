#include "coordinator/ask/ask_telemetry.h"

#include "shared/base/random.h"
#include "shared/capability/egress.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {

namespace {

// As the conventions name them; a server that speaks the protocol of another is called by it.
std::string ProviderName(const aegis::ProviderConfig& provider) {
  return provider.kind == aegis::ProviderKind::kAnthropic ? "anthropic" : "openai";
}

void PutAnswer(const aegis::ModelAnswer& answer, Json& attributes) {
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) attributes[name] = value;
  };
  put("gen_ai.response.model", answer.model);
  put("gen_ai.response.id", answer.answer_id);
  if (!answer.finish_reason.empty()) attributes["gen_ai.response.finish_reasons"] = {answer.finish_reason};
  attributes["acl.attempts"] = answer.attempts;
  if (answer.usage_missing) return;
  attributes["gen_ai.usage.input_tokens"] = answer.usage.prompt;
  attributes["gen_ai.usage.output_tokens"] = answer.usage.completion;
  if (answer.usage.cached > 0) attributes["gen_ai.usage.cache_read.input_tokens"] = answer.usage.cached;
  if (answer.usage.cache_written > 0) attributes["gen_ai.usage.cache_creation.input_tokens"] = answer.usage.cache_written;
}

}  // namespace

Span AskTelemetry::SpanOf(const aegis::ProviderConfig& provider, const aegis::ModelRequest& request, const aegis::ModelResult& result,
                          const ModelCallSeen& seen) {
  Span span;
  span.trace_id = seen.caller.trace_id;
  span.parent_id = seen.caller.span_id;
  span.name = "chat " + request.model;
  span.kind = Span::Kind::kClient;
  span.start = seen.begun;
  span.end = seen.ended;
  span.attributes = {{"gen_ai.operation.name", "chat"},           {"gen_ai.provider.name", ProviderName(provider)},
                     {"gen_ai.request.model", request.model},     {"gen_ai.request.max_tokens", request.max_tokens},
                     {"gen_ai.conversation.id", seen.session_id}, {"acl.exchange_id", seen.exchange_id},
                     {"acl.prompt_hash", seen.prompt_hash}};
  if (request.temperature) span.attributes["gen_ai.request.temperature"] = *request.temperature;
  if (request.seed) span.attributes["gen_ai.request.seed"] = *request.seed;
  if (const auto url = CheckUrl(provider.base_url, HttpConfig())) {
    span.attributes["server.address"] = url->host;
    span.attributes["server.port"] = std::stoi(url->port);
  }
  if (result) {
    PutAnswer(*result, span.attributes);
  } else {
    span.failed = true;
    span.message = std::string(HintOf(result.failure().code));
    span.attributes["error.type"] = NameOf(result.failure().code);
    span.attributes["acl.attempts"] = result.failure().attempts;
  }
  return span;
}

void AskTelemetry::Called(const aegis::ProviderConfig& provider, const aegis::ModelRequest& request, const aegis::ModelResult& result,
                          const ModelCallSeen& seen) {
  MetricLabels labels = {
      {"gen_ai_operation_name", "chat"}, {"gen_ai_provider_name", ProviderName(provider)}, {"gen_ai_request_model", request.model}};
  if (result && !result->usage_missing) {
    for (const auto& [type, tokens] : {std::pair("input", result->usage.prompt), std::pair("output", result->usage.completion)}) {
      MetricLabels typed = labels;
      typed["gen_ai_token_type"] = type;
      metrics_.histogram(names::kModelTokens, typed).Observe(double(tokens));
    }
  }
  if (!result) labels["error_type"] = std::string(NameOf(result.failure().code));
  metrics_.histogram(names::kModelTime, labels).Observe(std::chrono::duration<double>(seen.ended - seen.begun).count());
  if (!tracer_.on() || seen.caller.trace_id.empty() || !tracer_.Samples(seen.caller)) return;
  SystemRandom random;
  const std::uint64_t number = random.Next() | 1;  // never zero
  Span span = SpanOf(provider, request, result, seen);
  span.span_id = ToHex(&number, sizeof number);
  tracer_.Export(std::move(span));
}

}  // namespace acl::coordinator
