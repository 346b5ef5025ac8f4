#include "shared/approval/decision_json.h"

#include "shared/base/json_members.h"
#include "shared/base/utf8.h"

namespace acl::approval {

Decision DecisionFrom(const Json& payload) {
  Decision out;
  out.decision = TextOrNone(payload, "decision");
  out.by = TextOrNone(payload, "by");
  out.assurance = TextOrNone(payload, "assurance");
  if (out.by.empty()) out.by = TextOrNone(payload, "approver");
  if (payload.is_object() && payload.contains("roles") && payload["roles"].is_array())
    for (const Json& role : payload["roles"])
      if (role.is_string()) out.roles.push_back(role.get<std::string>());
  out.channel = TextOrNone(payload, "channel");
  out.comment = TextOrNone(payload, "comment");
  out.digest = TextOrNone(payload, "digest");
  out.shown_digest = TextOrNone(payload, "shown_digest");
  return out;
}

void AddDecision(const Decision& decision, Json& facts) {
  facts["decision"] = decision.decision;
  facts["digest"] = decision.digest;
  facts["decided_by"] = decision.by;
  for (const auto& [key, text] : {std::pair<const char*, const std::string&>{"assurance", decision.assurance},
                                  {"channel", decision.channel},
                                  {"comment", decision.comment},
                                  {"shown_digest", decision.shown_digest}})
    if (!text.empty()) facts[key] = text;
}

Decision CutTo(Decision said) {
  const auto cut = [](std::string& text, std::size_t most) {
    if (text.size() > most) text = StorableText(text.substr(0, most));
  };
  cut(said.comment, kLongestComment);
  for (std::string* text : {&said.decision, &said.by, &said.assurance, &said.channel, &said.digest, &said.shown_digest})
    cut(*text, kLongestName);
  return said;
}

Json VoteOf(const Decision& decision, WallTime now) {
  Json vote = {{"by", decision.by}, {"at", FormatWallTime(now)}, {"assurance", decision.assurance}, {"channel", decision.channel}};
  if (!decision.comment.empty()) vote["comment"] = decision.comment;
  return vote;
}

}  // namespace acl::approval
