#include "shared/approval/approval.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/approval/digest.h"
#include "shared/base/mutant.h"

namespace acl::approval {

namespace {

using Kind = Verdict::Kind;

bool Holds(const std::vector<std::string>& list, std::string_view one) { return std::find(list.begin(), list.end(), one) != list.end(); }

bool IsNamed(const Request& request, const Decision& decision) {
  constexpr std::string_view kRole = "role:";
  return request.approvers.empty() || std::any_of(request.approvers.begin(), request.approvers.end(), [&](const std::string& one) {
           return (one == decision.by && !one.starts_with(kRole)) ||
                  (one.starts_with(kRole) && Holds(decision.roles, std::string_view(one).substr(kRole.size())));
         });
}

bool IsEscalatedTo(const Request& request, const Decision& decision) {
  return std::any_of(request.escalated_roles.begin(), request.escalated_roles.end(),
                     [&](const std::string& role) { return Holds(decision.roles, role); });
}

// Whether it matters who it is that decides.
bool NeedsAPerson(const Request& request) {
  return request.risk == "HIGH" || request.risk == "CRITICAL" || request.needed > 1 || !request.allow_requester;
}

// Why this person may not decide; empty: may.
std::string NotAllowed(const Request& request, const Decision& decision) {
  const bool approves = decision.decision == "approve";
  if (approves && !request.allow_requester && Holds(request.requesters, decision.by))
    return fmt::format("'{}' asked for it, and the step says that who asks may not approve; somebody else must", decision.by);
  if (decision.assurance == "link" && NeedsAPerson(request))
    return "a link alone does not say who decides, and this approval asks for more (its risk, several persons, or not who asked for it); "
           "decide with a key (airun approvals)";
  if (IsEscalatedTo(request, decision)) return "";
  if (!request.role.empty() && !Holds(decision.roles, request.role))
    return fmt::format("who decides needs the role '{}', and '{}' has {}", request.role, decision.by,
                       decision.roles.empty() ? "no role" : fmt::format("only {}", fmt::join(decision.roles, ", ")));
  if (!IsNamed(request, decision))
    return fmt::format("'{}' is none of those who may decide: {}", decision.by, fmt::join(request.approvers, ", "));
  return "";
}

std::string Malformed(const Decision& decision) {
  if (decision.decision != "approve" && decision.decision != "reject")
    return fmt::format("decision '{}' is unknown; say approve or reject", decision.decision.substr(0, 100));
  if (decision.by.empty()) return "nobody knows who decides: say it (--approver NAME)";
  if (decision.by.size() > kLongestName) return fmt::format("the name of who decides is longer than {} bytes", kLongestName);
  if (decision.comment.size() > kLongestComment) return fmt::format("the comment is longer than {} bytes", kLongestComment);
  if (decision.digest.empty()) return "a decision names the digest of what it is about (airun approvals show)";
  return "";
}

}  // namespace

Verdict Decide(const Request& request, const std::vector<Vote>& votes, const Decision& decision, WallTime now) {
  const auto refused = [](const char* code, std::string why) { return Verdict{Kind::kRefused, code, std::move(why)}; };
  if (std::string wrong = Malformed(decision); !wrong.empty()) return refused("invalid-decision", std::move(wrong));
  if (!request.pending() && !Mutant("decision_not_compare_and_set"))
    return refused("not-pending", fmt::format("approval '{}' is decided already: {}", request.approval_id, OutcomeText(request)));
  if (request.expires_at && now >= *request.expires_at)
    return refused("expired", fmt::format("approval '{}' was open until {}; it came too late", request.approval_id,
                                          FormatWallTime(*request.expires_at)));
  // Not only what the asker noted: the digest of what will be acted on.
  if ((decision.digest != request.digest || decision.digest != DigestOf(request)) && !Mutant("approval_without_digest"))
    return refused("digest-mismatch", fmt::format("the decision is about {}, and what is asked has the digest {}; look at it again "
                                                  "(airun approvals show)",
                                                  decision.digest.substr(0, 100), DigestOf(request)));
  if (std::string why = NotAllowed(request, decision); !why.empty()) return refused("not-allowed", std::move(why));
  if (decision.decision == "reject") return {Kind::kRejects, "", ""};
  if (std::any_of(votes.begin(), votes.end(), [&](const Vote& vote) { return vote.by == decision.by; }))
    return refused("already-voted",
                   fmt::format("'{}' has approved already, and {} different persons are needed", decision.by, request.needed));
  return {int(votes.size()) + 1 < request.needed ? Kind::kVote : Kind::kApproves, "", ""};
}

std::string OutcomeText(const Request& request) {
  std::string text = request.state;
  if (!request.decided_by.empty()) text += " by " + request.decided_by;
  if (request.decided_at) text += " at " + FormatWallTime(*request.decided_at);
  return text;
}

}  // namespace acl::approval
