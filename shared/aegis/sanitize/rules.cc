#include "shared/aegis/sanitize/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/aegis/sanitize/placeholder.h"
#include "shared/aegis/sanitize/value_checks.h"
#include "shared/base/check.h"
#include "shared/base/sha256.h"

namespace acl::aegis {
namespace {

bool IsWordByte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

bool GoesOn(Tail tail, char c, bool escaped) {
  switch (tail) {
    case Tail::kNone: return false;
    case Tail::kWord: return IsWordByte(c);
    case Tail::kBase64: return IsWordByte(c) || c == '+' || c == '/' || c == '=' || c == '.' || c == '~' || c == '%';
    case Tail::kBare:
      return static_cast<unsigned char>(c) > ' ' && std::string_view("\"'`;,&<>(){}[]\\|").find(c) == std::string_view::npos;
    case Tail::kDouble: return c != '\n' && c != '\r' && (c != '"' || escaped);
    case Tail::kSingle: return c != '\n' && c != '\r' && ((c != '\'' && c != '`') || escaped);
    case Tail::kEscaped: return c != '\n' && c != '\r' && c != '"' && c != '\\';
  }
  return false;
}

// At most up to `limit`.
std::size_t EndOfTail(Tail tail, std::string_view text, std::size_t begin, std::size_t end, std::size_t limit) {
  bool escaped = false;
  for (std::size_t i = begin; i < end; ++i) escaped = text[i] == '\\' && !escaped;
  while (end < std::min(limit, text.size()) && GoesOn(tail, text[end], escaped)) {
    escaped = text[end] == '\\' && !escaped;
    ++end;
  }
  return end;
}

// A stop at the end belongs to the sentence.
std::size_t WithoutStop(Tail tail, std::string_view text, std::size_t begin, std::size_t end) {
  if (tail != Tail::kBase64 && tail != Tail::kBare) return end;
  while (end > begin + 1 && (text[end - 1] == '.' || text[end - 1] == ':' || text[end - 1] == '?')) --end;
  return end;
}

// "secret:aws-key" of a placeholder reads like a name and a value.
bool IsWithinPlaceholder(std::string_view text, std::size_t at) {
  constexpr std::string_view kPlaceholder = "[secret:";
  const std::size_t begin = at < 64 ? 0 : at - 64;
  const auto near = text.substr(begin, 128);
  const auto from = near.substr(0, at - begin + kPlaceholder.size()).rfind(kPlaceholder);
  if (from == near.npos) return false;
  const auto to = near.find(']', from);
  return to != near.npos && begin + to >= at && IsPlaceholder(near.substr(from, to + 1 - from));
}

}  // namespace

RuleSet::Compiled::Compiled(Rule given) : rule(std::move(given)), pattern(rule.pattern, RE2::Quiet) {
  ACL_CHECK(pattern.ok(), "a rule of standard_rules.cc is no regular expression");
  const auto& groups = pattern.NamedCapturingGroups();
  if (const auto found = groups.find("v"); found != groups.end()) value = found->second;
  if (const auto found = groups.find("name"); found != groups.end()) name = found->second;
  ACL_CHECK(rule.use == Use::kRefuse || value > 0, "a rule of standard_rules.cc does not say what it cuts");
  for (std::string_view rest = rule.needles; !rest.empty();) {
    const auto bar = std::min(rest.find('|'), rest.size());
    needles.push_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
}

RuleSet::RuleSet(std::vector<Rule> rules) {
  Sha256Stream digest;
  digest.Add(fmt::format("rules {}\n", kVersion));
  for (Rule& rule : rules) {
    digest.Add(
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", rule.kind, rule.needles, rule.pattern, int(rule.tail), int(rule.check), int(rule.use)));
    rules_.emplace_back(std::move(rule));
  }
  digest_ = digest.Finish();
}

const RuleSet& RuleSet::Standard() {
  static const auto* rules = new RuleSet(StandardRules());
  return *rules;
}

std::string RuleSet::Name() const { return fmt::format("{}:{}", kVersion, ToHex(digest_)); }

RuleSet::Text::Text(std::string_view given) : all(given), lower(given) {
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return char(c >= 'A' && c <= 'Z' ? c + 32 : c); });
}

bool RuleSet::MayMatch(std::size_t i, const Text& text) const {
  const auto& needles = rules_[i].needles;
  if (needles.empty()) return true;
  return std::any_of(needles.begin(), needles.end(), [&](auto needle) { return text.lower.find(needle) != std::string::npos; });
}

std::optional<Hit> RuleSet::Next(std::size_t i, const Text& text, std::size_t from, std::size_t* open) const {
  const Compiled& compiled = rules_[i];
  const re2::StringPiece all(text.all.data(), text.all.size());
  std::array<re2::StringPiece, 4> groups;
  const int wanted = std::max(compiled.value, compiled.name) + 1;
  ACL_CHECK(wanted <= int(groups.size()), "a rule of standard_rules.cc has too many groups");
  while (from <= text.all.size() && compiled.pattern.Match(all, from, all.size(), RE2::UNANCHORED, groups.data(), wanted)) {
    const auto place = [&](int group) { return std::size_t(groups[std::size_t(group)].data() - all.data()); };
    const auto size = [&](int group) { return groups[std::size_t(group)].size(); };
    Candidate found{text.all, place(compiled.value), place(compiled.value) + size(compiled.value), {}};
    if (compiled.name > 0 && size(compiled.name) > 0) found.name = text.all.substr(place(compiled.name), size(compiled.name));
    // A condition looks at the first bytes of a value: a text of names without values costs no more than its length.
    const std::size_t whole = EndOfTail(compiled.rule.tail, text.all, found.begin, found.end, found.begin + kLongestHead);
    const std::size_t match_end = place(0) + size(0);
    if (open != nullptr && std::max(whole, match_end) == text.all.size()) *open = std::min(*open, place(0));
    found.end = WithoutStop(compiled.rule.tail, text.all, found.begin, whole);
    if (!IsStandIn(found.value()) && !IsWithinPlaceholder(text.all, found.begin) && Holds(compiled.rule.check, found)) {
      const std::size_t end = EndOfTail(compiled.rule.tail, text.all, whole, whole, text.all.size());
      if (open != nullptr && end == text.all.size()) *open = std::min(*open, place(0));
      return Hit{found.begin, end == whole ? found.end : WithoutStop(compiled.rule.tail, text.all, found.begin, end)};
    }
    // What does not hold is passed by its value alone: another name may begin within what was looked at.
    from = std::max(found.begin, place(0) + 1);
  }
  return std::nullopt;
}

}  // namespace acl::aegis
