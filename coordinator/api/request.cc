#include "coordinator/api/request.h"

#include <charconv>

#include <fmt/format.h>

#include "shared/base/nearest.h"
#include "shared/kernel/subject_part.h"

namespace acl::coordinator {

Json ErrorItem(std::string_view code, std::string_view message, std::string_view pointer) {
  Json item = {{"code", std::string(code)}, {"message", std::string(message)}};
  if (!pointer.empty()) item["pointer"] = std::string(pointer);
  return item;
}

OrRefusal<std::optional<std::string>> ReadIdempotencyKey(const HttpRequest& request) {
  const auto* header = request.Header("idempotency-key");
  if (header == nullptr) return std::optional<std::string>();
  std::string_view text = *header;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const bool visible = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f && c != '"'; });
  if (text.empty() || text.size() > kMaxKeyBytes || !visible) {
    return Problem(400, "bad-idempotency-key",
                   fmt::format("Idempotency-Key is 1 to {} visible ASCII characters, for example a UUID", kMaxKeyBytes));
  }
  return std::optional<std::string>(text);
}

OrRefusal<Json> ReadAnyObject(const HttpRequest& request) {
  if (request.body.empty()) return Json(Json::object());
  auto parsed = ParseJson(request.body, {.max_bytes = request.body.size(), .max_depth = 64});
  if (!parsed) return Problem(400, "bad-json", parsed.message());
  if (!parsed->is_object()) return Problem(400, "bad-json", "the body is not a JSON object");
  return std::move(*parsed);
}

OrRefusal<Json> ReadObject(const HttpRequest& request, const std::vector<std::string>& known) {
  auto parsed = ReadAnyObject(request);
  if (RefusalOf(parsed) != nullptr) return parsed;
  Json errors = Json::array();
  for (const auto& [key, value] : ValueOf(parsed).items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    constexpr std::size_t kMostNamed = 20;
    if (errors.size() >= kMostNamed) break;
    const auto near = Nearest(key, known);
    errors.push_back(ErrorItem(
        "unknown-member", fmt::format("'{}' is not known here{}", key.substr(0, 200), near.empty() ? "" : "; did you mean '" + near + "'?"),
        "/" + key.substr(0, 200)));
  }
  if (!errors.empty()) return Problem(422, "invalid-request", "the body has members that are not known", std::move(errors));
  return parsed;
}

OrRefusal<std::int64_t> ReadNumber(const HttpRequest& request, const std::string& name, std::int64_t otherwise, std::int64_t min,
                                   std::int64_t max) {
  const auto* text = request.Query(name);
  if (text == nullptr) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < min || value > max) {
    return Problem(400, "bad-parameter", fmt::format("{} is a whole number from {} to {}", name, min, max));
  }
  return value;
}

OrRefusal<SubjectId> ReadSubject(const ApiContext& api, const std::string& text) {
  if (const auto id = SubjectId::Parse(text)) return *id;
  const auto nothing = [&] { return Problem(404, "not-found", NoSuchRun(text)); };
  if (!SubjectPart(text)) return nothing();
  auto found = api.queries.FindByPart(text);
  if (!found) return ProblemOf(found.error());
  if (found->empty()) return nothing();
  if (found->size() == 1) return found->front();
  Json errors = Json::array();
  for (const auto& id : *found) errors.push_back(ErrorItem("candidate", id.ToString()));
  return Problem(409, "ambiguous-id", "several runs have '" + text + "' in their id: write more of it", std::move(errors));
}

// The store tells a repeated request key with another request from other conflicts by its message alone.
bool IsKeyConflict(const Error& error) {
  return error.code == Code::kConflict && error.message.find("the request key") != std::string::npos;
}

}  // namespace acl::coordinator
