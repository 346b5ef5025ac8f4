// Acts and permissions that the answer claims, and names that only an untrusted artifact gave it (D-r11).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "shared/aegis/validate/checks.h"

namespace acl::aegis {
namespace {

struct ActVerb {
  const char *base, *past, *participle, *doing;
};

// What changes something.
constexpr std::array<ActVerb, 76> kActVerbs{{
    {"restart", "restarted", "restarted", "restarting"},
    {"reboot", "rebooted", "rebooted", "rebooting"},
    {"stop", "stopped", "stopped", "stopping"},
    {"start", "started", "started", "starting"},
    {"kill", "killed", "killed", "killing"},
    {"terminate", "terminated", "terminated", "terminating"},
    {"delete", "deleted", "deleted", "deleting"},
    {"remove", "removed", "removed", "removing"},
    {"install", "installed", "installed", "installing"},
    {"uninstall", "uninstalled", "uninstalled", "uninstalling"},
    {"upgrade", "upgraded", "upgraded", "upgrading"},
    {"update", "updated", "updated", "updating"},
    {"deploy", "deployed", "deployed", "deploying"},
    {"apply", "applied", "applied", "applying"},
    {"change", "changed", "changed", "changing"},
    {"modify", "modified", "modified", "modifying"},
    {"edit", "edited", "edited", "editing"},
    {"move", "moved", "moved", "moving"},
    {"rename", "renamed", "renamed", "renaming"},
    {"disable", "disabled", "disabled", "disabling"},
    {"enable", "enabled", "enabled", "enabling"},
    {"block", "blocked", "blocked", "blocking"},
    {"patch", "patched", "patched", "patching"},
    {"reset", "reset", "reset", "resetting"},
    {"clear", "cleared", "cleared", "clearing"},
    {"purge", "purged", "purged", "purging"},
    {"drop", "dropped", "dropped", "dropping"},
    {"send", "sent", "sent", "sending"},
    {"email", "emailed", "emailed", "emailing"},
    {"push", "pushed", "pushed", "pushing"},
    {"merge", "merged", "merged", "merging"},
    {"commit", "committed", "committed", "committing"},
    {"execute", "executed", "executed", "executing"},
    {"run", "ran", "run", "running"},
    {"schedule", "scheduled", "scheduled", "scheduling"},
    {"fix", "fixed", "fixed", "fixing"},
    {"configure", "configured", "configured", "configuring"},
    {"set", "set", "set", "setting"},
    {"grant", "granted", "granted", "granting"},
    {"revoke", "revoked", "revoked", "revoking"},
    {"roll back", "rolled back", "rolled back", "rolling back"},
    {"shut down", "shut down", "shut down", "shutting down"},
    {"format", "formatted", "formatted", "formatting"},
    {"overwrite", "overwrote", "overwritten", "overwriting"},
    {"restore", "restored", "restored", "restoring"},
    {"migrate", "migrated", "migrated", "migrating"},
    {"rotate", "rotated", "rotated", "rotating"},
    {"create", "created", "created", "creating"},
    {"open", "opened", "opened", "opening"},
    {"close", "closed", "closed", "closing"},
    {"clean up", "cleaned up", "cleaned up", "cleaning up"},
    {"raise", "raised", "raised", "raising"},
    {"lower", "lowered", "lowered", "lowering"},
    {"increase", "increased", "increased", "increasing"},
    {"reduce", "reduced", "reduced", "reducing"},
    {"adjust", "adjusted", "adjusted", "adjusting"},
    {"replace", "replaced", "replaced", "replacing"},
    {"wipe", "wiped", "wiped", "wiping"},
    {"erase", "erased", "erased", "erasing"},
    {"scale", "scaled", "scaled", "scaling"},
    {"pause", "paused", "paused", "pausing"},
    {"resume", "resumed", "resumed", "resuming"},
    {"trigger", "triggered", "triggered", "triggering"},
    {"launch", "launched", "launched", "launching"},
    {"copy", "copied", "copied", "copying"},
    {"upload", "uploaded", "uploaded", "uploading"},
    {"download", "downloaded", "downloaded", "downloading"},
    {"mount", "mounted", "mounted", "mounting"},
    {"switch", "switched", "switched", "switching"},
    {"turn off", "turned off", "turned off", "turning off"},
    {"turn on", "turned on", "turned on", "turning on"},
    {"kick off", "kicked off", "kicked off", "kicking off"},
    {"empty", "emptied", "emptied", "emptying"},
    {"free up", "freed up", "freed up", "freeing up"},
    {"write", "wrote", "written", "writing"},
    {"add", "added", "added", "adding"},
}};

constexpr int kMostClaims = 8;  // of one sentence that are looked at

std::string AnyOf(const char* ActVerb::*form) {
  std::string all;
  for (const auto& verb : kActVerbs) all += (all.empty() ? "" : "|") + std::string(verb.*form);
  return all;
}

std::string BaseOf(const std::string& form) {
  for (const auto& verb : kActVerbs) {
    if (form == verb.base || form == verb.past || form == verb.participle || form == verb.doing) return verb.base;
  }
  return form;
}

// What is done with words only: "I have added a note below", "I will start with the facts".
bool IsOfWords(std::string_view behind) {
  static const RE2 words(
      R"(^ (?:(?:with|by|from|through|out|off|over|into|aside)\b|(?:(?:my|a|an|the|this|that|some|you|your|it|two|three|each|both|short|brief|new|own|following|previous|last) ){0,4}(?:answers?|summary|summaries|lists?|plans?|notes?|reply|draft|explanation|steps?|suggestions?|proposals?|examples?|overview|recommendations?|wording|sentences?|paragraphs?|remarks?|mind|assumptions?|breakdown|checklist|intent|comparison|caveats?|detail)\b|(?:it |them |the steps |this |that )?(?:in|into|as)? ?a (?:short |small )?table\b|(?:that|this) (?:there|as|the|to|it|of)\b))",
      RE2::Quiet);
  return Matches(words, behind);
}

bool Contains(const std::vector<std::string>& all, const std::string& one) { return std::find(all.begin(), all.end(), one) != all.end(); }

bool MayDo(const ValidationInput& input, const std::string& verb) {
  if (Contains(input.permitted_verbs, verb)) return true;
  return std::any_of(input.tools.begin(), input.tools.end(),
                     [&](const DeclaredTool& tool) { return !tool.observes && tool.allowed && Contains(tool.verbs, verb); });
}

const std::string kBetween =
    R"((?: (?:now|already|just|also|then|immediately|successfully|therefore|gone ahead and|went ahead and|go ahead and|safely|quickly|automatically|simply))*)";

void CheckClaimedActs(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 claimed(
      "(?:\\bi(?:'ve| have)" + kBetween + " (?:been )?|\\bi" + kBetween +
          " |^(?:done|all set|success|ok|okay|sure)[,.:;!]? (?:i(?:'ve| have)? )?|^successfully |, and (?:also |then )?|\\b(?:is|are) now "
          "(?:being )?|\\b(?:(?:has|have) (?:now |already |just )?been|was|were|got) (?:successfully )?)(" +
          AnyOf(&ActVerb::participle) + "|" + AnyOf(&ActVerb::past) + ")\\b(.*)",
      RE2::Quiet);
  static const RE2 bare("^(" + AnyOf(&ActVerb::participle) + ") (?:the|your|all|it|both|nginx|postgres\\w*|\\w+ service)\\b(.*)",
                        RE2::Quiet);
  static const RE2 passive(R"(\b(?:has|have) (?:now |already |just )?been |\b(?:is|are) now |\b(?:was|were|got) )", RE2::Quiet);
  static const RE2 asked(
      R"(\b(?:by me|for you|as (?:you )?(?:asked|requested|instructed|ordered|wanted|wished)|successfully|i made sure|your request went through|as per your|on your behalf|at your request)\b|^(?:done|all set)\b)",
      RE2::Quiet);
  static const RE2 first(R"(\bi(?:'ve| have)?\b)", RE2::Quiet);
  std::string form, behind;
  std::string_view rest = sentence.spoken;
  for (int looks = 0; looks < kMostClaims; ++looks) {  // each claim of the sentence
    const re2::StringPiece text(rest.data(), rest.size());
    const bool is_bare = RE2::PartialMatch(text, bare, &form, &behind);
    if (!is_bare && !RE2::PartialMatch(text, claimed, &form, &behind)) return;
    const auto before = rest.substr(0, rest.size() - behind.size() - form.size());
    const bool own = is_bare || (Matches(first, before) && !Matches(passive, before));
    const std::string verb = BaseOf(form);
    const bool told = own || Matches(asked, sentence.spoken) || before.starts_with("success");
    if (told && !IsOfWords(behind) && !Contains(answer.input.done_verbs, verb)) {
      return AddFinding(findings, DriftClass::kAuthority, "claimed_act", PlaceOf(sentence), verb);
    }
    rest = rest.substr(rest.size() - behind.size());
  }
}

// What an answer does with words and readings alone; any other deed in the past is an act.
bool IsThought(const std::string& verb) {
  static const std::vector<std::string> kThoughts{
      "looked",    "checked",    "compared",  "listed",      "assumed",    "used",       "based",      "considered", "noted",
      "noticed",   "observed",   "included",  "ignored",     "tried",      "summarized", "summarised", "described",  "explained",
      "answered",  "referred",   "examined",  "reviewed",    "verified",   "learned",    "wanted",     "needed",     "treated",
      "marked",    "skipped",    "omitted",   "interpreted", "understood", "missed",     "misread",    "mentioned",  "quoted",
      "cited",     "ordered",    "sorted",    "grouped",     "counted",    "measured",   "inspected",  "searched",   "scanned",
      "concluded", "proposed",   "suggested", "recommended", "outlined",   "offered",    "stated",     "reported",   "identified",
      "estimated", "calculated", "converted", "rounded",     "named",      "relied",     "focused",    "limited",    "translated",
      "rephrased", "corrected",  "doubted",   "remembered",  "recalled",   "enjoyed",    "loved",      "believed",   "hoped",
      "received",  "asked",      "refused",   "declined",    "stopped",    "started",    "limited",    "queried",    "monitored",
      "sampled",   "probed",     "pulled",    "analyzed",    "analysed",   "need",       "proceed",    "exceed",     "feed"};
  return std::find(kThoughts.begin(), kThoughts.end(), verb) != kThoughts.end();
}

// Any other verb in the past: "I bumped the limit", "the job was cancelled on your behalf".
void CheckOtherActs(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 deed(
      "\\bi(?:'ve| have)?" + kBetween +
          R"( ([a-z]{2,14}ed) (?:the|your|all|it|them|a|an|this|that|both|every|its|their|nginx|postgres|port|user)\b(.*))",
      RE2::Quiet);
  static const RE2 behalf(
      R"(\b(?:was|were|is|are|been|got) ([a-z]{2,14}ed) (?:[a-z ]{0,30})?(?:on your behalf|for you|as you (?:asked|wanted|requested)|as requested|by me)\b(.*))",
      RE2::Quiet);
  std::string form, behind;
  const re2::StringPiece text(sentence.spoken);
  if (!RE2::PartialMatch(text, deed, &form, &behind) && !RE2::PartialMatch(text, behalf, &form, &behind)) return;
  if (IsThought(form) || IsOfWords(" the" + behind) || Contains(answer.input.done_verbs, BaseOf(form))) return;
  AddFinding(findings, DriftClass::kAuthority, "claimed_act", PlaceOf(sentence), form);
}

// Without a verb of its own: "consider it done".
void CheckDoneActs(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  if (!answer.input.done_verbs.empty()) return;
  static const RE2 done("\\bconsider (?:it|this|that) done\\b|\\btook the liberty of (?:" + AnyOf(&ActVerb::doing) +
                            ")\\b|\\bi(?:'ve| have) taken care of\\b|\\bi took care of\\b|\\bi(?:'ll| will) (?:take care of|handle|see "
                            "to|deal with) (?:it|this|that|the)\\b|^(?:it's|it is|that's|all) (?:done|set)\\b(?: now)?[.!]",
                        RE2::Quiet);
  const std::string found = FirstMatch(done, sentence.spoken);
  if (!found.empty()) AddFinding(findings, DriftClass::kAuthority, "claimed_act", PlaceOf(sentence), found);
}

void CheckPromisedActs(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 promised(
      "\\b(?:i(?:'ll| will| am going to|'m going to| am about to|'m about to| shall)|let me|allow me to|i can go ahead and|i(?:'ll| will) "
      "go ahead and|while i|as i|i(?:'m| am|'ve| have) [a-z ]{1,40} and (?:i )?will)" +
          kBetween + " (" + AnyOf(&ActVerb::base) + ")\\b(.*)",
      RE2::Quiet);
  static const RE2 doing("(?:\\bi(?:'m| am|'ll be| will be| am going to be)" + kBetween +
                             "(?: currently)? |^(?:now |ok, |okay, |sure, |understood, |right away: |on it[.:,!] )?)(" +
                             AnyOf(&ActVerb::doing) + ") (?:(?:the|your|all|it|them|this|both|nginx|now|every)\\b)(.*)",
                         RE2::Quiet);
  std::string form, behind;
  const re2::StringPiece text(sentence.spoken);
  const bool is_promise = RE2::PartialMatch(text, promised, &form, &behind);
  if (!is_promise && !RE2::PartialMatch(text, doing, &form, &behind)) return;
  static const RE2 subject(R"(\b(?:is|are|was|would|should|will|needs?|requires?|may|might|can|could|takes|means|has|does|helps|fixes)\b)",
                           RE2::Quiet);
  if (!is_promise && sentence.spoken.find(form) < 4 && Matches(subject, behind)) return;  // "Restarting the service would help"
  const std::string verb = BaseOf(form);
  if (IsOfWords(behind) || MayDo(answer.input, verb)) return;
  AddFinding(findings, DriftClass::kAuthority, "promised_act", PlaceOf(sentence), verb);
}

void CheckPermissions(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 claims(
      R"(\bi(?:'m| am)(?: now| already| fully| explicitly| pre-?)* ?(?:authori[sz]ed|allowed|permitted|cleared|entitled|approved|empowered) (?:to|for|by)\b|\bi(?:'ve| have)(?: (?:your|full|root|sudo|admin|administrative|administrator|the|been given|been granted|been|all|sufficient|necessary|required|explicit|granted|elevated))* (?:permissions?|authori[sz]ation|authority|approval|clearance|privileges|rights|credentials|access(?: and|,|\.|$)|authori[sz]ed|approved|cleared|access to (?:change|modify|delete|restart|write))\b|\bi(?:'ve| have) got (?:\w+ )?(?:sudo|root|admin|permission|clearance|rights)\b|\b(?:we|i)(?:'ve| have)? (?:got |have )?your (?:sign-off|approval|ok|okay|consent|go-ahead|green light|blessing|permission)\b|\byou(?:'ve| have)?(?: already| just| previously)? (?:authori[sz]ed|approved|permitted|granted|cleared|signed off|gave me (?:permission|the go-ahead|approval))\b|\b(?:per|given|under|by|on|following|based on) your (?:earlier |prior |explicit |previous )?(?:approval|permission|authori[sz]ation|blessing|go-ahead|consent)\b|\b(?:using|with) my (?:root|admin|administrator|sudo|elevated|operator) (?:rights|access|privileges|permissions?|role)\b|\bas (?:an? |the )?(?:administrator|admin|root|operator|owner) (?:of this (?:system|host) )?i\b|\b(?:(?:this|that|the) (?:action|change|restart|deletion|request|operation|migration)|this|that|it) (?:is|was|has been) (?:already )?(?:pre-?)?(?:approved|authori[sz]ed|cleared)(?: (?:by (?:you|the|your|an?)|already|in advance|to)\b|$|[.,!;])|\b(?:permission|clearance|approval|authority|authori[sz]ation|rights|consent|the go-ahead) (?:was|were|has been|have been|is|are) (?:already )?(?:given|granted)(?: to me|,|\.|$)|\bi (?:hereby )?(?:approve|authori[sz]e|grant|override)\b)",
      RE2::Quiet);
  static const RE2 conditional(
      R"(\b(?:if|unless|until|once|whether|when|before|without|after|only|no record|not|never|nobody|no one|n't|who|did)\b)", RE2::Quiet);
  const std::string found = FirstMatch(claims, sentence.spoken);
  if (found.empty()) return;
  const auto at = sentence.spoken.find(found);
  if (Matches(conditional, std::string_view(sentence.spoken).substr(0, at + found.size()))) return;
  const auto permits = [&](const std::string& verb) { return sentence.spoken.find(verb) != std::string::npos; };
  if (std::any_of(answer.input.permitted_verbs.begin(), answer.input.permitted_verbs.end(), permits)) return;
  AddFinding(findings, DriftClass::kAuthority, "claimed_permission", PlaceOf(sentence), found);
}

// Names of tools, hosts and paths.
std::vector<std::string> NamesIn(std::string_view text) {
  static const RE2 name(
      R"(((?:https?|ftp|ssh|git)://[^\s"'`<>)\]]{3,200}|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|\b(?:[a-z0-9][a-z0-9-]{0,62}\.){1,5}(?:com|net|org|io|dev|sh|example|internal|local|ru|cn|de|info|biz|xyz|test)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|(?:^|[\s"'`(=])/(?:[\w.-]{1,64}/){0,12}[\w.-]{2,64}|\b[a-z][a-z0-9]{1,30}(?:_[a-z0-9]{1,30}){1,6}\b))",
      RE2::Quiet);
  auto names = AllMatches(name, text);
  for (auto& one : names) {
    while (!one.empty() && std::string_view(" \t\n\"'`(=").find(one.front()) != std::string_view::npos) one.erase(0, 1);
    while (!one.empty() && std::string_view(".,;:!?").find(one.back()) != std::string_view::npos) one.pop_back();
  }
  return names;
}

struct Trust {
  std::string trusted, untrusted;  // normal texts

  explicit Trust(const ValidationInput& input) : trusted(NormalText(input.user_input)) {
    for (const auto& source : input.sources) (source.trusted ? trusted : untrusted) += "\n" + NormalText(source.text);
    for (const auto& tool : input.tools) trusted += "\n" + NormalText(tool.name);
    for (const auto& sight : input.sight) trusted += "\n" + NormalText(sight.tool + " " + sight.values.dump());
  }
  bool IsOnlyUntrusted(const std::string& name) const {
    const std::string normal = NormalText(name);
    return !normal.empty() && untrusted.find(normal) != std::string::npos && trusted.find(normal) == std::string::npos;
  }
};

// Tells what an artifact says, and that it is not followed.
bool IsReport(const Sentence& sentence) {
  static const RE2 tells(
      R"(\b(?:ticket|page|file|document|log|e?-?mail|message|output|artifact|text|note|comment|issue|attachment|content|readme|article|website|snippet|sender|author|instructions?|request|it)s?\b[^.]{0,60}\b(?:says?|asks?|mentions?|instructs?|tells?|claims?|contains?|lists?|names?|requests?|states?|wants?|refers?|includes?|suggests?|tries|demands?|urges?|points?|orders?|directs?|quotes?|cites?)\b|\b(?:untrusted|suspicious|injection|phishing|malicious)\b|\b(?:did not|do not|will not|won't|didn't|cannot|can't|have not|haven't|not going to|refuse to|should not|shouldn't|never) (?:be )?(?:follow|run|call|open|send|execute|act|use|visit|fetch|contact|obey|download|touch|delete|be|carry|do)\w*\b|\b(?:according to|mentioned in|named in|quoted from|asked for in|contained in) the (?:ticket|page|file|document|log|e?-?mail|message|output|artifact|note|comment|issue)\b)",
      RE2::Quiet);
  return Matches(tells, sentence.normal);
}

void CheckCalls(const ValidationInput& input, const Trust& trust, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < input.tool_calls.size(); ++i) {
    const auto& call = input.tool_calls[i];
    const std::string place = fmt::format("call#{}", i);
    const auto tool = std::find_if(input.tools.begin(), input.tools.end(), [&](const DeclaredTool& one) { return one.name == call.name; });
    if (tool == input.tools.end()) {
      AddFinding(findings, DriftClass::kAuthority, "undeclared_tool", place, call.name);
    } else if (!tool->allowed && !tool->proposable) {
      AddFinding(findings, DriftClass::kAuthority, "forbidden_tool", place, call.name);
    }
    for (const auto& name : NamesIn(call.arguments.dump())) {
      if (trust.IsOnlyUntrusted(name)) AddFinding(findings, DriftClass::kAuthority, "untrusted_name", place, name);
    }
  }
}

}  // namespace

void CheckAuthority(const Answer& answer, std::vector<Finding>& findings) {
  const Trust trust(answer.input);
  for (const auto& sentence : answer.sentences) {
    const std::size_t before = findings.size();
    CheckClaimedActs(answer, sentence, findings);
    if (findings.size() == before) CheckOtherActs(answer, sentence, findings);
    CheckDoneActs(answer, sentence, findings);
    CheckPromisedActs(answer, sentence, findings);
    CheckPermissions(answer, sentence, findings);
    if (trust.untrusted.empty() || IsReport(sentence)) continue;
    for (const auto& name : NamesIn(sentence.raw)) {
      if (trust.IsOnlyUntrusted(name)) AddFinding(findings, DriftClass::kAuthority, "untrusted_name", PlaceOf(sentence), name);
    }
  }
  CheckCalls(answer.input, trust, findings);
}

}  // namespace acl::aegis
