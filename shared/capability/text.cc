#include <fmt/format.h>
#include <re2/re2.h>

#include "shared/base/utf8.h"
#include "shared/capability/handlers.h"
#include "shared/capability/python_json.h"

namespace acl {

namespace {

constexpr std::size_t kMaxMatches = 10'000;
constexpr std::size_t kMaxPatternBytes = 10'000;

// Python writes the end of the text \Z, RE2 \z.
std::string ToRe2(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    out += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) out += pattern[++i] == 'Z' ? 'z' : pattern[i];
  }
  return out;
}

// Byte offsets into code point offsets, going forward only: linear over all matches.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : text_(text) {}
  std::size_t At(std::size_t byte) {
    if (byte < byte_) byte_ = points_ = 0;
    points_ += CountCodePoints(text_.substr(byte_, byte - byte_));
    byte_ = byte;
    return points_;
  }

 private:
  std::string_view text_;
  std::size_t byte_ = 0, points_ = 0;
};

StepResult Match(const Json& parameters, CallContext& context) {
  std::string text = StringOf(parameters, "text"), pattern = StringOf(parameters, "pattern");
  if (pattern.size() > kMaxPatternBytes)
    return Failed(fmt::format("pattern has {} bytes, {} are allowed", pattern.size(), kMaxPatternBytes));
  std::string letters;
  bool global = false;
  for (const auto& flag : parameters.at("flags")) {
    std::string word = flag.is_string() ? flag.get<std::string>() : flag.dump();
    if (word == "ignorecase") {
      letters += 'i';
    } else if (word == "multiline") {
      letters += 'm';
    } else if (word == "dotall") {
      letters += 's';
    } else if (word == "global") {
      global = true;
    } else {
      return Failed(fmt::format("unknown flag '{}'; write ignorecase, multiline, dotall or global", word));
    }
  }
  std::string source = ToRe2(pattern);
  if (!letters.empty()) source.insert(0, "(?" + letters + ")");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(32 << 20);
  RE2 expression(source, options);
  if (!expression.ok()) {
    return Failed(fmt::format("pattern does not work: {} (look-around and back-references are not supported; they can take for ever)",
                              expression.error()));
  }
  std::vector<re2::StringPiece> groups(std::size_t(expression.NumberOfCapturingGroups()) + 1);
  CodePoints points(text);
  Json matches = Json::array();
  std::size_t at = 0;
  while (at <= text.size() && expression.Match(text, at, text.size(), RE2::UNANCHORED, groups.data(), int(groups.size()))) {
    if (context.stop.stopped()) return Ended(StepResult::Outcome::kCancelled, "stopped while matching");
    if (std::chrono::steady_clock::now() >= context.deadline) return Ended(StepResult::Outcome::kTimedOut, "timed out while matching");
    auto start = std::size_t(groups[0].data() - text.data()), end = start + groups[0].size();
    Json captured = Json::array();
    for (std::size_t i = 1; i < groups.size(); ++i) captured.push_back(groups[i].data() ? Json(std::string(groups[i])) : Json(nullptr));
    std::size_t first = points.At(start), last = points.At(end);
    matches.push_back({{"match", std::string(groups[0])}, {"groups", std::move(captured)}, {"start", first}, {"end", last}});
    if (!global) break;
    if (matches.size() > kMaxMatches) return Failed(fmt::format("more than {} matches; narrow the pattern or the text", kMaxMatches));
    at = end;
    if (start == end) {  // an empty match: go on after the next character
      do {
        ++at;
      } while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
    }
  }
  return Done({{"matches", std::move(matches)}, {"success", true}});
}

// What a name is written as in the template.
std::string Marker(const std::string& name, std::string_view syntax) {
  if (syntax == "mustache") return "{{" + name + "}}";
  if (syntax == "jinja2") return "{{ " + name + " }}";
  return "$" + name;
}

std::string Spliced(const Json& value) { return value.is_boolean() ? (value.get<bool>() ? "true" : "false") : PythonText(value); }

StepResult Render(const Json& parameters, CallContext& context) {
  std::string text = StringOf(parameters, "template"), syntax = StringOf(parameters, "syntax");
  const Json& given = parameters.at("variables");
  Json variables = given;
  if (given.is_string()) {
    auto parsed = ParseJson(given.get_ref<const std::string&>());
    if (!parsed) return Failed(fmt::format("variables is not JSON: {}", parsed.message()));
    variables = *parsed;
  }
  if (!variables.is_object()) return Failed("variables must be a JSON object (as text), for example '{\"name\": \"Ada\"}'");
  // One pass: the longest marker at each place; a value is never looked into again.
  std::map<std::string, std::string, std::greater<>> markers;
  for (const auto& [name, value] : variables.items()) markers[Marker(name, syntax)] = Spliced(value);
  std::string start = Marker("", syntax).substr(0, syntax == "mustache" || syntax == "jinja2" ? 2 : 1);
  std::string out;
  constexpr std::size_t kMaxRendered = 8u << 20;
  for (std::size_t at = 0; at < text.size();) {
    auto next = std::min(text.find(start, at), text.size());
    out.append(text, at, next - at);
    at = next;
    if (at == text.size()) break;
    std::string_view rest = std::string_view(text).substr(at);
    auto hit = std::find_if(markers.begin(), markers.end(),
                            [&](const auto& marker) { return rest.substr(0, marker.first.size()) == marker.first; });
    if (hit == markers.end()) {
      out += text[at++];
    } else {
      out += hit->second;
      at += hit->first.size();
    }
    if (out.size() > kMaxRendered) return Failed(fmt::format("the text becomes larger than {} bytes", kMaxRendered));
    if (context.stop.stopped()) return Ended(StepResult::Outcome::kCancelled, "stopped while rendering");
  }
  return Done({{"rendered", std::move(out)}, {"success", true}});
}

}  // namespace

void AddText(CapabilityRegistry& registry) {
  CapabilitySpec match;
  match.id = "text.regex.match";
  match.summary = "Find a regular expression in a text.";
  match.docs =
      "Python's syntax as far as it can be matched in linear time (RE2): no look-around, no back-references. \\d, \\w and \\b mean ASCII. "
      "Without the flag `global` only the first match.";
  match.parameters = {
      {.name = "text", .type = "string", .description = "where to look", .required = true},
      {.name = "pattern", .type = "string", .description = "the expression", .required = true},
      {.name = "flags", .type = "array", .description = "any of ignorecase, multiline, dotall, global", .default_value = Json::array()}};
  match.results = {
      Out("matches", "array", "maps {match, groups (null where a group took no part), start, end}; positions count characters"),
      OutSuccess()};
  registry.Add(std::move(match), Match);

  CapabilitySpec render;
  render.id = "text.template.render";
  render.summary = "Put values into a text.";
  render.docs =
      "mustache replaces exactly `{{name}}`, jinja2 exactly `{{ name }}`, other `$name`; unknown names stay. Note that the workflow's own "
      "templates in `template` are expanded before this runs.";
  render.parameters = {{.name = "template", .type = "string", .description = "the text", .required = true},
                       {.name = "variables", .type = "any", .description = "a JSON object as text, or a map", .required = true},
                       {.name = "syntax", .type = "string", .description = "mustache, jinja2 or other", .default_value = Json("mustache")}};
  render.results = {Out("rendered", "string", "the text"), OutSuccess()};
  registry.Add(std::move(render), Render);
}

}  // namespace acl
