#include <fmt/format.h>
#include <re2/re2.h>

#include <functional>
#include <map>
#include <set>

#include "shared/base/utf8.h"
#include "shared/capability/handlers.h"
#include "shared/capability/python_json.h"
#include "shared/capability/regex_search.h"

namespace acl {

namespace {

// Python writes the end of the text \Z, RE2 \z.
std::string ToRe2(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    out += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) out += pattern[++i] == 'Z' ? 'z' : pattern[i];
  }
  return out;
}

// Of a pattern that can be no expression. What it needs to run is not asked: the least memory that says so, whoever wrote it.
std::string BadPattern(const Json& pattern) {
  constexpr std::int64_t kToParse = 256 << 10;
  const std::string text = pattern.is_string() ? pattern.get<std::string>() : std::string();
  if (text.size() > limits::kRegexPatternBytes) return fmt::format("has {} bytes, {} are allowed", text.size(), limits::kRegexPatternBytes);
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kToParse);
  const RE2 expression(ToRe2(text), options);
  if (expression.ok() || expression.error_code() == RE2::ErrorPatternTooLarge) return "";
  return fmt::format("does not work: {} (look-around and back-references are not supported)", expression.error());
}

std::string BadFlags(const Json& flags) {
  for (const Json& flag : flags.is_array() ? flags : Json::array()) {
    if (flag != "ignorecase" && flag != "multiline" && flag != "dotall" && flag != "global")
      return "must be some of ignorecase, multiline, dotall, global; it holds " + flag.dump().substr(0, 100);
  }
  return "";
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

// The matches as outputs, within their bounds.
class MatchList {
 public:
  explicit MatchList(std::string_view text) : text_(text), points_(text) {}

  // False: nothing more is taken.
  bool Add(const std::vector<RegexSpan>& spans) {
    if (matches_.size() >= limits::kRegexMatches) {
      wrong_ = Failed(fmt::format("more than {} matches; narrow the pattern or the text", limits::kRegexMatches));
      return false;
    }
    constexpr std::size_t kAround = 64;  // a match's own words
    for (const RegexSpan& span : spans) bytes_ += kAround + (span.begin == std::string_view::npos ? 0 : span.end - span.begin);
    if (bytes_ > limits::kStepOutputBytes) {
      wrong_ = TooMuchOutput();
      return false;
    }
    const auto piece = [&](const RegexSpan& span) { return std::string(text_.substr(span.begin, span.end - span.begin)); };
    Json captured = Json::array();
    for (std::size_t i = 1; i < spans.size(); ++i)
      captured.push_back(spans[i].begin == std::string_view::npos ? Json(nullptr) : Json(piece(spans[i])));
    const std::size_t first = points_.At(spans[0].begin), last = points_.At(spans[0].end);
    matches_.push_back({{"match", piece(spans[0])}, {"groups", std::move(captured)}, {"start", first}, {"end", last}});
    return true;
  }

  StepResult Result() && { return wrong_ ? *std::move(wrong_) : Done({{"matches", std::move(matches_)}, {"success", true}}); }

 private:
  const std::string_view text_;
  CodePoints points_;
  std::size_t bytes_ = 0;
  Json matches_ = Json::array();
  std::optional<StepResult> wrong_;
};

StepResult Match(const Json& parameters, CallContext& context) {
  std::string text = StringOf(parameters, "text"), pattern = StringOf(parameters, "pattern");
  if (pattern.size() > limits::kRegexPatternBytes)
    return Failed(fmt::format("pattern has {} bytes, {} are allowed", pattern.size(), limits::kRegexPatternBytes));
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
  options.set_max_mem(std::int64_t(limits::kRegexProgramBytes));
  RE2 expression(source, options);
  if (!expression.ok()) {
    return Failed(fmt::format("pattern does not work: {} (look-around and back-references are not supported; they can take for ever)",
                              expression.error()));
  }
  if (expression.NumberOfCapturingGroups() > limits::kRegexGroups) {
    return Failed(fmt::format("pattern has {} groups, {} are allowed; write (?:...) where nothing is to be captured",
                              expression.NumberOfCapturingGroups(), limits::kRegexGroups));
  }
  MatchList list(text);
  const Status searched = SearchRegex(expression, text, global, context, [&](const auto& spans) { return list.Add(spans); });
  if (!searched && searched.code() == Code::kCancelled) return Ended(StepResult::Outcome::kCancelled, searched.message());
  if (!searched && searched.code() == Code::kTimeout) return Ended(StepResult::Outcome::kTimedOut, searched.message());
  if (!searched) return Failed(searched.error());
  return std::move(list).Result();
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
  std::set<std::size_t, std::greater<>> lengths;  // of the markers
  std::size_t spliced_bytes = 0;
  for (const auto& [name, value] : variables.items()) {
    if (auto late = Late(context, "rendering")) return *late;
    std::string marker = Marker(name, syntax);
    lengths.insert(marker.size());
    std::string& spliced = markers[std::move(marker)] = Spliced(value);
    if ((spliced_bytes += spliced.size()) > 4 * limits::kStepOutputBytes) return TooMuchOutput();
  }
  const std::string start = Marker("", syntax).substr(0, syntax == "mustache" || syntax == "jinja2" ? 2 : 1);
  constexpr std::size_t kLookEvery = 1024;
  std::string out;
  std::size_t looks = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (++looks % kLookEvery == 0) {
      if (auto late = Late(context, "rendering")) return *late;
    }
    auto next = std::min(text.find(start, at), text.size());
    out.append(text, at, next - at);
    at = next;
    if (at == text.size()) break;
    auto hit = markers.end();
    for (auto length = lengths.lower_bound(text.size() - at); length != lengths.end() && hit == markers.end(); ++length) {
      if (++looks % kLookEvery == 0) {  // names of very many lengths are many looks at one place
        if (auto late = Late(context, "rendering")) return *late;
      }
      hit = markers.find(std::string_view(text).substr(at, *length));
    }
    if (hit == markers.end()) {
      out += text[at++];
      continue;
    }
    if (out.size() + hit->second.size() > limits::kStepOutputBytes) return TooMuchOutput();
    out += hit->second;
    at += hit->first.size();
  }
  return Done({{"rendered", std::move(out)}, {"success", true}});
}

}  // namespace

void AddText(CapabilityRegistry& registry) {
  CapabilityDefinition match;
  match.id = "text.regex.match";
  match.summary = "Find a regular expression in a text.";
  match.docs =
      "Python's syntax as far as it can be matched in linear time (RE2): no look-around, no back-references. \\d, \\w and \\b mean ASCII. "
      "Without the flag `global` only the first match. At most 10 000 bytes of pattern, 100 groups, 10 000 matches and 8 MiB of results; "
      "the step's time limit holds, however long a single match takes.";
  match.parameters = {{.name = "text", .type = "string", .description = "where to look", .required = true},
                      {.name = "pattern", .type = "string", .description = "the expression", .required = true, .check_literal = BadPattern},
                      {.name = "flags",
                       .type = "array",
                       .description = "any of ignorecase, multiline, dotall, global",
                       .default_value = Json::array(),
                       .check_literal = BadFlags}};
  match.results = {
      Out("matches", "array", "maps {match, groups (null where a group took no part), start, end}; positions count characters"),
      OutSuccess()};
  registry.Add(std::move(match), Match);

  CapabilityDefinition render;
  render.id = "text.template.render";
  render.summary = "Put values into a text.";
  render.docs =
      "mustache replaces exactly `{{name}}`, jinja2 exactly `{{ name }}`, other `$name`; unknown names stay. Note that the workflow's own "
      "templates in `template` are expanded before this runs. At most 8 MiB come out.";
  render.parameters = {{.name = "template", .type = "string", .description = "the text", .required = true},
                       {.name = "variables", .type = "any", .description = "a JSON object as text, or a map", .required = true},
                       {.name = "syntax", .type = "string", .description = "mustache, jinja2 or other", .default_value = Json("mustache")}};
  render.results = {Out("rendered", "string", "the text"), OutSuccess()};
  registry.Add(std::move(render), Render);
}

}  // namespace acl
