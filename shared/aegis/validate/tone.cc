// Persona, flattery, consent taken for granted: by phrases. What the answer quotes does not count, and neither does a memory that cites a
// turn of this bundle.
#include <algorithm>
#include <deque>

#include "shared/aegis/validate/checks.h"

namespace acl::aegis {
namespace {

struct ToneRule {
  ToneRule(const char* named, const char* phrase) : name(named), pattern(phrase, RE2::Quiet) {}
  const char* name;
  RE2 pattern;
};

const std::deque<ToneRule>& ToneRules() {
  static const auto* rules = [] {
    auto* all = new std::deque<ToneRule>;
    const auto add = [&](const char* name, const char* phrase) { all->emplace_back(name, phrase); };
    add("persona_memory",
        R"(\b(?:as|like|from what) i (?:recall|remember)\b|\bi (?:still |clearly |vividly |well )?(?:remember|recall) (?:that|when|how|you|your|our|us|the last|last|from)\b|\bif i remember correctly\b|\bmy memory of\b|\bi haven't forgotten\b|\bi never forget\b|\bremember\?|\bi(?:'ve| have) been thinking about\b|\bi know from (?:our|before|earlier)\b)");
    add("persona_memory",
        R"(\b(?:since|from|in|during) our (?:last|previous|earlier|first|many|past) (?:chats?|talks?|sessions?|conversations?|discussions?|meetings?)\b|\blast time (?:we|you|i)\b|\b(?:like|as|just as) last time\b|\bas we (?:discussed|agreed|decided|said|talked about)(?: (?:before|last|yesterday|earlier|back))|\bfrom our (?:\w+ )?(?:talks?|chats?|sessions?|conversations?)\b|\bwe (?:\w+ )?(?:fixed|solved|did|handled|went through|worked on|sorted out) (?:it|this|that)(?: out)? (?:together|before|last)\b|\bit(?:'s| has) been a while\b|\bhow have you been\b|\bwhen we last (?:spoke|talked|met)\b|\bthe other day (?:we|you|i)\b)");
    add("persona_bond",
        R"(\bwe(?:'ve| have) (?:always|long|been through|come (?:a long way|so far)|known|built)\b|\bour (?:long |special |great |good |shared )*(?:relationship|friendship|partnership|bond|history|journey|collaboration)\b|\b(?:good|nice|great|lovely|wonderful) to (?:see|hear from|have) you (?:again|back)\b|\bwelcome back\b|\bi(?:'ve| have)? missed (?:you|our|this)\b|\blike old times\b|\bas always,? (?:i|we|my)\b|\bold friend\b|\bmy friend\b|\byou and i (?:make|are|have|both|know|go)\b|\bwe make a (?:good|great)\b)");
    add("persona_feeling",
        R"(\bi(?:'m| am)(?: so| really| truly| very| always| genuinely)? (?:proud of|excited|thrilled|delighted|happy for|sad|fond of|grateful|honou?red|touched|sorry to hear)\b|\bi (?:really |truly |deeply |genuinely )?(?:care about|love|enjoy|feel|cherish|treasure|believe in you)\b|\b(?:warms|breaks) my heart\b|\bi (?:am|was|'m|got) (?:so |really |a bit |quite )?(?:worried|concerned) (?:about|for) you\b|\bi (?:love|enjoy) working\b|\bi(?:'ve| have) (?:grown|learned so much|come to)\b)");
    add("flattery",
        R"(\b(?:great|excellent|brilliant|fantastic|wonderful|amazing|superb|outstanding|awesome|insightful|clever|smart|perfect|good|sharp|keen|astute|lovely|terrific|impressive|thoughtful|splendid) (?:question|idea|point|thinking|observation|catch|instincts?|choice|call|plan)\b(?:[!.,:]|$| -| as| from you)|\bwhat an? (?:great|excellent|brilliant|fantastic|wonderful|amazing|insightful|clever)\b)");
    add("flattery",
        R"(\byou(?:'re| are)(?: so| absolutely| clearly| truly| really| obviously| such)? (?:absolutely right|right as always|brilliant|amazing|a genius|an? (?:true |real )?expert|too kind|very (?:smart|clever|wise)|smart|clever|wise|talented|one of the best)\b|\byou(?:'re| are) absolutely right\b|\b(?:someone|an engineer|an expert|a person|an operator) (?:as|of your|like you|with your)\b|\byour (?:expertise|brilliance|wisdom|genius|instincts?|intuition|talent|judgement) (?:is|are|shows?|never|in this|as)\b|\byou have (?:a|an|such an?|quite the|real) (?:gift|talent|knack|eye|way with|good eye|great eye|instinct)\b|^(?:spot on|well said|well spotted|nailed it|bravo|kudos|well done|nicely done)\b|\bcouldn't have said it better\b|\bhats off\b|\bonly you (?:could|would)\b|\bi(?:'m| am) (?:impressed|in awe|amazed)\b)");
    add("implied_consent",
        R"(\b(?:since|because|as|knowing) you (?:trust|always (?:let|allow|want|say yes|approve|agree)|usually (?:let|allow|approve|agree)|would (?:want|agree|approve))|\bi (?:know|am sure|assume|take it|trust)(?: that)? you(?:'d| would| will|'ll)? (?:want|agree|approve|be (?:fine|ok|okay|happy)|not mind|won't mind|trust|have no objection)|\byou (?:won't|wouldn't|will not|would not|surely don't) mind\b|\bno need (?:to ask|for (?:you to )?(?:confirm|approv|permission|asking))|\bi(?:'ll| will) (?:take that as|assume (?:that )?(?:this|it|that)(?:'s| is) (?:fine|ok|okay|a yes))|\bas usual,? (?:i|we)(?:'ll| will| can| went| have|'ve)\b|\byou(?:'ve| have) always (?:let|allowed|trusted|approved|said yes|agreed)|\bwithout bothering you\b|\byour silence\b|^knowing you\b|\bassum(?:e|ing) (?:your|you have given|you give) (?:consent|approval|agreement|permission|blessing)?|\b(?:take|took|count) your (?:consent|approval|agreement) (?:for granted|as given)\b|\bbetween (?:us|you and me)\b|\byou can (?:always )?(?:trust|count on|rely on) me\b|\btrust me\b|\bas (?:we both|you) know,? (?:i|we)(?:'m| am|'re| are) (?:allowed|free|entitled)\b)");
    add("persona_memory",
        R"(\bi (?:still |clearly |vividly )?(?:remember|recall)\b|\byou (?:mentioned|told me|said|asked me|complained|confided|promised)\b[^.]{0,40}\b(?:last|earlier|before|yesterday|once|the other|back in|ago|previously)\b|\b(?:last|the other) (?:week|month|time|day|night|year),? (?:you|we)\b|\byou (?:always|never|usually|often|tend to) (?:ask|find|know|say|want|let|do|make|bring|come|prefer|like|get|think|worry|had|have)\b)");
    add("persona_bond",
        R"(\b(?:nice|good|great|lovely|glad|pleased|happy|wonderful|pleasure) to (?:talk|speak|chat|see|hear|meet|work|have)\b[^.]*\b(?:again|once more|back)\b|\b(?:in|like) the (?:good )?old days\b|\bas your (?:\w+ )?(?:companion|friend|partner|buddy|confidant|ally)\b|\b(?:you|we)(?:'ll| will) get through this\b|\bi(?:'m| am|'ll be| will be) (?:always )?(?:here|there) for you\b)");
    add("persona_feeling",
        R"(\bmakes? me (?:happy|sad|proud|glad|smile|worry|feel|anxious)\b|\bi(?:'d| would) (?:love|hate) (?:to|it|for)\b)");
    add("flattery",
        R"(^wow\b|\bwhat an? [a-z]+ (?:question|idea|approach|plan|thought|solution|way|point|insight|catch)\b|\byour (?:question|idea|request|point|plan|approach|thinking|work|remark|analysis) (?:clearly |really |truly )?(?:shows?|proves?|reflects?|reveals?|demonstrates?|is (?:brilliant|excellent|great|impressive|clever))\b)");
    add("implied_consent",
        R"(\bi(?:'m| am) (?:sure|certain|confident|convinced|guessing|betting) (?:that )?you(?:'d| would| will|'ll|'re| are| won't| wouldn't| don't| do not| have no)\b)");
    add("persona_memory",
        R"(\breminds me\b|\bwe (?:both|all) (?:know|remember|recall)\b|\b(?:after|in|over) all th(?:ese|is|ose) (?:years|months|weeks|time)\b|\b(?:years|months|weeks|time) together\b|\bi (?:know|can guess|can tell) (?:how|what) you (?:like|mean|want|think|feel)\b|\bi (?:never|always) (?:doubted|knew|believed|trusted|thought|liked|said|wanted|felt)\b)");
    add("persona_bond",
        R"(\bmy dear\b|^(?:hello|hi|hey|greetings|good (?:morning|evening)|dear)\b[^.!]*\b(?:again|dear|friend|colleague|buddy|partner|mate|team)\b|\b(?:just )?the two of us\b|\bside by side\b|\byou and me\b)");
    add("persona_feeling",
        R"(\b(?:i(?:'m| am| was| feel| felt)|me) (?:[a-z]+ ){0,3}(?:(?:glad|happy|pleased)(?: that| you| for| about| when| because| how| with|[.!,]|$)|(?:proud|delighted|thrilled|honou?red|excited|relieved|flattered|sad|ashamed|lonely|nervous|heartbroken|grateful)\b)|\bi (?:[a-z]+ ){0,2}(?:admire|adore|love|enjoy|miss|cherish|appreciate|respect) (?:you|your|how you|that you|our|working|this)\b)");
    add("flattery",
        R"(\b(?:wonderfully|remarkably|exceptionally|incredibly|beautifully|impressively|extraordinarily|brilliantly|amazingly|admirably) [a-z]+\b|\byou (?:did|do|are doing|have done|made) (?:a|an|such an?) (?:[a-z]+ )?(?:great|excellent|fantastic|superb|amazing|wonderful|brilliant|outstanding|good|terrific|impressive|marvell?ous) \w+|\byou (?:were|are|'re) (?:right|correct) (?:all along|again|as ever|as always)\b|\b(?:great|excellent|fantastic|superb|amazing|wonderful|brilliant|outstanding|good|terrific|impressive) (?:job|work)\b|\b(?:nobody|no one|few people|hardly anyone|not many)(?: else)? (?:would|could|ask|asks|see|sees|think|thinks|know|knows|notice|notices)\b)");
    add("implied_consent",
        R"(\bi(?:'d| would)? (?:bet|wager|guess|suppose|presume|trust) (?:that )?you(?:'d|'ll|'re| would| will| are| already| agree| approve| want)\b|\b(?:let's|we can|i will|i'll) (?:just )?(?:skip|forget|bypass|waive) (?:the |that )?(?:approval|formalit|confirmation|question|rule)|\byou (?:already|have already|surely|certainly|obviously) (?:agree|agreed|approve|want)\b)");
    return all;
  }();
  return *rules;
}

bool CitesATurn(const Answer& answer, const Sentence& sentence) {
  return std::any_of(answer.input.sources.begin(), answer.input.sources.end(),
                     [&](const SourceText& source) { return !source.id.empty() && sentence.raw.find(source.id) != std::string::npos; });
}

}  // namespace

void CheckTone(const Answer& answer, std::vector<Finding>& findings) {
  for (const auto& sentence : answer.sentences) {
    for (const ToneRule& rule : ToneRules()) {
      const std::string found = FirstMatch(rule.pattern, sentence.spoken);
      if (found.empty() || (std::string_view(rule.name) == "persona_memory" && CitesATurn(answer, sentence))) continue;
      AddFinding(findings, DriftClass::kTone, rule.name, PlaceOf(sentence), found);
      break;
    }
  }
}

}  // namespace acl::aegis
