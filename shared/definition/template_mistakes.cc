// What is nearly a template: braces that begin like a reference and are none, with what may have been meant. Such text stays as it is when
// a step runs, so the loader says it.
#include "shared/definition/suggest.h"
#include "shared/definition/template_scan.h"

namespace acl {

namespace {

constexpr std::size_t kMostShown = 80, kMostRead = 1000;

bool IsWhite(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool GoesOnInPath(char c) { return IsLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; }

// What a reference may begin with. Digits only if they are a whole name: {{1,2},{3,4}} is a list in many languages.
bool BeginsLikeReference(std::string_view rest) {
  std::size_t at = 0;
  while (at < rest.size() && IsWhite(rest[at])) ++at;
  if (at == rest.size()) return false;
  if (IsLetter(rest[at]) || rest[at] == '.' || rest[at] == '-') return true;
  while (at < rest.size() && rest[at] >= '0' && rest[at] <= '9') ++at;
  const bool digits = at > 0 && rest[at - 1] >= '0' && rest[at - 1] <= '9';
  while (at < rest.size() && IsWhite(rest[at])) ++at;
  return digits && at < rest.size() && (rest[at] == '|' || rest[at] == '}');
}

// From the braces to those that close them; of the line if none does.
std::string_view Excerpt(std::string_view whole, std::size_t begin) {
  const std::string_view text = whole.substr(0, begin + kMostRead);  // a text of unclosed braces is not read to its end for each
  const std::size_t close = text.find("}}", begin), open = text.find("{{", begin + 2);
  if (close != std::string_view::npos && close < open) return text.substr(begin, close + 2 - begin);
  std::size_t end = std::min(text.find('\n', begin), open);
  end = std::min({end, text.size(), begin + kMostShown});
  while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xC0) == 0x80) ++end;  // a whole character
  return whole.substr(begin, end - begin);
}

std::string AllFilters() {
  std::string all;
  for (std::string_view name : FilterNames()) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

std::string Word(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && GoesOnInPath(text[end])) ++end;
  return std::string(text.substr(at, std::min(end - at, kMostShown)));
}

// Behind a path that ends in a text that does not go on as a reference does.
std::string WhyNoEnd(std::string_view text, std::size_t at, std::string_view excerpt) {
  const char next = at < text.size() ? text[at] : '\0';
  if (text[at - 1] == '}') return "it is not closed by }}";
  if (static_cast<unsigned char>(next) >= 0x80) return "a reference has letters a to z, digits, _, - and dots only: rename what it names";
  if (next == '[') return "a reference has no [ ]; of a list take `| first`, `| last` or `| join(', ')`, of a map write a dot";
  if (next == '(') return "nothing is called in a template; a filter comes behind a |";
  if (next == '\n' || next == '\r') return "a reference stands in one line";
  if (next != '\0' && std::string_view("+-*/%<>=!&?:~^,").find(next) != std::string_view::npos)
    return "nothing is computed in a template; let a step compute it, or give a default: {{ x | default('y') }}";
  if (!excerpt.ends_with("}}")) return "it is not closed by }}";
  if (GoesOnInPath(next)) return "it holds more than one name; a reference is one path: {{ step.output }}";
  return "a reference is {{ step.output }} or {{ step.output | filter }}";
}

std::string Why(const ReferenceParser& parser, std::string_view text, std::string_view excerpt) {
  using Part = ReferenceParser::Part;
  const std::size_t at = parser.end();
  switch (parser.part()) {
    case Part::kPath:
    case Part::kEnd: return WhyNoEnd(text, at, excerpt);
    case Part::kFilterCount: return "it has more than 16 filters";
    case Part::kArguments: return "an argument of a filter is 'text', \"text\", a number, true, false or null, and ) ends them";
    case Part::kFilterName: break;
  }
  const std::string name = Word(text, at);
  if (name.empty()) return "a filter comes behind a |, one of " + AllFilters();
  return "there is no filter '" + name + "'" + DidYouMean(name, FilterNames()) + " (there are " + AllFilters() + ")";
}

bool IsOtherEngines(std::string_view rest) {
  std::size_t at = 0;
  while (at < rest.size() && (rest[at] == ' ' || rest[at] == '\t')) ++at;
  return at < rest.size() && std::string_view("'\"#/^!&>@$(|").find(rest[at]) != std::string_view::npos;
}

}  // namespace

std::vector<TemplateMistake> TemplateMistakes(std::string_view text) {
  using Kind = TemplateMistake::Kind;
  std::vector<TemplateMistake> out;
  for (std::size_t at = 0; (at = text.find("{{", at)) != std::string_view::npos;) {
    TemplatePiece piece;
    ReferenceParser parser(text, at);
    if (parser.Parse(&piece)) {
      const std::string_view whole = text.substr(at, parser.end() - at);
      for (const TemplateFilter& filter : piece.filters)
        if (std::string why = WrongArguments(filter); !why.empty()) out.push_back({Kind::kBadFilter, whole, std::move(why)});
      at = parser.end();
      continue;
    }
    const std::string_view rest = text.substr(at + 2), excerpt = Excerpt(text, at);
    if (BeginsLikeReference(rest)) {
      out.push_back({Kind::kNearReference, excerpt, Why(parser, text, excerpt)});
    } else if (IsOtherEngines(rest) && excerpt.ends_with("}}") && excerpt.find('\n') == std::string_view::npos) {
      out.push_back({Kind::kOtherBraces, excerpt, "a reference begins with a name: {{ step.output }}"});
    } else {
      ++at;
      continue;
    }
    at += std::max<std::size_t>(excerpt.size(), 2);
  }
  return out;
}

}  // namespace acl
