#include "shared/memory/http_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "shared/base/utf8.h"
#include "shared/capability/egress.h"

namespace acl::memory {
namespace {

using End = HttpAnswer::End;

constexpr std::size_t kMostNameBytes = 300;  // of an id, a source

bool IsLoopback(const std::string& host) {
  return host == "localhost" || NotPublicText(host) == "loopback" ||
         (host.size() > 2 && host.front() == '[' && NotPublicText(host.substr(1, host.size() - 2)) == "loopback");
}

// What is said of an answer that is none of ours.
std::string Excerpt(const std::string& body) {
  const std::string text = StorableText(std::string_view(body).substr(0, 200));
  return text.empty() ? "" : ": " + text;
}

Error OfEnd(const HttpAnswer& answer) {
  switch (answer.end) {
    case End::kRefused:
      return {Code::kDenied,
              fmt::format("memory_url: {} (setting memory_allow_private_networks, if it is a server of yours)", answer.error)};
    case End::kTimedOut: return {Code::kTimeout, "the memory did not answer in time (setting memory_timeout_ms)"};
    case End::kTooLarge:
      return {Code::kInvalid, fmt::format("the memory's answer is larger than {} bytes; ask for fewer results", kMostAnswerBytes)};
    case End::kStopped: return {Code::kCancelled, "the call to the memory was stopped"};
    default: return {Code::kUnavailable, fmt::format("the memory (memory_url) cannot be reached: {}", answer.error)};
  }
}

Error OfStatus(const HttpAnswer& answer) {
  const std::string said = fmt::format("the memory answers {}{}", answer.status, Excerpt(answer.body));
  if (answer.status == 401 || answer.status == 403)
    return {Code::kDenied, fmt::format("the memory answers {}: see memory_token_file", answer.status)};
  if (answer.status >= 300 && answer.status < 400)
    return {Code::kInvalid, said + "; redirects are not followed: set memory_url to where it is"};
  if (answer.status == 408 || answer.status == 429 || answer.status >= 500) return {Code::kUnavailable, said + "; try later"};
  return {Code::kInvalid, said + "; does memory_url name a server of the protocol in docs/guides/memory.md?"};
}

std::string Text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// At most so many bytes, no character in two.
std::string CutTo(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t size = most;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  text.resize(size);
  return text;
}

std::optional<Found::Result> ReadResult(const Json& item, const Query& query) {
  if (!item.is_object()) return std::nullopt;
  Found::Result result;
  const auto kind = KindOf(Text(item, "kind"));
  result.id = CutTo(Text(item, "id"), kMostNameBytes);
  result.text = Text(item, "text");
  result.source = CutTo(Text(item, "source"), kMostNameBytes);
  if (!kind || (query.kind && *kind != *query.kind) || result.text.empty()) return std::nullopt;
  result.kind = *kind;
  result.cut = result.text.size() > kMostResultBytes;
  result.text = CutTo(std::move(result.text), kMostResultBytes);
  return result;
}

Status ReadResults(const std::string& body, const Query& query, Found& found) {
  const auto answer = ParseJson(body, {.max_bytes = kMostAnswerBytes, .max_depth = 8, .max_values = 10'000});
  const auto bad = [](const std::string& what) { return Error{Code::kInvalid, "the memory's answer: " + what}; };
  if (!answer) return bad(answer.message());
  if (!answer->is_object() || !answer->contains("results") || !answer->at("results").is_array()) return bad("it has no list \"results\"");
  std::size_t bytes = 0;
  for (const Json& item : answer->at("results")) {
    auto result = ReadResult(item, query);
    if (!result || int(found.results.size()) == query.most || bytes + result->text.size() > kMostResultsBytes) {
      ++found.dropped;
      continue;
    }
    bytes += result->text.size();
    found.results.push_back(std::move(*result));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<HttpMemory>> HttpMemory::Make(HttpMemoryOptions options, const Clock& clock) {
  while (options.url.ends_with('/')) options.url.pop_back();
  HttpConfig config;
  config.allow_private_networks = options.allow_private_networks;
  config.max_redirects = 0;
  config.max_body_bytes = kMostAnswerBytes;
  config.connect_timeout = options.timeout;
  config.ca_file = options.ca_file;
  const auto checked = CheckUrl(options.url, config);
  if (!checked) return Error{checked.code(), "memory_url: " + checked.message()};
  if (options.url.find_first_of("?#") != std::string::npos)
    return Error{Code::kInvalid, "memory_url has a query or fragment: write scheme, host and path only"};
  if (!options.token.empty() && checked->scheme != "https" && !IsLoopback(checked->host)) {
    return Error{Code::kInvalid, "memory_url is http and memory_token_file is set: anybody on the way could read the token; write https"};
  }
  config.allowed_hosts = {checked->host};
  const std::string origin = checked->origin();
  return std::unique_ptr<HttpMemory>(new HttpMemory(std::move(options), std::move(config), origin, clock));
}

HttpMemory::HttpMemory(HttpMemoryOptions options, HttpConfig config, std::string origin, const Clock& clock)
    : options_(std::move(options)), origin_(std::move(origin)), clock_(clock), client_(std::move(config)) {}

Result<HttpAnswer> HttpMemory::Call(const std::string& method, const std::string& path, const Json& body) {
  struct Turn {
    std::atomic<int>& calls;
    const int before = calls.fetch_add(1);
    ~Turn() { --calls; }
  } const turn{calls_};
  if (turn.before >= kMostCalls)
    return Error{Code::kUnavailable, fmt::format("{} calls to the memory are on their way; try later", kMostCalls)};
  HttpCall call;
  call.method = method;
  call.url = options_.url + path;
  call.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  if (!options_.token.empty()) call.own_headers.emplace_back("Authorization", "Bearer " + options_.token);
  if (!body.is_null()) call.body = DumpJson(body);
  call.repeatable = true;  // searching and revoking by nature, learning by its id
  call.deadline = clock_.Steady() + options_.timeout;
  auto ended = std::make_shared<std::promise<HttpAnswer>>();
  auto answer = ended->get_future();
  client_.Start(std::move(call), [ended = std::move(ended)](HttpAnswer got) { ended->set_value(std::move(got)); });
  try {
    HttpAnswer got = answer.get();
    if (got.end != End::kAnswered) return OfEnd(got);
    return got;
  } catch (const std::future_error&) {  // the client had no memory for handing it over
    return Error{Code::kUnavailable, "out of memory while the memory answered; try later"};
  }
}

Result<Found> HttpMemory::Search(const Passed<Query>& query) {
  Json body = {{"text", query->text}, {"limit", query->most}};
  if (query->kind) body["kind"] = NameOf(*query->kind);
  const auto answer = Call("POST", "/v1/search", body);
  if (!answer) return answer.error();
  if (answer->status != 200) return OfStatus(*answer);
  Found found;
  found.memory = origin_;
  found.read_at = clock_.Wall();
  if (const Status read = ReadResults(answer->body, *query, found); !read) return read.error();
  return found;
}

Status HttpMemory::Learn(const Passed<Learning>& learning) {
  Json body = {{"id", learning->Id()},
               {"kind", learning->type},
               {"text", learning->text},
               {"source", {{"project", learning->source.project.ToString()}, {"event_seq", learning->source.event_seq}}}};
  if (learning->valid_for) body["valid_for_s"] = learning->valid_for->count();
  const auto answer = Call("POST", "/v1/learnings", body);
  if (!answer) return answer.error();
  if (answer->status < 200 || answer->status > 299) return OfStatus(*answer);
  return {};
}

Result<bool> HttpMemory::Revoke(const std::string& id) {
  const bool ours = id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!ours) return Error{Code::kInvalid, "id: a learning's id is 32 hex digits, as `learn` has answered it"};
  const auto answer = Call("DELETE", "/v1/learnings/" + id, Json());
  if (!answer) return answer.error();
  if (answer->status == 404 || answer->status == 410) return false;
  if (answer->status < 200 || answer->status > 299) return OfStatus(*answer);
  return true;
}

}  // namespace acl::memory
