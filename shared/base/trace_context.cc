#include "shared/base/trace_context.h"

#include <algorithm>

#include "shared/base/sha256.h"

namespace acl {
namespace {

constexpr std::size_t kTraceDigits = 32, kSpanDigits = 16, kLength = 55;  // 00-<32>-<16>-<2>

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool IsId(std::string_view text) { return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos; }

// The first 64 bits of a hash are zero (no valid id) once in the life of no universe.
std::string SpanIdOf(std::initializer_list<std::string_view> parts) { return ToHex(AsBytes(Sha256(parts)).substr(0, kSpanDigits / 2)); }

}  // namespace

std::optional<TraceContext> ParseTraceparent(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const auto version = text.substr(0, 2), flags = text.substr(53, 2);
  if (!IsHex(version) || version == "ff" || !IsHex(flags)) return std::nullopt;
  // Later versions may say more behind these four fields.
  if (version == "00" ? text.size() != kLength : text.size() > kLength && text[kLength] != '-') return std::nullopt;
  TraceContext context{std::string(text.substr(3, kTraceDigits)), std::string(text.substr(36, kSpanDigits)), false};
  if (!IsId(context.trace_id) || !IsId(context.span_id)) return std::nullopt;
  const char low = flags[1];
  context.sampled = ((low >= 'a' ? low - 'a' + 10 : low - '0') & 1) != 0;
  return context;
}

std::string FormatTraceparent(const TraceContext& context) {
  if (context.trace_id.empty() || context.span_id.empty()) return {};
  return "00-" + context.trace_id + "-" + context.span_id + (context.sampled ? "-01" : "-00");
}

std::string RunSpanId(const SubjectId& subject) { return SpanIdOf({"run\n", subject.ToString()}); }

std::string StepSpanId(const SubjectId& subject, std::string_view step_id) {
  return SpanIdOf({"step\n", subject.ToString(), "\n", step_id});
}

std::string AttemptSpanId(const SubjectId& subject, std::string_view step_id, int attempt_id, Token token) {
  return SpanIdOf({"attempt\n", subject.ToString(), "\n", std::to_string(attempt_id), "\n", std::to_string(token.value), "\n", step_id});
}

std::string ClaimSpanId(const SubjectId& subject, Token token) {
  return SpanIdOf({"claim\n", subject.ToString(), "\n", std::to_string(token.value)});
}

}  // namespace acl
