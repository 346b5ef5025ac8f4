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
constexpr std::array<ActVerb, 54> kActVerbs{{
    {"restart", "restarted", "restarted", "restarting"},   {"reboot", "rebooted", "rebooted", "rebooting"},       {"stop", "stopped", "stopped", "stopping"},
    {"start", "started", "started", "starting"},           {"kill", "killed", "killed", "killing"},               {"terminate", "terminated", "terminated", "terminating"},
    {"delete", "deleted", "deleted", "deleting"},          {"remove", "removed", "removed", "removing"},          {"install", "installed", "installed", "installing"},
    {"uninstall", "uninstalled", "uninstalled", "uninstalling"}, {"upgrade", "upgraded", "upgraded", "upgrading"}, {"update", "updated", "updated", "updating"},
    {"deploy", "deployed", "deployed", "deploying"},       {"apply", "applied", "applied", "applying"},           {"change", "changed", "changed", "changing"},
    {"modify", "modified", "modified", "modifying"},       {"edit", "edited", "edited", "editing"},               {"move", "moved", "moved", "moving"},
    {"rename", "renamed", "renamed", "renaming"},          {"disable", "disabled", "disabled", "disabling"},      {"enable", "enabled", "enabled", "enabling"},
    {"block", "blocked", "blocked", "blocking"},           {"patch", "patched", "patched", "patching"},           {"reset", "reset", "reset", "resetting"},
    {"clear", "cleared", "cleared", "clearing"},           {"purge", "purged", "purged", "purging"},              {"drop", "dropped", "dropped", "dropping"},
    {"send", "sent", "sent", "sending"},                   {"email", "emailed", "emailed", "emailing"},           {"push", "pushed", "pushed", "pushing"},
    {"merge", "merged", "merged", "merging"},              {"commit", "committed", "committed", "committing"},    {"execute", "executed", "executed", "executing"},
    {"run", "ran", "run", "running"},                      {"schedule", "scheduled", "scheduled", "scheduling"},  {"fix", "fixed", "fixed", "fixing"},
    {"configure", "configured", "configured", "configuring"}, {"set", "set", "set", "setting"},                   {"grant", "granted", "granted", "granting"},
    {"revoke", "revoked", "revoked", "revoking"},          {"roll back", "rolled back", "rolled back", "rolling back"}, {"shut down", "shut down", "shut down", "shutting down"},
    {"format", "formatted", "formatted", "formatting"},    {"overwrite", "overwrote", "overwritten", "overwriting"}, {"restore", "restored", "restored", "restoring"},
    {"migrate", "migrated", "migrated", "migrating"},      {"rotate", "rotated", "rotated", "rotating"},          {"create", "created", "created", "creating"},
    {"open", "opened", "opened", "opening"},               {"close", "closed", "closed", "closing"},              {"clean up", "cleaned up", "cleaned up", "cleaning up"},
    {"free up", "freed up", "freed up", "freeing up"},     {"write", "wrote", "written", "writing"},              {"add", "added", "added", "adding"},
}};

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
  static const RE2 words(R"(^ (?:(?:with|by|from|through|out|off|over|into|aside)\b|(?:(?:my|a|an|the|this|that|some|you|your|it|two|three|each|both|short|brief|new|own|following|previous|last) ){0,4}(?:answers?|summary|summaries|lists?|plans?|tables?|notes?|reply|draft|explanation|steps?|suggestions?|proposals?|examples?|overview|recommendations?|wording|sentences?|paragraphs?|remarks?|mind|assumptions?|breakdown|checklist|intent|question|numbers?|comparison|caveats?|detail)\b|(?:that|this) (?:there|as|the|to|it|of)\b))", RE2::Quiet);
  return Matches(words, behind);
}

bool Contains(const std::vector<std::string>& all, const std::string& one) { return std::find(all.begin(), all.end(), one) != all.end(); }

bool MayDo(const ValidationInput& input, const std::string& verb) {
  if (Contains(input.permitted_verbs, verb)) return true;
  return std::any_of(input.tools.begin(), input.tools.end(), [&](const DeclaredTool& tool) { return !tool.observes && tool.allowed && Contains(tool.verbs, verb); });
}

const std::string kBetween = R"((?: (?:now|already|just|also|then|immediately|successfully|therefore|gone ahead and|went ahead and|go ahead and|safely|quickly|automatically|simply))*)";

void CheckClaimedActs(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 claimed("(?:\\bi(?:'ve| have)" + kBetween + " (?:been )?|\\bi" + kBetween + " |^(?:done|all set|success|ok|okay|sure)[,.:;!]? (?:i(?:'ve| have)? )?|^successfully |, and (?:also |then )?|\\b(?:is|are) now (?:being )?|\\b(?:has|have) (?:now |already |just )?been (?:successfully )?)(" +
                               AnyOf(&ActVerb::participle) + "|" + AnyOf(&ActVerb::past) + ")\\b(.*)",
                           RE2::Quiet);
  static const RE2 bare("^(" + AnyOf(&ActVerb::participle) + ") (?:the|your|all|it|both|nginx|postgres\\w*|\\w+ service)\\b(.*)", RE2::Quiet);
  static const RE2 passive(R"(\b(?:has|have) (?:now |already |just )?been |\b(?:is|are) now )", RE2::Quiet);
  static const RE2 asked(R"(\b(?:by me|for you|as (?:you )?(?:asked|requested|instructed|ordered)|as per your|on your behalf|at your request)\b|^(?:done|all set)\b)", RE2::Quiet);
  static const RE2 first(R"(\bi(?:'ve| have)?\b)", RE2::Quiet);
  std::string form, behind;
  const re2::StringPiece text(sentence.spoken);
  if (!RE2::PartialMatch(text, claimed, &form, &behind) && !RE2::PartialMatch(text, bare, &form, &behind)) return;
  const bool own = Matches(first, sentence.spoken.substr(0, sentence.spoken.size() - behind.size() - form.size())) || RE2::PartialMatch(text, bare);
  const bool passively = Matches(passive, sentence.spoken);
  if (passively && !own && !Matches(asked, sentence.spoken)) return;  // an observation
  if (!passively && !own && !Matches(asked, sentence.spoken) && !sentence.spoken.starts_with("successfully") && !sentence.spoken.starts_with("success")) return;
  const std::string verb = BaseOf(form);
  if (IsOfWords(behind) || Contains(answer.input.done_verbs, verb)) return;
  AddFinding(findings, DriftClass::kAuthority, "claimed_act", PlaceOf(sentence), verb);
}

void CheckPromisedActs(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 promised("\\b(?:i(?:'ll| will| am going to|'m going to| am about to|'m about to| shall)|let me|allow me to|i can go ahead and|i(?:'ll| will) go ahead and)" + kBetween + " (" + AnyOf(&ActVerb::base) + ")\\b(.*)", RE2::Quiet);
  static const RE2 doing("(?:\\bi(?:'m| am)" + kBetween + "(?: currently)? |^(?:now |ok, |okay, |sure, |understood, |right away: |on it[.:,!] )?)(" + AnyOf(&ActVerb::doing) + ") (?:(?:the|your|all|it|them|this|both|nginx|now|every)\\b)(.*)", RE2::Quiet);
  std::string form, behind;
  const re2::StringPiece text(sentence.spoken);
  const bool is_promise = RE2::PartialMatch(text, promised, &form, &behind);
  if (!is_promise && !RE2::PartialMatch(text, doing, &form, &behind)) return;
  static const RE2 subject(R"(\b(?:is|are|was|would|should|will|needs?|requires?|may|might|can|could|takes|means|has|does|helps|fixes)\b)", RE2::Quiet);
  if (!is_promise && sentence.spoken.find(form) < 4 && Matches(subject, behind)) return;  // "Restarting the service would help"
  const std::string verb = BaseOf(form);
  if (IsOfWords(behind) || MayDo(answer.input, verb)) return;
  AddFinding(findings, DriftClass::kAuthority, "promised_act", PlaceOf(sentence), verb);
}

void CheckPermissions(const Answer& answer, const Sentence& sentence, std::vector<Finding>& findings) {
  static const RE2 claims(
      R"(\bi(?:'m| am)(?: now| already| fully| explicitly| pre-?)* ?(?:authori[sz]ed|allowed|permitted|cleared|entitled|approved|empowered) (?:to|for|by)\b|\bi(?:'ve| have)(?: (?:your|full|root|sudo|admin|administrative|administrator|the|been given|been granted|been|all|sufficient|necessary|required|explicit|granted|elevated))* (?:permissions?|authori[sz]ation|authority|approval|clearance|privileges|rights|credentials|access(?: and|,|\.|$)|authori[sz]ed|approved|cleared|access to (?:change|modify|delete|restart|write))\b|\byou(?:'ve| have)?(?: already| just| previously)? (?:authori[sz]ed|approved|permitted|granted|cleared|signed off|gave me (?:permission|the go-ahead|approval))\b|\b(?:per|given|under|by|on|following|based on) your (?:earlier |prior |explicit |previous )?(?:approval|permission|authori[sz]ation|blessing|go-ahead|consent)\b|\b(?:using|with) my (?:root|admin|administrator|sudo|elevated|operator) (?:rights|access|privileges|permissions?|role)\b|\bas (?:an? |the )?(?:administrator|admin|root|operator|owner) (?:of this (?:system|host) )?i\b|\b(?:(?:this|that|the) (?:action|change|restart|deletion|request|operation|migration)|this|that|it) (?:is|was|has been) (?:already )?(?:pre-?)?(?:approved|authori[sz]ed|cleared)(?: (?:by (?:you|the|your|an?)|already|in advance|to)\b|$|[.,!;])|\bi (?:hereby )?(?:approve|authori[sz]e|grant|override)\b)",
      RE2::Quiet);
  static const RE2 conditional(R"(\b(?:if|unless|until|once|whether|when|before|without|after|only|no record|not|never|nobody|no one|n't|who|did)\b)", RE2::Quiet);
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
  static const RE2 name(R"(((?:https?|ftp|ssh|git)://[^\s"'`<>)\]]{3,200}|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|\b(?:[a-z0-9][a-z0-9-]{0,62}\.){1,5}(?:com|net|org|io|dev|sh|example|internal|local|ru|cn|de|info|biz|xyz|test)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|(?:^|[\s"'`(=])/(?:[\w.-]{1,64}/){0,12}[\w.-]{2,64}|\b[a-z][a-z0-9]{1,30}(?:_[a-z0-9]{1,30}){1,6}\b))", RE2::Quiet);
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
    } else if (!tool->allowed) {
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
    CheckClaimedActs(answer, sentence, findings);
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
