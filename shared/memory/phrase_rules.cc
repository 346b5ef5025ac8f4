#include "shared/memory/phrase_rules.h"

#include <functional>
#include <map>

#include "shared/base/check.h"

namespace acl::memory {
namespace {

// Parts of patterns, by name.
const std::map<std::string, std::string, std::less<>>& Parts() {
  static const auto* parts = new std::map<std::string, std::string, std::less<>>{
      {"work",  // a piece of work
       "(?:task|subtask|ticket|issue|story|milestone|epic|sprint|pr|pull request|merge request|job|build|pipeline|ci|deployment|deploy|"
       "rollout|migration|refactoring|refactor|rewrite|conversion|import|export|upgrade|release|feature|fix|bug|branch|work|phase|step|"
       "part|chapter|draft|review|audit|proofreading|proof-reading|testing|cleanup|clean-up|implementation|port|tests?|suite|converter)"},
      {"stands",  // where it stands
       "(?:to ?do|doing|blocked|unblocked|done|in progress|in review|under review|under way|underway|ongoing|wip|pending|finished|"
       "complete|completed|paused|suspended|waiting|awaiting|open|reopened|re-opened|closed|ready|stuck|on hold|started|resolved|merged|"
       "abandoned|cancelled|canceled|failed|deployed|fixed|implemented|tested|released|shipped|unresolved|unmerged|passing|failing|broken|"
       "red|green|next|incomplete|unfinished|overdue|late)"},
      {"soft", "(?:(?:now|still|also|already|currently|all|both|not|yet|nearly|almost|mostly|partly|only|again|just|half) )*"},
      {"amount", R"((?:\d{1,3}(?:\.\d+)? ?(?:%|percent|per cent)|\d+ ?(?:/|of|out of) ?(?:the )?\d+))"},
      {"reached",
       "(?:done|complete|completed|finished|through|of the way|migrated|ported|converted|written|ready|left|remaining|to go|progress|"
       "merged|reviewed|processed|closed|implemented|fixed|passing|translated|imported|tested)"},
      {"busy",
       "(?:working on|in the middle of|busy with|debugging|investigating|fixing|implementing|refactoring|migrating|porting|looking into|"
       "halfway|trying(?: out| to)?|testing|writing|adding|building|moving|updating|running|creating|removing|renaming|looking at|"
       "continuing|resuming|picking up|converting|rewriting|cleaning up|setting up)"},
      {"acted",
       "(?:finished|completed|fixed|merged|pushed|deployed|implemented|started|began|begun|migrated|ported|committed|reviewed|tested|"
       "resolved|closed|opened|refactored|wrote|written|added|updated|removed|created|ran|rerun|converted|renamed|did|done)"},
      // What makes a rule of a sentence: it says what must hold, not what holds.
      {"general",
       "(?:^(?:an?|no|every|each|any|all)\\b|\\b(?:must|should|shall|may|might|can|never|always|every|each|only|when|whenever|if|unless|"
       "usually|by (?:policy|default|law|design)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)\\b)"},
      // A verb that makes of what stands before it ("Fixing a bug", "Merged branches") a subject.
      {"finite",
       "\\b(?:is|are|was|were|be|must|should|starts?|begins?|belongs?|needs?|requires?|means?|goes|happens?|takes?|has|have|comes|may|can|"
       "cannot|will|costs?|ends?|gets?|keeps?|stays?|does|do|expires?|live|lives|makes?)\\b"},
      {"seldom",  // words for where it stands that hardly say anything else
       "(?:in progress|in review|under review|under way|underway|on hold|wip|stuck|overdue|unfinished|unresolved|unmerged|half done|"
       "(?:almost|nearly|mostly|not|partly) (?:done|finished|complete|completed|started|merged|ready)|"
       "still (?:open|pending|missing|failing|broken|running|waiting)|re-?opened)"},
  };
  return *parts;
}

std::string Expanded(std::string pattern) {
  for (const auto& [name, part] : Parts()) {
    const std::string mark = "{" + name + "}";
    for (std::size_t at = 0; (at = pattern.find(mark, at)) != std::string::npos; at += part.size()) pattern.replace(at, mark.size(), part);
  }
  return pattern;
}

// The sentence up to two words behind `end`.
re2::StringPiece UpTo(re2::StringPiece sentence, std::size_t end) {
  for (int words = 0; words < 3 && end < sentence.size(); ++end) words += sentence[end] == ' ';
  return sentence.substr(0, end);
}

}  // namespace

void PhraseRules::Add(std::string_view reason, const std::string& pattern, const std::string& unless) {
  Rule& rule = rules_.emplace_back(reason, Expanded(pattern));
  rule.anywhere = unless.starts_with('~');
  if (!unless.empty()) rule.unless.emplace(Expanded(unless.substr(rule.anywhere ? 1 : 0)), RE2::Quiet);
  ACL_CHECK(rule.pattern.ok() && (!rule.unless || rule.unless->ok()), "a rule of phrases.cc is no regular expression");
}

std::optional<Phrase> PhraseRules::FirstIn(std::string_view sentence) const {
  const re2::StringPiece text(sentence.data(), sentence.size());
  for (const Rule& rule : rules_) {
    re2::StringPiece words;
    if (!rule.pattern.Match(text, 0, text.size(), RE2::UNANCHORED, &words, 1)) continue;
    const auto looked_at = rule.anywhere ? text : UpTo(text, std::size_t(words.data() - text.data()) + words.size());
    if (rule.unless && RE2::PartialMatch(looked_at, *rule.unless)) continue;
    return Phrase{rule.reason, std::string(words)};
  }
  return std::nullopt;
}

}  // namespace acl::memory
