// The page behind an approval's link: who has no good link sees nothing, looking decides nothing, and what is asked cannot become markup.
#include "coordinator/api/approval_page.h"

#include <gmock/gmock.h>

#include "shared/approval/digest.h"
#include "shared/approval/render.h"
#include "shared/workflow/approvals.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using testing::HasSubstr;
using testing::Not;

// One approval, and what the inbox was told.
class OneApproval final : public approval::ApprovalStore {
 public:
  approval::ShownApproval one;
  Result<std::vector<approval::ShownApproval>> List(const ProjectId&, const std::optional<std::string>&, std::int64_t, int) override {
    return std::vector{one};
  }
  Result<std::vector<approval::ShownApproval>> PendingOf(const SubjectId&) override { return std::vector{one}; }
  Result<approval::ShownApproval> Get(const ProjectId&, const std::string& id) override {
    if (id == one.request.approval_id) return one;
    return Error{Code::kNotFound, "none"};
  }
};

class ApprovalPage : public ApiFixture {
 protected:
  ApprovalPage() {
    run_ = Submit();
    approval::Request& request = asked_.one.request;
    request.run_id = run_;
    request.step_id = "gate";
    request.approval_id = run_ + ":gate";
    request.workflow = "deploy";
    request.message = "<b>trust me</b>";
    request.arguments = {{"to", "<script>alert(1)</script>"}, {"name", "al\xe2\x80\xaeice"}};
    request.requested_at = clock_.Wall();
    request.expires_at = clock_.Wall() + std::chrono::hours(1);
    request.digest = approval::DigestOf(request);
    asked_.one.run = *SubjectId::Parse(run_);
    api_->approvals = &asked_;
    AddApprovalPage(router_, *api_, links_, clock_);
  }
  std::string Path() const { return "/approvals/" + run_ + "%3Agate"; }
  std::string Token() const { return links_.TokenFor(asked_.one.request, "chat"); }
  Answer Look(const std::string& token) { return Ask("GET", Path() + "?token=" + PercentEncode(token)); }
  Answer Say(const std::string& decision, const std::string& token) {
    const std::string seen = approval::Render(asked_.one.request).digest;
    return Ask("POST", Path(), "token=" + PercentEncode(token) + "&decision=" + decision + "&comment=fine+by+me&shown_digest=" + seen,
               {{"content-type", "application/x-www-form-urlencoded"}});
  }
  std::vector<InboxRow> Inbox() { return store_.Inspect(*SubjectId::Parse(run_))->inbox; }

  OneApproval asked_;
  const webhook::Key key_ = *webhook::Key::Parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  ApprovalLinks links_{{&key_, 1}, "https://acl.example.org"};
  std::string run_;
};

TEST_F(ApprovalPage, ShowsTheArgumentsEscapedAndWithoutAScript) {
  const auto page = Look(Token());
  ASSERT_EQ(page.status, 200) << page.text;
  EXPECT_THAT(page.text, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(page.text, Not(HasSubstr("<script")));
  EXPECT_THAT(page.text, HasSubstr("al\\u{202E}ice"));
  EXPECT_THAT(page.text, HasSubstr("&lt;b&gt;trust me"));
  EXPECT_THAT(page.Header("Content-Security-Policy"), HasSubstr("default-src 'none'"));
  EXPECT_EQ(page.Header("Cache-Control"), "no-store");
}

// As scanners of mail open what they find. (B-r8)
TEST_F(ApprovalPage, LookingDecidesNothing) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Look(Token()).status, 200);
  EXPECT_TRUE(Inbox().empty());
}

TEST_F(ApprovalPage, ThePostDecidesAsWhoTheLinkWasSentTo) {
  const auto taken = Say("approve", Token());
  EXPECT_EQ(taken.status, 202) << taken.text;  // nobody runs anything here
  ASSERT_EQ(Inbox().size(), 1u);
  const Json said = Json::parse(Inbox()[0].payload);
  EXPECT_EQ(said["by"], "link:chat");
  EXPECT_EQ(said["assurance"], "link");
  EXPECT_EQ(said["decision"], "approve");
  EXPECT_EQ(said["comment"], "fine by me");
  EXPECT_EQ(said["digest"], asked_.one.request.digest);
  EXPECT_EQ(Say("perhaps", Token()).status, 422);
}

TEST_F(ApprovalPage, ALinkIsOfOneApprovalAsItWasAskedAndForItsTime) {
  const std::string good = Token();
  std::string other = good;
  other.back() = other.back() == 'A' ? 'B' : 'A';
  for (const std::string& token : {std::string(), std::string("1.2"), std::string("x.y.z"), other, good + "x"}) {
    EXPECT_EQ(Look(token).status, 403) << token;
    EXPECT_EQ(Say("approve", token).status, 403) << token;
    EXPECT_THAT(Look(token).text, Not(HasSubstr("deploy"))) << "it says nothing of the approval";
  }
  EXPECT_EQ(Ask("GET", "/approvals/nothing?token=" + good).status, 403) << "not even that there is none";
  asked_.one.request.digest = std::string(64, '0');
  EXPECT_EQ(Look(good).status, 403) << "it is asked anew";
  asked_.one.request.digest = approval::DigestOf(asked_.one.request);
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Look(good).status, 403) << "its time is over";
  EXPECT_TRUE(Inbox().empty());
}

TEST_F(ApprovalPage, WhoLooksBehindTheDecisionSeesWhoWon) {
  asked_.one.request.state = approval::kApproved;
  asked_.one.request.decided_by = "alice";
  asked_.one.request.decided_at = clock_.Wall();
  clock_.Advance(std::chrono::hours(2));
  const auto page = Look(Token());
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.text, HasSubstr("APPROVED by alice"));
  EXPECT_THAT(page.text, Not(HasSubstr("<form")));
  EXPECT_THAT(page.text, Not(HasSubstr("trust me"))) << "an old link shows what became of it, and no arguments";
}

TEST_F(ApprovalPage, HasNoButtonsWhereALinkCannotDecideOrSomethingIsCut) {
  const approval::Request whole = asked_.one.request;
  const std::vector<std::function<void(approval::Request&)>> cases = {
      [](auto& request) { request.arguments["long"] = std::string(3'000, 'x'); },
      [](auto& request) { request.risk = "HIGH"; },
      [](auto& request) { request.role = "boss"; },
      [](auto& request) { request.needed = 2; },
      [](auto& request) { request.allow_requester = false; },
      [](auto& request) { request.approvers = {"alice"}; }};
  EXPECT_THAT(Look(Token()).text, HasSubstr("<form"));
  for (const auto& change : cases) {
    approval::Request& request = asked_.one.request = whole;
    change(request);
    request.digest = approval::DigestOf(request);
    EXPECT_THAT(Look(Token()).text, Not(HasSubstr("<form")));
    EXPECT_EQ(Say("approve", Token()).status, 403);
  }
  EXPECT_TRUE(Inbox().empty());
}

TEST_F(ApprovalPage, LinksAreGoodWhileTheirSecretIsChangedAndNoWebhooksSignatureIsOne) {
  const std::vector<webhook::Key> both = {*webhook::Key::Parse("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs="), key_};
  const ApprovalLinks changed(both, "https://acl.example.org");
  const approval::Request& request = asked_.one.request;
  EXPECT_TRUE(changed.Check(request, Token(), clock_.Wall()).ok());
  EXPECT_FALSE(links_.Check(request, changed.TokenFor(request, "chat"), clock_.Wall()).ok());
  const WallTime expires = ApprovalLinks::ExpiryOf(request);
  const auto signed_by_key = webhook::Sign({&key_, 1}, "acl-approval-link-v1", expires,
                                           request.approval_id + "\n" + request.digest + "\nchat\n" + std::to_string(MicrosOf(expires)));
  ASSERT_TRUE(signed_by_key);
  EXPECT_THAT(Token(), Not(HasSubstr(signed_by_key->signature.substr(3))));
}

TEST_F(ApprovalPage, TheWebhookGetsTheLinkOfItsOwnRunOnly) {
  delivery::Delivery message;
  message.subject = *SubjectId::Parse(run_);
  message.endpoint = "chat";
  message.event = std::string(workflow::kApprovalRequired);
  Json body = {{"approval_id", run_ + ":gate"},
               {"digest", asked_.one.request.digest},
               {"requested_at", FormatWallTime(asked_.one.request.requested_at)},
               {"expires_at", FormatWallTime(*asked_.one.request.expires_at)}};
  message.body = body.dump();
  const Json sent = Json::parse(links_.WithLinks(message).body);
  EXPECT_EQ(sent["approve_url"], "https://acl.example.org" + Path() + "?token=" + PercentEncode(Token()));
  EXPECT_EQ(sent["link_expires_at"], body["expires_at"]);
  message.subject = SubjectId{ids_.New<InboxId>().uuid};
  EXPECT_EQ(links_.WithLinks(message).body, body.dump()) << "another run's";
  message.subject = *SubjectId::Parse(run_);
  message.event = "deploy.done";
  EXPECT_EQ(links_.WithLinks(message).body, body.dump());
}

TEST(ApprovalLinkSettings, GoTogetherAndSayWhatIsMissing) {
  EXPECT_FALSE(ApprovalLinks::Open("", "", "")->has_value());
  EXPECT_EQ(ApprovalLinks::Open("k", "", "f").code(), Code::kInvalid);
  EXPECT_EQ(ApprovalLinks::Open("", "https://x", "f").code(), Code::kInvalid);
  EXPECT_EQ(ApprovalLinks::Open("k", "x.org", "f").code(), Code::kInvalid);
  EXPECT_EQ(ApprovalLinks::Open("k", "https://x", "").code(), Code::kInvalid);
}

}  // namespace
}  // namespace acl::coordinator
