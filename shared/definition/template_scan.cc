#include "shared/definition/template_scan.h"

#include <charconv>

namespace acl {

namespace {

bool IsPathChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'; }
bool IsNameChar(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace

bool ReferenceParser::Parse(TemplatePiece* out) {
  Space();
  std::size_t from = at_;
  while (at_ < text_.size() && IsPathChar(text_[at_])) ++at_;
  if (at_ == from) return false;
  out->path = text_.substr(from, at_ - from);
  Space();
  if (!Filters(&out->filters)) return false;
  part_ = Part::kEnd;
  return Eat('}') && Eat('}');
}

bool ReferenceParser::Filters(std::vector<TemplateFilter>* out) {
  while (at_ < text_.size() && text_[at_] == '|' && !(alone_ && text_.substr(at_, 2) == "||")) {
    ++at_;
    if (out->size() == kMostFilters) {
      part_ = Part::kFilterCount;
      return false;
    }
    Space();
    TemplateFilter filter;
    if (!Filter(&filter)) return false;
    out->push_back(std::move(filter));
    Space();
  }
  return true;
}

void ReferenceParser::Space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

bool ReferenceParser::Eat(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool ReferenceParser::Filter(TemplateFilter* out) {
  part_ = Part::kFilterName;
  std::size_t from = at_;
  while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
  out->name = text_.substr(from, at_ - from);
  if (!IsFilter(out->name)) {
    at_ = from;
    return false;
  }
  if (!Eat('(')) return true;
  part_ = Part::kArguments;
  Space();
  if (Eat(')')) return true;
  while (out->arguments.size() < kMostArguments) {
    Json argument;
    if (!Argument(&argument)) return false;
    out->arguments.push_back(std::move(argument));
    Space();
    if (Eat(')')) return true;
    if (!Eat(',')) return false;
    Space();
  }
  return false;
}

bool ReferenceParser::Argument(Json* out) {
  if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) return Quoted(text_[at_], out);
  std::size_t from = at_;
  while (at_ < text_.size() &&
         (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+'))
    ++at_;
  auto parsed = ParseJson(text_.substr(from, at_ - from));
  if (!parsed || parsed->is_structured()) return false;
  *out = std::move(*parsed);
  return true;
}

// Backslash keeps the next character: 'it\'s'; \n is a line break.
bool ReferenceParser::Quoted(char quote, Json* out) {
  std::string value;
  for (++at_; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == quote) {
      ++at_;
      *out = std::move(value);
      return true;
    }
    if (c == '\\' && at_ + 1 < text_.size()) {
      c = text_[++at_];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    value += c;
  }
  return false;
}

std::vector<TemplatePiece> ScanTemplate(std::string_view text) {
  std::vector<TemplatePiece> out;
  std::size_t literal = 0, at = 0;
  while ((at = text.find("{{", at)) != std::string_view::npos) {
    TemplatePiece piece;
    ReferenceParser parser(text, at);
    if (!parser.Parse(&piece)) {
      ++at;  // "{{{ a }}" still holds a reference one further
      continue;
    }
    if (at > literal) out.push_back({text.substr(literal, at - literal), false, {}, {}});
    piece.is_reference = true;
    piece.text = text.substr(at, parser.end() - at);
    at = literal = parser.end();
    out.push_back(std::move(piece));
  }
  if (literal < text.size()) out.push_back({text.substr(literal), false, {}, {}});
  return out;
}

std::string_view FirstToken(std::string_view path) { return path.substr(0, path.find('.')); }

}  // namespace acl
