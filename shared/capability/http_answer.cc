#include "shared/capability/http_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/clock.h"
#include "shared/base/foreign_json.h"
#include "shared/base/json_object.h"
#include "shared/base/utf8.h"

namespace acl {

namespace {

using Outcome = StepResult::Outcome;

// Of a body that becomes a value: within what an entry of the state may be (document.h), and short if nobody asked.
constexpr int kMostDepth = 60;
constexpr std::size_t kMostParsedUnasked = 64 * 1024;

const std::string* HeaderOf(const HttpHeaders& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return SameHeader(header.first, name); });
  return found == headers.end() ? nullptr : &found->second;
}

// A status that the file does not take for an answer: the attempt failed, and the server has said so.
std::optional<StepResult> FailedByStatus(const Wanted& wanted, const HttpAnswer& answer, const std::string& method) {
  const bool asked = wanted.retried && wanted.retried->Has(answer.status);
  if (!asked && (!wanted.expected || wanted.expected->Has(answer.status))) return std::nullopt;
  const bool passes = asked || (!wanted.retried && MayPass(answer.status, method != "POST"));
  std::string body = StorableText(std::string_view(answer.body).substr(0, 300));
  StepResult failed = Failed(fmt::format("{} answered with status {}{}{}", method, answer.status, body.empty() ? "" : ": ", body), passes);
  const std::string* after = HeaderOf(answer.headers, "Retry-After");
  if (passes && after) failed.retry_after = ReadRetryAfter(*after, SystemClock().Wall()).value_or(std::chrono::milliseconds(0));
  return failed;
}

bool SaysJson(const HttpHeaders& headers) {
  const std::string* type = HeaderOf(headers, "Content-Type");
  if (!type) return false;
  std::string media = type->substr(0, type->find(';'));
  while (!media.empty() && media.back() == ' ') media.pop_back();
  for (char& c : media) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return media == "application/json" || media == "text/json" || media.ends_with("+json");
}

// Adds `json`, the body as a value. Unset parse_json: only where the answer says that it is JSON and is short, for it is stored twice then;
// a body that is none is no failure. False: it was asked for, and is none.
Status AddJsonBody(const Wanted& wanted, const HttpAnswer& answer, Json* outputs) {
  const bool asked = wanted.parses.value_or(false);
  if (!asked && (wanted.parses || answer.body.empty() || answer.body.size() > kMostParsedUnasked || !SaysJson(answer.headers))) return {};
  auto parsed = ParseForeignJson(answer.body, {.max_bytes = answer.body.size() + 1, .max_depth = kMostDepth});
  if (parsed) {
    (*outputs)["json"] = std::move(*parsed);
  } else if (asked) {
    return Error{Code::kInvalid, fmt::format("parse_json: the body (status {}) is {}", answer.status, parsed.message())};
  }
  return {};
}

}  // namespace

bool SameHeader(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return (x | 32) == (y | 32); });
}

Result<Wanted> ReadWanted(const Json& parameters) {
  Wanted wanted;
  for (const auto& [name, set] : {std::pair("expect_status", &wanted.expected), std::pair("retry_on", &wanted.retried)}) {
    const auto given = parameters.find(name);
    if (given == parameters.end() || given->is_null()) continue;
    auto parsed = StatusSet::Parse(*given);
    if (!parsed) return Error{Code::kInvalid, fmt::format("{} {}", name, parsed.message())};
    *set = std::move(*parsed);
  }
  if (const auto given = parameters.find("parse_json"); given != parameters.end() && given->is_boolean())
    wanted.parses = given->get<bool>();
  return wanted;
}

StepResult ToResult(HttpAnswer answer, const std::string& method, const Wanted& wanted) {
  bool unsafe = method == "POST" && answer.sent;  // may have had its effect, and must not have it twice
  switch (answer.end) {
    case HttpAnswer::End::kAnswered: break;
    case HttpAnswer::End::kRefused: return Failed(answer.error);
    case HttpAnswer::End::kNotSent: return answer.is_short ? Failed(Error{Code::kExhausted, answer.error}) : Failed(answer.error, true);
    case HttpAnswer::End::kLost: return unsafe ? Ended(Outcome::kUnknown, answer.error) : Failed(answer.error, true);
    case HttpAnswer::End::kTooLarge: return unsafe ? Ended(Outcome::kUnknown, answer.error) : Failed(answer.error);
    case HttpAnswer::End::kTimedOut: return Ended(unsafe ? Outcome::kUnknown : Outcome::kTimedOut, answer.error);
    case HttpAnswer::End::kStopped:
      return Ended(unsafe ? Outcome::kUnknown : method == "POST" ? Outcome::kNotStarted : Outcome::kCancelled, answer.error);
  }
  if (auto failed = FailedByStatus(wanted, answer, method)) return std::move(*failed);
  KeyedObject headers(answer.headers.size());
  for (const auto& [name, value] : answer.headers) headers.Put(StorableText(name), StorableText(value));
  answer.body = StorableText(answer.body);
  const bool success = wanted.expected ? wanted.expected->Has(answer.status) : answer.status >= 200 && answer.status < 300;
  Json outputs = {{"status_code", answer.status}, {"body", answer.body}, {"headers", std::move(headers).Take()}, {"success", success}};
  if (Status parsed = AddJsonBody(wanted, answer, &outputs); !parsed) return Failed(parsed.error());
  return Done(std::move(outputs));
}

FieldDefinition StatusField(std::string name, std::string description) {
  FieldDefinition field{.name = std::move(name), .type = "any", .description = std::move(description)};
  field.check = [](const Json& value) {
    auto parsed = StatusSet::Parse(value);
    return parsed ? std::string() : parsed.message();
  };
  return field;
}

}  // namespace acl
