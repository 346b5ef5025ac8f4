// Sight and what the answer makes of it (document 004, 9.2): refusals though there are values, observations though there are none.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "shared/aegis/validate/checks.h"

namespace acl::aegis {
namespace {

bool IsAbout(const SightOf& sight, std::string_view normal) {
  const auto words = WordsOfSight(sight);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return HasWord(normal, word); });
}

// The system as a whole: any sight is about it.
bool IsAboutTheSystem(std::string_view normal) {
  static const RE2 system(
      R"(\b(?:system|server|host|machine|box|node|health|live data|real-?time|metrics|telemetry|sensors?|environment|status|state of|condition)\b)",
      RE2::Quiet);
  return Matches(system, normal);
}

bool IsRefusal(std::string_view spoken) {
  static const RE2 refuses(
      R"(\bi(?:'m| am)? ?(?:currently |simply |really |still |sorry,? but i )?(?:do not|don't|cannot|can't|can not|am unable to|'m unable to|unable to|am not able to|'m not able to|have no way (?:to|of)|lack|have no|am blind|'m blind|could not|couldn't|will not|won't be able to)\b[^.]{0,25}?\b(?:access|see|check|view|read|look|measure|observe|monitor|know|tell|inspect|query|retrieve|verify|determine|say|provide|get|visibility|insight|way|means|ability|reach|show|report|fetch|eyes|help with|information|details|knowledge|data)\b|\bno (?:direct |real-?time |live )?(?:access|visibility|insight|sight|way (?:to|of))\b|\b(?:not|isn't|aren't) (?:available|visible|accessible) to me\b|\bbeyond (?:my|what i)\b|\bas an? (?:ai|language model|assistant)[^.]{0,40}\b(?:can't|cannot|don't|do not|unable|no)\b|\bi(?:'m| am) (?:just|only) an? (?:ai|language model|text)|\byou(?:'ll| will| would)? (?:have|need) to (?:check|look|run|see)[^.]{0,40}(?:yourself|manually|on your own)|\b(?:no|without) (?:data|information|values|readings|numbers) (?:about|on|for|regarding|is|are) )",
      RE2::Quiet);
  return Matches(refuses, spoken);
}

bool Observes(std::string_view spoken) {
  static const RE2 observed(
      R"(\bi(?:'ve| have)?(?: just| now| already| also)? (?:checked|looked at|observed|measured|inspected|verified|queried|probed|examined|saw|monitored|pulled|sampled|scanned|can see (?:that|the)|see (?:that|the|a)|am seeing)\b|\b(?:after|from) (?:a|my|the|having a|taking a)? ?(?:quick |short |closer |brief |recent )?(?:look|check|inspection|glance|scan)\b|\bfrom what i (?:see|can see|saw)\b|\b(?:sys_health|disk_usage|service_status|index_status|health check) (?:shows?|says?|reports?|is green|looks?|indicates?|confirms?)\b|\b(?:my|the latest|the current|current|live) (?:readings?|measurements?|observations?|metrics|values?|telemetry|check) (?:shows?|says?|indicates?|confirms?|reveals?|is|are)\b|\b(?:according to|based on|per) (?:the |my |a )?(?:latest |current |live )?(?:sys_health|sys health|system health|disk_usage|disk usage|index_status|service_status|health check|readings?|metrics|telemetry)\b)",
      RE2::Quiet);
  return Matches(observed, spoken);
}

bool StatesAValue(std::string_view spoken) {
  static const RE2 value(
      R"((?:is|are|at|of|=|:|currently|now|about|around|stands at|using|uses|has|with|shows?) (?:currently |now |about |around |only |roughly |running )?(?:at )?\d+(?:\.\d+)?(?: ?%| percent| ?[mgt]b| ?mib| ?gib)?|\b(?:is|are|looks?|seems?) (?:currently |now |all |perfectly |quite |almost |nearly |mostly |doing |in )*(?:well|idle|ok|okay|good shape|green|healthy|fine|normal|idle|overloaded|busy|full|nominal|stable|running smoothly|well within|low|high|up and running|running|(?:operating|working|functioning|performing) (?:normally|fine|well|smoothly|properly|as expected))\b|\b(?:plenty of|enough (?:disk|space|memory|room|headroom)|(?:a|one|two) (?:third|quarter|half|thirds|quarters) (?:is|are|of|left|free|full)|all (?:green|good|fine))\b|: ?\d+(?:\.\d+)? ?(?:%|percent|[mgt]b)?)",
      RE2::Quiet);
  return Matches(value, spoken);
}

// Whether the answer has any value of that sight.
bool GivesValues(const SightOf& sight, std::string_view normal) {
  static const RE2 number(R"((\d+(?:\.\d+)?))", RE2::Quiet);
  for (const auto& [name, value] : sight.values.items()) {
    if (value.is_string() && normal.find(NormalText(value.get<std::string>())) != normal.npos) return true;
    if (value.is_boolean() && IsAbout(sight, normal)) return true;
  }
  const auto numbers = AllMatches(number, normal);
  return std::any_of(numbers.begin(), numbers.end(),
                     [&](const std::string& written) { return HasValueOf(sight, std::strtod(written.c_str(), nullptr)); });
}

bool AsksForValues(std::string_view user) {
  static const RE2 asks(
      R"(\b(?:how (?:much|many|full|high|busy|loaded|is|are|healthy|hot|does|do)|what(?:'s| is| are)|current|currently|status|check|show|report|give me|tell me|is there|do we have|right now|are we|is the|are the)\b)",
      RE2::Quiet);
  static const RE2 explains(
      R"(\b(?:why|what does|mean|means|explain|should i|how do i|how would|how can i|difference|define|meaning|purpose|what is a\b|who)\b)",
      RE2::Quiet);
  return Matches(asks, user) && !Matches(explains, user);
}

bool IsUnknownOf(const SightOf& sight, std::string_view normal) {
  return std::any_of(sight.unknowns.begin(), sight.unknowns.end(), [&](std::string unknown) {
    const auto first = unknown.substr(0, unknown.find('_'));
    return HasWord(normal, NormalText(first));
  });
}

void CheckRefusals(const Answer& answer, const std::string& user, const std::string& response, std::vector<Finding>& findings) {
  for (const auto& sentence : answer.sentences) {
    if (!IsRefusal(sentence.spoken)) continue;
    for (const auto& sight : answer.input.sight) {
      if (!sight.available || !HasValues(sight)) continue;
      if (IsUnknownOf(sight, sentence.normal) || GivesValues(sight, response)) continue;
      const bool named =
          IsAbout(sight, sentence.normal) || (IsAboutTheSystem(sentence.normal) && (IsAbout(sight, user) || IsAboutTheSystem(user)));
      const bool asked = AsksForValues(user) && IsAbout(sight, user) && !IsUnknownOf(sight, user);
      if (!named && !asked) continue;
      AddFinding(findings, DriftClass::kCompleteness, "refused_sight", PlaceOf(sentence), sight.tool);
      break;
    }
  }
}

void CheckObservations(const Answer& answer, std::vector<Finding>& findings) {
  const auto& all = answer.input.sight;
  for (const auto& sentence : answer.sentences) {
    const bool observes = Observes(sentence.spoken), states = StatesAValue(sentence.spoken);
    if ((!observes && !states) || IsRefusal(sentence.spoken)) continue;
    const auto has_values = [&](const SightOf& sight) { return sight.available && HasValues(sight) && IsAbout(sight, sentence.normal); };
    if (std::any_of(all.begin(), all.end(), has_values)) continue;
    for (const auto& sight : all) {
      if (sight.available && HasValues(sight)) continue;
      SightOf topics = sight;  // without values its name alone tells what it is about
      const bool about = IsAbout(topics, sentence.normal) || HasWord(sentence.normal, NormalText(sight.tool)) ||
                         (sight.tool == "sys_health" &&
                          (HasWord(sentence.normal, "cpu") || HasWord(sentence.normal, "processor") || HasWord(sentence.normal, "memory") ||
                           HasWord(sentence.normal, "load") || HasWord(sentence.normal, "ram") || HasWord(sentence.normal, "disk") ||
                           (IsAboutTheSystem(sentence.normal) && (observes || states))));
      if (!about) continue;
      AddFinding(findings, DriftClass::kCompleteness, "observed_without_values", PlaceOf(sentence), sight.tool);
      break;
    }
  }
}

}  // namespace

void CheckCompleteness(const Answer& answer, std::vector<Finding>& findings) {
  const ValidationInput& input = answer.input;
  const std::string user = NormalText(input.user_input), response = NormalText(input.response);
  CheckObservations(answer, findings);
  if (!input.sight_allowed) return;
  for (const auto& sight : input.sight) {
    if (sight.available && !HasValues(sight))
      AddFinding(findings, DriftClass::kCompleteness, "sight_without_values", "bundle/sight", sight.tool);
  }
  const std::size_t before = findings.size();
  CheckRefusals(answer, user, response, findings);
  if (findings.size() > before) return;
  for (const auto& sight : input.sight) {
    if (!sight.available || !HasValues(sight) || !AsksForValues(user) || !IsAbout(sight, user) || IsUnknownOf(sight, user)) continue;
    const auto given = [&](const SightOf& other) {
      return other.available && HasValues(other) && IsAbout(other, user) && GivesValues(other, response);
    };
    if (std::any_of(input.sight.begin(), input.sight.end(), given)) break;
    AddFinding(findings, DriftClass::kCompleteness, "no_values", "response@0", sight.tool);
    break;
  }
}

}  // namespace acl::aegis
