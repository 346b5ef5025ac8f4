#include "shared/memory/phrases.h"

#include <re2/re2.h>

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "shared/base/check.h"

namespace acl::memory {
namespace {

// Parts of the patterns below, by name.
const std::map<std::string, std::string, std::less<>>& Parts() {
  static const auto* parts = new std::map<std::string, std::string, std::less<>>{
      {"work",  // a piece of work
       "(?:task|subtask|ticket|issue|story|milestone|epic|sprint|pr|pull request|merge request|job|build|pipeline|ci|deployment|deploy|"
       "rollout|migration|refactoring|refactor|rewrite|conversion|import|export|upgrade|release|feature|fix|bug|branch|work|phase|step|"
       "part|"
       "chapter|draft|review|audit|proofreading|proof-reading|testing|cleanup|clean-up|implementation|port|tests?|suite|converter)"},
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
       "(?:almost|nearly|mostly|not|partly) (?:done|finished|complete|completed|started|merged|ready)|still "
       "(?:open|pending|missing|failing|"
       "broken|running|waiting)|re-?opened)"},
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

struct Rule {
  Rule(std::string_view why, const std::string& found, const std::string& but) : reason(why), pattern(Expanded(found), RE2::Quiet) {
    ACL_CHECK(pattern.ok(), "a pattern of phrases.cc is none");
    anywhere = but.starts_with('~');
    if (!but.empty()) unless.emplace(Expanded(but.substr(anywhere ? 1 : 0)), RE2::Quiet);
  }
  const std::string_view reason;
  const RE2 pattern;
  // If this is found too, the pattern does not count: before, in or right behind what was found; behind a '~', anywhere in the sentence.
  std::optional<RE2> unless;
  bool anywhere = false;
};

using Rules = std::deque<Rule>;
void Add(Rules& rules, std::string_view reason, const std::string& pattern, const std::string& unless = "") {
  rules.emplace_back(reason, pattern, unless);
}

void AddStatus(Rules& rules) {
  const std::string about = "(?: (?:about|of|for|on|to|with|in) (?:[\\w-]+ ){0,4}?[\\w-]+)?";
  const std::string verb = " (?:is|are|was|were|has been|have been|got|remains?|stays|went) ";
  const std::string whose = "\\b(?:the|this|that|these|those|our|my|its|his|her|their|your) ";
  Add(rules, "STATUS", whose + "(?:[\\w-]+ ){0,3}?{work}s?(?: ?[\\w/.-]*[\\d/][\\w/.-]*)?" + about + verb + "{soft}(?:being )?{stands}\\b",
      "{general}");
  Add(rules, "STATUS", "^(?:[\\w-]+ ){0,3}?{work}" + about + verb + "{soft}(?:being )?{stands}\\b", "{general}");
  Add(rules, "STATUS", verb + "{soft}{seldom}\\b", "{general}");
  Add(rules, "STATUS",
      "(?:^|" + whose + ")(?:[\\w-]+ ){0,3}?(?:{work}|run) (?:has |just )?(?:failed|succeeded|passed|crashed|hung|broke|timed out)\\b",
      "~{general}|\\bin (?:19|20)\\d\\d\\b");
  Add(rules, "STATUS",
      "^(?:[\\w'/-]+ ){1,5}(?:{seldom}|blocked|done|finished|completed|failed|merged|pending|paused|broken|started|deployed)$",
      "~{finite}|\\b(?:when|until|if|never|no|not|always|as|only|once)\\b");
  Add(rules, "STATUS",
      "^[^:]{1,40}: (?:[\\w-]+ ){0,2}?(?:{seldom}|blocked|done|finished|completed|failed|merged|pending|paused|deployed)(?:$|[,(]| but\\b| "
      "and\\b| by\\b)",
      "~{finite}");
  Add(rules, "STATUS", "\\b(?:status|state|progress) ?[:=] ?(?:{stands}|approved|\\d+ ?%)");
  Add(rules, "STATUS",
      "\\b(?:we|i|it|work|agent|team|user) (?:can't|cannot|can not|could not|couldn't|(?:is|are|am) unable to) (?:proceed|continue|go "
      "on|move on|finish|start)\\b");
  Add(rules, "STATUS",
      "\\b(?:step|phase|part|stage|milestone|chapter|batch|iteration|sprint|task) \\d+(?: of \\d+)?:? (?:is |was |has been |are "
      ")?{soft}{stands}\\b");
  Add(rules, "STATUS",
      "\\b(?:pr|pull request|mr|merge request|issue|ticket|bug|[a-z]{2,8}-\\d{1,6})s? ?#?\\d* (?:is|was|are|has been|needs|got|awaits) "
      "{soft}(?:a )?(?:{stands}|approved|draft|reviewed|review|rebase)\\b",
      "{general}");
  Add(rules, "STATUS", "#\\d+ (?:is|was|has been|needs|got|awaits|remains)\\b", "{general}");
  Add(rules, "STATUS",
      "^(?:wip|blocked|paused|stuck|on hold|in progress|in review|pending|waiting)(?: ?[:-]| (?:by|on|until|in|at|for|with)\\b)");
  Add(rules, "STATUS", "^(?:current )?(?:status|progress|state)(?: update| report)?(?: of [^:]{1,60})? ?:");
  Add(rules, "STATUS",
      "\\b(?:i|we|i'm|we're|agent|user|team|it|this|that|he|she|they)(?:'s|'re| is| are| am| was)? {soft}(?:waiting (?:for|on)|blocked "
      "(?:by|on|until)|stuck (?:on|at|in|with)|on hold)\\b",
      "{general}");
  Add(rules, "STATUS", "\\b(?:i|we) {soft}(?:wait|await) (?:for )?(?:the|an?|his|her|their|your)\\b", "{general}");
  Add(rules, "STATUS",
      "\\b(?:is|are) (?:still|now|currently) (?:waiting|blocked|stuck|open|pending|paused|in progress|on hold|failing|broken)\\b",
      "{general}");
  Add(rules, "STATUS",
      "\\b(?:build|run|job|pipeline|attempt|try|deploy|test) #?\\d+ (?:has )?(?:failed|passed|succeeded|crashed|is|was)\\b", "{general}");
  Add(rules, "STATUS",
      "\\b(?:is waiting|are waiting|waits|awaiting|waiting|, waiting) (?:for |on )?(?:ci|review|approval|feedback|an? answer|answers?|a "
      "reply|merge|"
      "confirmation|the vendor|legal)\\b",
      "{general}");
  Add(rules, "STATUS", "^[\\w' -]{1,40} (?:in progress|in review|on hold|under way|underway)\\b", "~{finite}");
}

void AddProgress(Rules& rules) {
  Add(rules, "PROGRESS", "{amount} (?:of )?(?:[\\w-]+ ){0,4}?{reached}\\b", "{general}");
  Add(rules, "PROGRESS", "\\b{reached}\\b[^.]{0,20}?\\b{amount}", "{general}");
  Add(rules, "PROGRESS",
      "\\b(?:half|halfway|almost|nearly|mostly|partly|partially|not yet|two thirds|three quarters) (?:way )?"
      "(?:done|finished|complete|completed|through|ready|there|merged|migrated|implemented|converted)\\b",
      "{general}");
  Add(rules, "PROGRESS", "\\b(?:not|n't) (?:yet )?(?:done|finished|complete|completed|started|begun|implemented|merged) yet\\b");
  Add(rules, "PROGRESS",
      "\\b(?:is|are|has|have|was|were)(?: not|n't) (?:been )?(?:started|finished|completed|begun|merged|implemented)(?: yet)?$");
  Add(rules, "PROGRESS",
      "\\b(?:i am|i'm|we are|we're|i was|we were|agent is|user is|he is|she is|they are|am|team is|who is) {soft}(?:busy |actively "
      ")?{busy}\\b",
      "{general}");
  Add(rules, "PROGRESS", "^{soft}{busy}\\b",
      "~\\b(?:is|are|must|should|starts?|belongs?|needs?|requires?|means|goes|happens|takes|has|comes|may|can|will|costs?|ends?)\\b");
  Add(rules, "PROGRESS", "\\bnext (?:step|action|task|up|thing(?: to do)?|move|steps)(?: is| are| was|:| -| will be| would be)",
      "\\b(?:every|each|always)\\b");
  Add(rules, "PROGRESS",
      "^(?:and )?(?:next|then|afterwards|after that|now)(?::|,| -| up\\b| (?:i|we|it|you)(?:'ll| will| should| need| have| must| can)\\b)");
  Add(rules, "PROGRESS",
      "\\b(?:todo|to-do|fixme|remaining|outstanding|left to do|still to do|to be done|action items?|remains to be done) ?:");
  Add(rules, "PROGRESS", "\\b(?:remaining|outstanding|unfinished) (?:work|tasks?|items?|steps?|todos?)\\b", "{general}");
  Add(rules, "PROGRESS", "\\b(?:still|yet) (?:needs?|has|have|had) to\\b", "{general}");
  Add(rules, "PROGRESS", "\\b(?:is|are) (?:still )?to be (?:continued|done|finished)\\b|^to be continued\\b");
  Add(rules, "PROGRESS", "^still (?:need|to|not|open|missing|failing|broken|pending|todo|blocked|waiting|running|in progress)\\b");
  Add(rules, "PROGRESS",
      "\\b(?:left off|(?:i|we|it) (?:have |had )?(?:stopped|paused|interrupted)\\b|where (?:i|we) (?:left|stopped|were|are))");
  Add(rules, "PROGRESS", "^(?:resume|continue|carry on|go on|pick up)(?: again)? (?:with|from|at|by|here|where)\\b");
  Add(rules, "PROGRESS", "\\b(?:i|we) (?:will |should |need to |can |must |shall )(?:resume|continue|go on|pick up)\\b");
  Add(rules, "PROGRESS", "\\b(?:i|i've|i have|i had|i just) (?:(?:have|had|just|already|now|also) )*{acted}\\b");
  Add(rules, "PROGRESS",
      "\\b(?:we|we've|agent|user|you)(?:'ve)? (?:(?:have|has|had) )?(?:just|already|now) {acted}\\b|\\bwe've {acted}\\b");
  Add(rules, "PROGRESS",
      "^(?:not )?(?:done|finished|completed|fixed|merged|deployed|implemented|remaining)(?: ?[:-]| (?:the|with|all|up "
      "to|this|that|step|phase|part)\\b)",
      "~\\b(?:is|are|must|should|can|cannot|may)\\b");
  Add(rules, "PROGRESS", "\\b(?:i|i'm|i've|i'll)\\b",  // whoever speaks of themselves says what they do, if not what they like
      "~\\b(?:i|i'd) (?:really |also )?(?:do not |don't |never |always |usually |would |rather |only "
      ")?(?:like|prefer|want|need|hate|love|expect|use|"
      "live|speak|read|write|think|wish|work|avoid|dislike|believe|know|care)\\b|\\bi(?: a|')m (?:not "
      ")?(?:an?|the|from|in|based|allergic|colour|color)\\b|['\"]i['\"]");
  Add(rules, "PROGRESS", "\\b(?:agent|assistant|user|session) (?:is|was|has been|had been) {soft}\\w+ing\\b",
      "~\\b(?:using|living|missing|interesting)\\b");
  Add(rules, "PROGRESS",
      "\\b(?:wants?|asks?|asked|plans?|going|intends?|about) (?:us |me |the agent )?to (?:finish|continue|resume|start|go on|pick up|come "
      "back|complete|proceed|retry)\\b");
  Add(rules, "PROGRESS",
      "\\b(?:we|i|someone) (?:still |also )?(?:need|have|want)s? to (?:come back|get back|go back|revisit|look "
      "into|finish|continue|resume|redo|retry|rerun|re-run|investigate)\\b");
  Add(rules, "PROGRESS", "\\[[ x*]?\\] ?\\w|^(?:todo|to-do|fixme|wip)\\b(?: ?:| [a-z])", "~{finite}");
  Add(rules, "PROGRESS",
      "\\b(?:the|our|an?) (?:agent|assistant|session) (?:also |just )?(?:{acted}|stopped|tried|continued|changed|asked)\\b|"
      "\\buser (?:also |just "
      ")?(?:finished|completed|started|stopped|continued|merged|pushed|committed|deployed|fixed|tested|reviewed|wrote)\\b",
      "~\\bin (?:19|20)\\d\\d\\b");
  Add(rules, "PROGRESS", "\\b(?:is|are) (?:still|not yet) (?:failing|broken|missing|open|red|running|pending|blocked|to be)\\b");
  Add(rules, "PROGRESS", "\\bneeds? (?:\\d+|one|two|three|four|five|some|a few|a couple of) more \\w+$");
  Add(rules, "PROGRESS", "\\bwe(?:'ve| have) (?:now |just |already )?(?:moved (?:on )?to the|reached the|begun|entered)\\b");
  Add(rules, "PROGRESS",
      "\\b(?:done|finished|implemented|written|merged|complete|fixed|coded)(?:,)? but not (?:yet "
      ")?(?:tested|merged|deployed|reviewed|documented|released|committed|pushed)\\b");
  Add(rules, "PROGRESS",
      "\\b(?:\\d+|one|two|three|four|five|six|some|few|several|many|most) (?:[\\w-]+ ){0,2}?(?:is |are |were )?(?:still "
      ")?(?:left|remaining|to go|outstanding)$",
      "{general}");
  Add(rules, "PROGRESS", "\\bthe (?:others|rest|remainder) (?:is|are|works?|still|follows?|comes?)\\b");
  Add(rules, "PROGRESS", "\\b{work}s? (?:is |are |stands? |has reached |have reached )(?:at |about |around |now |only )*{amount}",
      "{general}");
  Add(rules, "PROGRESS",
      "\\b(?:completed|finished|open|remaining|pending|done|missing|not completed) "
      "(?:steps?|tasks?|items?|parts?|files?|chapters?|points?|work) ?:");
  Add(rules, "PROGRESS", "^(?:and |so )?then (?:do|we|i|it|the|run|ask|[a-z]+ the)\\b|^just \\w+(?:ed|ot|an|ote|id|ent)\\b");
  Add(rules, "PROGRESS", "^(?:i )?(?:ran|got|tried|wrote|{acted})\\b [^:]", "~{finite}");
  Add(rules, "PROGRESS", "\\b(?:not|n't|nobody|nothing|none) (?:[\\w-]+ ){0,4}?yet\\b");
  Add(rules, "PROGRESS", "^(?:[\\w'/-]+ ){1,6}(?:{acted}|passed)(?:$| (?:in|into|to|on|with|and|but|at|from)\\b|,)",
      "~{finite}|\\b(?:because|since|as|when|until|if|that|which|by|for|in (?:19|20)\\d\\d)\\b|:");
  Add(rules, "PROGRESS",
      "^(?:still |we )?(?:needs?|have|remember|don't forget|do not forget|make sure) to (?:double[- "
      "]check|check|re-?\\w+|ask|finish|fix|test|look|clean|update|merge|run|write|add|do)\\b",
      "{general}");
  Add(rules, "PROGRESS", "\\b(?:open|unresolved|pending|remaining) (?:questions?|points?|issues?|todos?|problems?) ?:");
  Add(rules, "PROGRESS",
      "\\b(?:has|have) been (?:running|waiting|pending|open|blocked|down|failing|going on|working|stuck|offline|unavailable)\\b",
      "{general}");
  Add(rules, "PROGRESS", "^(?:the |our )?{work} (?:is|are) (?:{soft})running$|\\beta\\b(?: for [^.]{1,40})?(?: is\\b| ?:|$)");
  Add(rules, "PROGRESS", "\\b(?:is|was) not (?:yet )?(?:deployed|merged|pushed|finished|started|reviewed|released)\\b", "{general}");
  Add(rules, "PROGRESS", "^(?:after|before|first|second|finally|later)\\b[^,:]{0,20}: ");
  Add(rules, "PROGRESS", "\\bresumes? (?:once|when|after|on|as soon|tomorrow|next)\\b", "{general}");
  Add(rules, "PROGRESS",
      "\\b(?:user|agent|team|assistant|we|they|he|she) (?:has|have) (?:now |already |just |not )?(?:{acted}|moved on)\\b");
  Add(rules, "PROGRESS", "\\bwe (?:finished|completed|moved on|continued|wrapped up|paused|stopped|got stuck)\\b",
      "~\\bin (?:19|20)\\d\\d\\b|\\bbecause\\b");
  Add(rules, "PROGRESS",
      "\\bcurrent (?:focus|task|step|work|problem|blocker|issue|work item|sprint|session)\\b|\\b(?:last|previous|this) session\\b",
      "{general}");
  Add(rules, "PROGRESS", "\\bno (?:open )?blockers?\\b|\\bblockers? ?:|\\b(?:continuing|resuming|carrying on) (?:with|at|from)\\b");
  Add(rules, "PROGRESS", "\\b(?:pass|passes|works|done|green|finished|complete|ready) (?:except|apart from|but for)\\b");
  Add(rules, "PROGRESS",
      "\\b(?:is|are|am|was|'m|'re) at (?:lesson|line|step|page|chapter|item|row|part|stage|phase|table) \\d+|\\bgot as far "
      "as\\b|\\bstarted (?:learning|working|reading|writing|looking)\\b");
  Add(rules, "PROGRESS", "\\bso far\\b");
}

void AddShortValidity(Rules& rules) {
  Add(rules, "SHORT_LIVED", "\\b(?:today|tonight|tomorrow|yesterday)(?:$|[^'\\w])");
  Add(rules, "SHORT_LIVED", "\\bthis (?:morning|afternoon|evening|week|weekend|sprint|minute|hour|moment)\\b");
  Add(rules, "SHORT_LIVED",
      "\\b(?:right now|just now|for now|by now|as of now|at the moment|for the moment|for the time being|currently|at present|presently|"
      "temporarily|momentarily|a moment ago|last night|later today|earlier today|until further notice|asap|eod|so far|nowadays only)\\b");
  Add(rules, "SHORT_LIVED",
      "\\b(?:for|in|within|during) the (?:next|last|coming) (?:few |\\d+ |two |three )?(?:minutes?|hours?)\\b|\\bsince "
      "(?:yesterday|noon|midnight|an hour|this)\\b",
      "{general}");
  Add(rules, "SHORT_LIVED", "\\bas of (?:today|this|noon|midnight|\\d{1,2}[:.h]\\d{2}|\\d{4}-\\d{2}-\\d{2}[t ]\\d)");
  Add(rules, "SHORT_LIVED",
      "\\b(?:until|till|by) (?:tomorrow|tonight|noon|later|monday|tuesday|wednesday|thursday|friday|saturday|sunday|next week|end of "
      "day|\\d{1,2}:\\d{2})\\b",
      "\\b(?:every|each|always|from|on|weekly)\\b");
  Add(rules, "SHORT_LIVED",
      "\\b(?:\\d+|an?|one|two|three|five|ten|fifteen|twenty|thirty|few|some|several) (?:seconds?|minutes?|mins?|hours?) ago\\b");
  Add(rules, "SHORT_LIVED",
      "\\b(?:is|are|will be|will|back|again|done|ready|starts|ends) (?:[\\w-]+ ){0,2}?in (?:\\d+|an?|one|two|three|five|ten|a few|some) "
      "(?:minutes?|mins?|hours?)$",
      "{general}");
}

// The sentence up to two words behind `end`.
re2::StringPiece UpTo(re2::StringPiece sentence, std::size_t end) {
  for (int words = 0; words < 3 && end < sentence.size(); ++end) words += sentence[end] == ' ';
  return sentence.substr(0, end);
}

std::optional<Phrase> FirstOf(const Rules& rules, std::string_view sentence) {
  const re2::StringPiece text(sentence.data(), sentence.size());
  for (const Rule& rule : rules) {
    re2::StringPiece words;
    if (!rule.pattern.Match(text, 0, text.size(), RE2::UNANCHORED, &words, 1)) continue;
    const auto before = rule.anywhere ? text : UpTo(text, std::size_t(words.data() - text.data()) + words.size());
    if (rule.unless && RE2::PartialMatch(before, *rule.unless)) continue;
    return Phrase{rule.reason, std::string(words)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Phrase> FindWorkPhrase(std::string_view sentence) {
  static const Rules* const rules = [] {
    auto* all = new Rules;
    AddStatus(*all);
    AddProgress(*all);
    return all;
  }();
  return FirstOf(*rules, sentence);
}

std::optional<Phrase> FindShortValidity(std::string_view sentence) {
  static const Rules* const rules = [] {
    auto* all = new Rules;
    AddShortValidity(*all);
    return all;
  }();
  return FirstOf(*rules, sentence);
}

}  // namespace acl::memory
