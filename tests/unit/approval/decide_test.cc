// Who may decide, and on what: the one function, without a run around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "shared/approval/digest.h"

namespace acl::approval {
namespace {

using std::chrono::hours;
using testing::HasSubstr;
using Kind = Verdict::Kind;

const WallTime kAsked = WallTimeFromMicros(1'800'000'000'000'000);

Request Asked(const std::function<void(Request&)>& change = {}) {
  Request request;
  request.run_id = "01900000-0000-7000-8000-000000000001";
  request.step_id = request.step_name = "gate";
  request.approval_id = request.run_id + ":gate";
  request.workflow = "deploy";
  request.message = "go?";
  request.arguments = {{"message", "go?"}, {"amount", 10}};
  request.requesters = {"olga"};
  request.requested_at = kAsked;
  request.expires_at = kAsked + hours(1);
  if (change) change(request);
  request.digest = DigestOf(request);
  return request;
}

Decision Says(const std::string& decision, const std::string& by, const Request& request, std::vector<std::string> roles = {}) {
  Decision out;
  out.decision = decision;
  out.by = by;
  out.roles = std::move(roles);
  out.assurance = "key";
  out.channel = "api";
  out.digest = request.digest;
  return out;
}

Verdict Ask(const Request& request, const Decision& decision, WallTime now = kAsked) {
  return Decide(request, request.votes, decision, now);
}

TEST(Approval, AnybodyMayDecideWhereNobodyIsNamed) {
  const Request request = Asked();
  EXPECT_EQ(Ask(request, Says("approve", "alice", request)).kind, Kind::kApproves);
  EXPECT_EQ(Ask(request, Says("reject", "alice", request)).kind, Kind::kRejects);
  EXPECT_EQ(Ask(request, Says("approve", "olga", request)).kind, Kind::kApproves);  // who asks, unless the step says otherwise
}

TEST(Approval, WhatIsNoDecisionIsRefused) {
  const Request request = Asked();
  EXPECT_EQ(Ask(request, Says("perhaps", "alice", request)).code, "invalid-decision");
  EXPECT_EQ(Ask(request, Says("approve", "", request)).code, "invalid-decision");
  Decision long_winded = Says("approve", "alice", request);
  long_winded.comment = std::string(kLongestComment + 1, 'x');
  EXPECT_EQ(Ask(request, long_winded).code, "invalid-decision");
  Decision blind = Says("approve", "alice", request);
  blind.digest.clear();
  EXPECT_EQ(Ask(request, blind).code, "invalid-decision");
}

TEST(Approval, ADecisionIsAboutOneDigest) {
  const Request request = Asked();
  Decision other = Says("approve", "alice", request);
  other.digest = DigestOf(Asked([](Request& r) { r.arguments["amount"] = 82'000; }));
  EXPECT_EQ(Ask(request, other).code, "digest-mismatch");
  Request changed = request;  // after it was asked: its own note of the digest does not help
  changed.arguments["amount"] = 820'000;
  EXPECT_EQ(Ask(changed, Says("approve", "alice", request)).code, "digest-mismatch");
}

TEST(Approval, ItCountsOnceAndInTime) {
  Request request = Asked();
  EXPECT_EQ(Ask(request, Says("approve", "alice", request), kAsked + hours(1)).code, "expired");
  request.state = kRejected;
  request.decided_by = "bob";
  const Verdict late = Ask(request, Says("approve", "alice", request));
  EXPECT_EQ(late.code, "not-pending");
  EXPECT_THAT(late.why, HasSubstr("REJECTED by bob"));
}

TEST(Approval, RolesNamesAndWhoAsked) {
  const Request role = Asked([](Request& r) { r.role = "boss"; });
  EXPECT_EQ(Ask(role, Says("approve", "alice", role)).code, "not-allowed");
  EXPECT_EQ(Ask(role, Says("reject", "alice", role, {"clerk"})).code, "not-allowed");
  EXPECT_EQ(Ask(role, Says("approve", "alice", role, {"clerk", "boss"})).kind, Kind::kApproves);
  const Request named = Asked([](Request& r) { r.approvers = {"alice", "role:boss"}; });
  EXPECT_EQ(Ask(named, Says("approve", "alice", named)).kind, Kind::kApproves);
  EXPECT_EQ(Ask(named, Says("approve", "bob", named)).code, "not-allowed");
  EXPECT_EQ(Ask(named, Says("approve", "bob", named, {"boss"})).kind, Kind::kApproves);
  const Request both = Asked([](Request& r) { r.role = "boss", r.approvers = {"alice"}; });
  EXPECT_EQ(Ask(both, Says("approve", "alice", both)).code, "not-allowed");
  EXPECT_EQ(Ask(both, Says("approve", "bob", both, {"boss"})).code, "not-allowed");
  EXPECT_EQ(Ask(both, Says("approve", "alice", both, {"boss"})).kind, Kind::kApproves);
  const Request four_eyes = Asked([](Request& r) { r.allow_requester = false; });
  EXPECT_EQ(Ask(four_eyes, Says("approve", "olga", four_eyes)).code, "not-allowed");
  EXPECT_EQ(Ask(four_eyes, Says("reject", "olga", four_eyes)).kind, Kind::kRejects);  // who asks may take it back
}

TEST(Approval, EscalationAddsARoleAndNeverLetsWhoAskedIn) {
  Request request = Asked([](Request& r) { r.role = "boss", r.allow_requester = false; });
  EXPECT_EQ(Ask(request, Says("approve", "eve", request, {"director"})).code, "not-allowed");
  request.escalated_roles = {"director"};
  EXPECT_EQ(Ask(request, Says("approve", "eve", request, {"director"})).kind, Kind::kApproves);  // the digest is the same
  EXPECT_EQ(Ask(request, Says("approve", "alice", request, {"boss"})).kind, Kind::kApproves);
  EXPECT_EQ(Ask(request, Says("approve", "olga", request, {"director"})).code, "not-allowed");
}

TEST(Approval, SeveralDifferentPersons) {
  Request request = Asked([](Request& r) { r.needed = 2; });
  EXPECT_EQ(Ask(request, Says("approve", "alice", request)).kind, Kind::kVote);
  request.votes.push_back({"alice", kAsked, "key", "api", ""});
  EXPECT_EQ(Ask(request, Says("approve", "alice", request)).code, "already-voted");
  EXPECT_EQ(Ask(request, Says("approve", "bob", request)).kind, Kind::kApproves);
  EXPECT_EQ(Ask(request, Says("reject", "alice", request)).kind, Kind::kRejects);  // one no is enough, of who said yes too
}

TEST(Approval, ALinkAloneIsNotEnoughForWhatIsRisky) {
  for (const char* risk : {"LOW", "MEDIUM", "HIGH", "CRITICAL"}) {
    const Request request = Asked([&](Request& r) { r.risk = risk; });
    Decision by_link = Says("approve", "alice", request);
    by_link.assurance = "link";
    const bool enough = request.risk == "LOW" || request.risk == "MEDIUM";
    EXPECT_EQ(Ask(request, by_link).kind == Kind::kApproves, enough) << risk;
  }
  for (const Request& request : {Asked([](Request& r) { r.needed = 2; }), Asked([](Request& r) { r.allow_requester = false; })}) {
    Decision by_link = Says("approve", "link:chat", request);
    by_link.assurance = "link";
    EXPECT_EQ(Ask(request, by_link).code, "not-allowed");  // whoever holds it may be who asked, or who has voted
  }
}

TEST(Approval, ANameThatLooksLikeARoleIsNone) {
  const Request request = Asked([](Request& r) { r.approvers = {"role:boss"}; });
  EXPECT_EQ(Ask(request, Says("approve", "role:boss", request)).code, "not-allowed");
  EXPECT_EQ(Ask(request, Says("approve", "ann", request, {"boss"})).kind, Verdict::Kind::kApproves);
}

TEST(Approval, TheDigestIsOfWhatIsApprovedAndOfNothingElse) {
  const std::string digest = Asked().digest;
  const std::map<std::string, std::function<void(Request&)>> other_things = {
      {"run", [](Request& r) { r.run_id = "x"; }},
      {"step", [](Request& r) { r.step_id = "gate[1]"; }},
      {"arguments", [](Request& r) { r.arguments["amount"] = 11; }},
      {"message", [](Request& r) { r.message = "stop?"; }},
      {"risk", [](Request& r) { r.risk = "HIGH"; }},
      {"requesters", [](Request& r) { r.requesters = {"paul"}; }},
      {"role", [](Request& r) { r.role = "boss"; }},
      {"approvers", [](Request& r) { r.approvers = {"alice"}; }},
      {"needed", [](Request& r) { r.needed = 2; }},
      {"allow_requester", [](Request& r) { r.allow_requester = false; }},
      {"escalate_to", [](Request& r) { r.escalate_to = "director"; }},
      {"workspace", [](Request& r) { r.workspace_root = "00"; }}};
  for (const auto& [what, change] : other_things) EXPECT_NE(Asked(change).digest, digest) << what;
  const std::map<std::string, std::function<void(Request&)>> the_same = {
      {"times", [](Request& r) { r.requested_at = kAsked + hours(1), r.expires_at.reset(); }},
      {"votes",
       [](Request& r) {
         r.votes.push_back({"alice", kAsked, "key", "api", ""});
       }},
      {"outcome", [](Request& r) { r.state = kApproved, r.decided_by = "alice", r.comment = "ok", r.decided_at = kAsked; }},
      {"description", [](Request& r) { r.description = "other words"; }},
      {"names", [](Request& r) { r.workflow = "deploy2", r.step_name = "other"; }},
      {"escalation", [](Request& r) { r.escalated_roles = {"director"}; }}};
  for (const auto& [what, change] : the_same) EXPECT_EQ(Asked(change).digest, digest) << what;
}

TEST(Approval, TheStoredFormIsReadBack) {
  const Request request = Asked([](Request& r) {
    r.description = "d", r.role = "boss", r.approvers = {"a", "role:b"}, r.escalate_to = "c", r.escalated_roles = {"c"}, r.version = 2,
    r.needed = 2, r.allow_requester = false;
    r.workspace_root = "00", r.votes = {{"alice", kAsked, "key", "api", "fine"}};
    r.state = kApproved, r.decided_by = "bob", r.comment = "ok", r.decided_at = kAsked + hours(1);
  });
  const Json stored = ToJson(request);
  const auto read = RequestFrom(stored);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(ToJson(*read), stored);
  EXPECT_EQ(DigestOf(*read), request.digest);
  for (const char* key : {"approval_id", "step_id", "digest", "state", "requested_at"}) {
    Json less = stored;
    less.erase(key);
    EXPECT_EQ(RequestFrom(less).code(), Code::kCorrupt) << key;
  }
  EXPECT_EQ(RequestFrom(Json(7)).code(), Code::kCorrupt);
}

}  // namespace
}  // namespace acl::approval
