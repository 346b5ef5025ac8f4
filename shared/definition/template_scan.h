#pragma once
// The text of a template cut into literal pieces and references. What does not match the grammar is literal:
//   {{ path }}      path = one or more of A-Z a-z 0-9 _ - .
//   {{ path | filter | filter(arg, ...) }}      args: 'text', "text", number, true, false, null

#include <string>
#include <string_view>
#include <vector>

#include "shared/definition/template.h"

namespace acl {

struct TemplateFilter {
  std::string name;
  std::vector<Json> arguments;
};

struct TemplatePiece {
  std::string_view text;  // as written, braces included
  bool is_reference = false;
  std::string path;
  std::vector<TemplateFilter> filters;
};

std::vector<TemplatePiece> ScanTemplate(std::string_view text);

// Reference text without path segments that cannot exist ("a..b"): first token.
std::string_view FirstToken(std::string_view path);

// Braces that stay as text, or a reference whose filters can only fail.
struct TemplateMistake {
  enum class Kind {
    kNearReference,  // begins like a reference and is none: hardly meant as text
    kOtherBraces,    // {{ 'a' }}, {{#each}}: what other engines expand
    kBadFilter,      // a reference with a filter that takes other arguments
  } kind = Kind::kNearReference;
  std::string_view text;  // as written, from the braces on; of braces that are not closed a part
  std::string why;        // what is wrong, what to write instead
};
// In order. template_mistakes.cc
std::vector<TemplateMistake> TemplateMistakes(std::string_view text);

// Reads one {{ ... }} that starts at `begin` of the text.
class ReferenceParser {
 public:
  ReferenceParser(std::string_view text, std::size_t begin) : text_(text), at_(begin + 2) {}
  // Of filters alone, which begin there.
  static ReferenceParser AtFilters(std::string_view text, std::size_t begin) {
    ReferenceParser parser(text, 0);
    parser.at_ = begin;
    parser.alone_ = true;
    return parser;
  }

  // False: not of the grammar.
  bool Parse(TemplatePiece* out);
  // `| filter | filter(arg)` from here on, up to what is none; false: one does not fit.
  bool Filters(std::vector<TemplateFilter>* out);
  // Where reading ended: behind the braces, or at what does not fit.
  std::size_t end() const { return at_; }

  // Of what does not fit: which part it is in.
  enum class Part { kPath, kEnd, kFilterName, kFilterCount, kArguments };
  Part part() const { return part_; }

 private:
  static constexpr std::size_t kMostFilters = 16, kMostArguments = 8;

  void Space();
  bool Eat(char c);
  bool Filter(TemplateFilter* out);
  bool Argument(Json* out);
  bool Quoted(char quote, Json* out);

  std::string_view text_;
  std::size_t at_;
  Part part_ = Part::kPath;
  bool alone_ = false;  // in an expression, where || is something else
};

// ---- template_filters.cc

const std::vector<std::string_view>& FilterNames();
bool IsFilter(std::string_view name);
// Why the filter fails whatever it is given; empty if it need not.
std::string WrongArguments(const TemplateFilter& filter);

// What templates may still make and do: asked for before each step of theirs, so that nothing is made that goes beyond it.
class TemplateBudget {
 public:
  TemplateBudget(std::size_t output, std::size_t work) : output_(output), work_(work), output_left_(output), work_left_(work) {}
  // kInvalid if there is less left.
  Status SpendOutput(std::size_t bytes);
  Status SpendWork(std::size_t bytes);
  std::size_t output() const { return output_; }
  std::size_t output_left() const { return output_left_; }

 private:
  const std::size_t output_, work_;
  std::size_t output_left_, work_left_;
};

// The value at a dotted path; nullptr if it is missing. A map is searched from its front. (template.cc)
Result<const Json*> LookUp(const TemplateScope& scope, std::string_view path, TemplateBudget& budget);

// What a reference comes to: a value that stands elsewhere (the state, the template's text), or one that filters made.
struct Referred {
  const Json* at = nullptr;  // nullptr: missing, or null
  Json made;
  bool is_made = false;

  const Json* get() const { return is_made ? &made : at; }
};
// `value` nullptr: the reference is missing (or null). No filter makes more than the whole output may be.
Result<Referred> ApplyFilters(const std::vector<TemplateFilter>& filters, const Json* value, TemplateBudget& budget);

// A value spliced into text: strings as they are; maps and lists as JSON with indent 2, key order kept; numbers as Python prints them;
// true and false (docs/reference/other-runtimes.md#state-and-templates). False: `out` would become longer than `most`; it holds a part
// then.
bool AppendSpliced(const Json& value, std::size_t most, std::string* out);
std::string SpliceText(const Json& value);

}  // namespace acl
