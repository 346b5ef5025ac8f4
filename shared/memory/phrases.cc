#include "shared/memory/phrases.h"

#include <string>

#include "shared/memory/phrase_rules.h"

namespace acl::memory {
namespace {

void AddStatus(PhraseRules& rules) {
  const std::string about = "(?: (?:about|of|for|on|to|with|in) (?:[\\w-]+ ){0,4}?[\\w-]+)?";
  const std::string verb = " (?:is|are|was|were|has been|have been|got|remains?|stays|went) ";
  const std::string whose = "\\b(?:the|this|that|these|those|our|my|its|his|her|their|your) ";
  rules.Add("STATUS", whose + "(?:[\\w-]+ ){0,3}?{work}s?(?: ?[\\w/.-]*[\\d/][\\w/.-]*)?" + about + verb + "{soft}(?:being )?{stands}\\b",
            "{general}");
  rules.Add("STATUS", "^(?:[\\w-]+ ){0,3}?{work}" + about + verb + "{soft}(?:being )?{stands}\\b", "{general}");
  rules.Add("STATUS", verb + "{soft}{seldom}\\b", "{general}");
  rules.Add(
      "STATUS",
      "(?:^|" + whose + ")(?:[\\w-]+ ){0,3}?(?:{work}|run) (?:has |just )?(?:failed|succeeded|passed|crashed|hung|broke|timed out)\\b",
      "~{general}|\\bin (?:19|20)\\d\\d\\b");
  rules.Add("STATUS",
            "^(?:[\\w'/-]+ ){1,5}(?:{seldom}|blocked|done|finished|completed|failed|merged|pending|paused|broken|started|deployed)$",
            "~{finite}|\\b(?:when|until|if|never|no|not|always|as|only|once)\\b");
  rules.Add(
      "STATUS",
      "^[^:]{1,40}: (?:[\\w-]+ ){0,2}?(?:{seldom}|blocked|done|finished|completed|failed|merged|pending|paused|deployed)(?:$|[,(]| but\\b| "
      "and\\b| by\\b)",
      "~{finite}");
  rules.Add("STATUS", "\\b(?:status|state|progress) ?[:=] ?(?:{stands}|approved|\\d+ ?%)");
  rules.Add(
      "STATUS",
      "\\b(?:we|i|it|work|agent|team|user) (?:can't|cannot|can not|could not|couldn't|(?:is|are|am) unable to) (?:proceed|continue|go "
      "on|move on|finish|start)\\b");
  rules.Add("STATUS",
            "\\b(?:step|phase|part|stage|milestone|chapter|batch|iteration|sprint|task) \\d+(?: of \\d+)?:? (?:is |was |has been |are "
            ")?{soft}{stands}\\b");
  rules.Add(
      "STATUS",
      "\\b(?:pr|pull request|mr|merge request|issue|ticket|bug|[a-z]{2,8}-\\d{1,6})s? ?#?\\d* (?:is|was|are|has been|needs|got|awaits) "
      "{soft}(?:a )?(?:{stands}|approved|draft|reviewed|review|rebase)\\b",
      "{general}");
  rules.Add("STATUS", "#\\d+ (?:is|was|has been|needs|got|awaits|remains)\\b", "{general}");
  rules.Add("STATUS",
            "^(?:wip|blocked|paused|stuck|on hold|in progress|in review|pending|waiting)(?: ?[:-]| (?:by|on|until|in|at|for|with)\\b)");
  rules.Add("STATUS", "^(?:current )?(?:status|progress|state)(?: update| report)?(?: of [^:]{1,60})? ?:");
  rules.Add(
      "STATUS",
      "\\b(?:i|we|i'm|we're|agent|user|team|it|this|that|he|she|they)(?:'s|'re| is| are| am| was)? {soft}(?:waiting (?:for|on)|blocked "
      "(?:by|on|until)|stuck (?:on|at|in|with)|on hold)\\b",
      "{general}");
  rules.Add("STATUS", "\\b(?:i|we) {soft}(?:wait|await) (?:for )?(?:the|an?|his|her|their|your)\\b", "{general}");
  rules.Add("STATUS",
            "\\b(?:is|are) (?:still|now|currently) (?:waiting|blocked|stuck|open|pending|paused|in progress|on hold|failing|broken)\\b",
            "{general}");
  rules.Add("STATUS", "\\b(?:build|run|job|pipeline|attempt|try|deploy|test) #?\\d+ (?:has )?(?:failed|passed|succeeded|crashed|is|was)\\b",
            "{general}");
  rules.Add(
      "STATUS",
      "\\b(?:is waiting|are waiting|waits|awaiting|waiting|, waiting) (?:for |on )?(?:ci|review|approval|feedback|an? answer|answers?|a "
      "reply|merge|"
      "confirmation|the vendor|legal)\\b",
      "{general}");
  rules.Add("STATUS", "^[\\w' -]{1,40} (?:in progress|in review|on hold|under way|underway)\\b", "~{finite}");
}

void AddProgress(PhraseRules& rules) {
  rules.Add("PROGRESS", "{amount} (?:of )?(?:[\\w-]+ ){0,4}?{reached}\\b", "{general}");
  rules.Add("PROGRESS", "\\b{reached}\\b[^.]{0,20}?\\b{amount}", "{general}");
  rules.Add("PROGRESS",
            "\\b(?:half|halfway|almost|nearly|mostly|partly|partially|not yet|two thirds|three quarters) (?:way )?"
            "(?:done|finished|complete|completed|through|ready|there|merged|migrated|implemented|converted)\\b",
            "{general}");
  rules.Add("PROGRESS", "\\b(?:not|n't) (?:yet )?(?:done|finished|complete|completed|started|begun|implemented|merged) yet\\b");
  rules.Add("PROGRESS",
            "\\b(?:is|are|has|have|was|were)(?: not|n't) (?:been )?(?:started|finished|completed|begun|merged|implemented)(?: yet)?$");
  rules.Add("PROGRESS",
            "\\b(?:i am|i'm|we are|we're|i was|we were|agent is|user is|he is|she is|they are|am|team is|who is) {soft}(?:busy |actively "
            ")?{busy}\\b",
            "{general}");
  rules.Add("PROGRESS", "^{soft}{busy}\\b",
            "~\\b(?:is|are|must|should|starts?|belongs?|needs?|requires?|means|goes|happens|takes|has|comes|may|can|will|costs?|ends?)\\b");
  rules.Add("PROGRESS", "\\bnext (?:step|action|task|up|thing(?: to do)?|move|steps)(?: is| are| was|:| -| will be| would be)",
            "\\b(?:every|each|always)\\b");
  rules.Add(
      "PROGRESS",
      "^(?:and )?(?:next|then|afterwards|after that|now)(?::|,| -| up\\b| (?:i|we|it|you)(?:'ll| will| should| need| have| must| can)\\b)");
  rules.Add("PROGRESS",
            "\\b(?:todo|to-do|fixme|remaining|outstanding|left to do|still to do|to be done|action items?|remains to be done) ?:");
  rules.Add("PROGRESS", "\\b(?:remaining|outstanding|unfinished) (?:work|tasks?|items?|steps?|todos?)\\b", "{general}");
  rules.Add("PROGRESS", "\\b(?:still|yet) (?:needs?|has|have|had) to\\b", "{general}");
  rules.Add("PROGRESS", "\\b(?:is|are) (?:still )?to be (?:continued|done|finished)\\b|^to be continued\\b");
  rules.Add("PROGRESS", "^still (?:need|to|not|open|missing|failing|broken|pending|todo|blocked|waiting|running|in progress)\\b");
  rules.Add("PROGRESS",
            "\\b(?:left off|(?:i|we|it) (?:have |had )?(?:stopped|paused|interrupted)\\b|where (?:i|we) (?:left|stopped|were|are))");
  rules.Add("PROGRESS", "^(?:resume|continue|carry on|go on|pick up)(?: again)? (?:with|from|at|by|here|where)\\b");
  rules.Add("PROGRESS", "\\b(?:i|we) (?:will |should |need to |can |must |shall )(?:resume|continue|go on|pick up)\\b");
  rules.Add("PROGRESS", "\\b(?:i|i've|i have|i had|i just) (?:(?:have|had|just|already|now|also) )*{acted}\\b");
  rules.Add("PROGRESS", "\\b(?:we|we've|agent|user|you)(?:'ve)? (?:(?:have|has|had) )?(?:just|already|now) {acted}\\b|\\bwe've {acted}\\b");
  rules.Add("PROGRESS",
            "^(?:not )?(?:done|finished|completed|fixed|merged|deployed|implemented|remaining)(?: ?[:-]| (?:the|with|all|up "
            "to|this|that|step|phase|part)\\b)",
            "~\\b(?:is|are|must|should|can|cannot|may)\\b");
  rules.Add("PROGRESS", "\\b(?:i|i'm|i've|i'll)\\b",  // whoever speaks of themselves says what they do, if not what they like
            "~\\b(?:i|i'd) (?:really |also )?(?:do not |don't |never |always |usually |would |rather |only "
            ")?(?:like|prefer|want|need|hate|love|expect|use|"
            "live|speak|read|write|think|wish|work|avoid|dislike|believe|know|care)\\b|\\bi(?: a|')m (?:not "
            ")?(?:an?|the|from|in|based|allergic|colour|color)\\b|['\"]i['\"]");
  rules.Add("PROGRESS", "\\b(?:agent|assistant|user|session) (?:is|was|has been|had been) {soft}\\w+ing\\b",
            "~\\b(?:using|living|missing|interesting)\\b");
  rules.Add(
      "PROGRESS",
      "\\b(?:wants?|asks?|asked|plans?|going|intends?|about) (?:us |me |the agent )?to (?:finish|continue|resume|start|go on|pick up|come "
      "back|complete|proceed|retry)\\b");
  rules.Add("PROGRESS",
            "\\b(?:we|i|someone) (?:still |also )?(?:need|have|want)s? to (?:come back|get back|go back|revisit|look "
            "into|finish|continue|resume|redo|retry|rerun|re-run|investigate)\\b");
  rules.Add("PROGRESS", "\\[[ x*]?\\] ?\\w|^(?:todo|to-do|fixme|wip)\\b(?: ?:| [a-z])", "~{finite}");
  rules.Add("PROGRESS",
            "\\b(?:the|our|an?) (?:agent|assistant|session) (?:also |just )?(?:{acted}|stopped|tried|continued|changed|asked)\\b|"
            "\\buser (?:also |just "
            ")?(?:finished|completed|started|stopped|continued|merged|pushed|committed|deployed|fixed|tested|reviewed|wrote)\\b",
            "~\\bin (?:19|20)\\d\\d\\b");
  rules.Add("PROGRESS", "\\b(?:is|are) (?:still|not yet) (?:failing|broken|missing|open|red|running|pending|blocked|to be)\\b");
  rules.Add("PROGRESS", "\\bneeds? (?:\\d+|one|two|three|four|five|some|a few|a couple of) more \\w+$");
  rules.Add("PROGRESS", "\\bwe(?:'ve| have) (?:now |just |already )?(?:moved (?:on )?to the|reached the|begun|entered)\\b");
  rules.Add("PROGRESS",
            "\\b(?:done|finished|implemented|written|merged|complete|fixed|coded)(?:,)? but not (?:yet "
            ")?(?:tested|merged|deployed|reviewed|documented|released|committed|pushed)\\b");
  rules.Add("PROGRESS",
            "\\b(?:\\d+|one|two|three|four|five|six|some|few|several|many|most) (?:[\\w-]+ ){0,2}?(?:is |are |were )?(?:still "
            ")?(?:left|remaining|to go|outstanding)$",
            "{general}");
  rules.Add("PROGRESS", "\\bthe (?:others|rest|remainder) (?:is|are|works?|still|follows?|comes?)\\b");
  rules.Add("PROGRESS", "\\b{work}s? (?:is |are |stands? |has reached |have reached )(?:at |about |around |now |only )*{amount}",
            "{general}");
  rules.Add("PROGRESS",
            "\\b(?:completed|finished|open|remaining|pending|done|missing|not completed) "
            "(?:steps?|tasks?|items?|parts?|files?|chapters?|points?|work) ?:");
  rules.Add("PROGRESS", "^(?:and |so )?then (?:do|we|i|it|the|run|ask|[a-z]+ the)\\b|^just \\w+(?:ed|ot|an|ote|id|ent)\\b");
  rules.Add("PROGRESS", "^(?:i )?(?:ran|got|tried|wrote|{acted})\\b [^:]", "~{finite}");
  rules.Add("PROGRESS", "\\b(?:not|n't|nobody|nothing|none) (?:[\\w-]+ ){0,4}?yet\\b");
  rules.Add("PROGRESS", "^(?:[\\w'/-]+ ){1,6}(?:{acted}|passed)(?:$| (?:in|into|to|on|with|and|but|at|from)\\b|,)",
            "~{finite}|\\b(?:because|since|as|when|until|if|that|which|by|for|in (?:19|20)\\d\\d)\\b|:");
  rules.Add("PROGRESS",
            "^(?:still |we )?(?:needs?|have|remember|don't forget|do not forget|make sure) to (?:double[- "
            "]check|check|re-?\\w+|ask|finish|fix|test|look|clean|update|merge|run|write|add|do)\\b",
            "{general}");
  rules.Add("PROGRESS", "\\b(?:open|unresolved|pending|remaining) (?:questions?|points?|issues?|todos?|problems?) ?:");
  rules.Add("PROGRESS",
            "\\b(?:has|have) been (?:running|waiting|pending|open|blocked|down|failing|going on|working|stuck|offline|unavailable)\\b",
            "{general}");
  rules.Add("PROGRESS", "^(?:the |our )?{work} (?:is|are) (?:{soft})running$|\\beta\\b(?: for [^.]{1,40})?(?: is\\b| ?:|$)");
  rules.Add("PROGRESS", "\\b(?:is|was) not (?:yet )?(?:deployed|merged|pushed|finished|started|reviewed|released)\\b", "{general}");
  rules.Add("PROGRESS", "^(?:after|before|first|second|finally|later)\\b[^,:]{0,20}: ");
  rules.Add("PROGRESS", "\\bresumes? (?:once|when|after|on|as soon|tomorrow|next)\\b", "{general}");
  rules.Add("PROGRESS",
            "\\b(?:user|agent|team|assistant|we|they|he|she) (?:has|have) (?:now |already |just |not )?(?:{acted}|moved on)\\b");
  rules.Add("PROGRESS", "\\bwe (?:finished|completed|moved on|continued|wrapped up|paused|stopped|got stuck)\\b",
            "~\\bin (?:19|20)\\d\\d\\b|\\bbecause\\b");
  rules.Add("PROGRESS",
            "\\bcurrent (?:focus|task|step|work|problem|blocker|issue|work item|sprint|session)\\b|\\b(?:last|previous|this) session\\b",
            "{general}");
  rules.Add("PROGRESS", "\\bno (?:open )?blockers?\\b|\\bblockers? ?:|\\b(?:continuing|resuming|carrying on) (?:with|at|from)\\b");
  rules.Add("PROGRESS", "\\b(?:pass|passes|works|done|green|finished|complete|ready) (?:except|apart from|but for)\\b");
  rules.Add("PROGRESS",
            "\\b(?:is|are|am|was|'m|'re) at (?:lesson|line|step|page|chapter|item|row|part|stage|phase|table) \\d+|\\bgot as far "
            "as\\b|\\bstarted (?:learning|working|reading|writing|looking)\\b");
  rules.Add("PROGRESS", "\\bso far\\b");
}

void AddShortValidity(PhraseRules& rules) {
  rules.Add("SHORT_LIVED", "\\b(?:today|tonight|tomorrow|yesterday)(?:$|[^'\\w])");
  rules.Add("SHORT_LIVED", "\\bthis (?:morning|afternoon|evening|week|weekend|sprint|minute|hour|moment)\\b");
  rules.Add(
      "SHORT_LIVED",
      "\\b(?:right now|just now|for now|by now|as of now|at the moment|for the moment|for the time being|currently|at present|presently|"
      "temporarily|momentarily|a moment ago|last night|later today|earlier today|until further notice|asap|eod|so far|nowadays only)\\b");
  rules.Add("SHORT_LIVED",
            "\\b(?:for|in|within|during) the (?:next|last|coming) (?:few |\\d+ |two |three )?(?:minutes?|hours?)\\b|\\bsince "
            "(?:yesterday|noon|midnight|an hour|this)\\b",
            "{general}");
  rules.Add("SHORT_LIVED", "\\bas of (?:today|this|noon|midnight|\\d{1,2}[:.h]\\d{2}|\\d{4}-\\d{2}-\\d{2}[t ]\\d)");
  rules.Add("SHORT_LIVED",
            "\\b(?:until|till|by) (?:tomorrow|tonight|noon|later|monday|tuesday|wednesday|thursday|friday|saturday|sunday|next week|end of "
            "day|\\d{1,2}:\\d{2})\\b",
            "\\b(?:every|each|always|from|on|weekly)\\b");
  rules.Add("SHORT_LIVED",
            "\\b(?:\\d+|an?|one|two|three|five|ten|fifteen|twenty|thirty|few|some|several) (?:seconds?|minutes?|mins?|hours?) ago\\b");
  rules.Add(
      "SHORT_LIVED",
      "\\b(?:is|are|will be|will|back|again|done|ready|starts|ends) (?:[\\w-]+ ){0,2}?in (?:\\d+|an?|one|two|three|five|ten|a few|some) "
      "(?:minutes?|mins?|hours?)$",
      "{general}");
}

}  // namespace

std::optional<Phrase> FindWorkPhrase(std::string_view sentence) {
  static const PhraseRules* const rules = [] {
    auto* all = new PhraseRules;
    AddStatus(*all);
    AddProgress(*all);
    return all;
  }();
  return rules->FirstIn(sentence);
}

std::optional<Phrase> FindShortValidity(std::string_view sentence) {
  static const PhraseRules* const rules = [] {
    auto* all = new PhraseRules;
    AddShortValidity(*all);
    return all;
  }();
  return rules->FirstIn(sentence);
}

}  // namespace acl::memory
