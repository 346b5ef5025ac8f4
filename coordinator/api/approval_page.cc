#include "coordinator/api/approval_page.h"

#include <fmt/format.h>

#include "coordinator/api/decisions.h"
#include "shared/approval/render.h"
#include "shared/base/html_text.h"
#include "shared/http/url.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMostFormBytes = 16u << 10;

// Nothing is loaded, framed or remembered, and the token goes to nobody else.
HttpResponse Page(int status, const std::string& title, const std::string& body) {
  HttpResponse response = HttpResponse::OfText(
      status,
      fmt::format("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{0}</title>"
                  "<meta name=\"viewport\" content=\"width=device-width\"></head>\n<body>\n<h1>{0}</h1>\n{1}</body>\n</html>\n",
                  HtmlText(title), body),
      "text/html; charset=utf-8");
  return response.With("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
      .With("Referrer-Policy", "same-origin")
      .With("Cache-Control", "no-store")
      .With("X-Content-Type-Options", "nosniff")
      .With("X-Robots-Tag", "noindex");
}

HttpResponse Sorry(int status, const std::string& why) { return Page(status, "This approval", "<p>" + HtmlText(why) + "</p>\n"); }

std::string TableOf(const approval::Request& request) {
  const approval::Shown shown = approval::Render(request);
  std::string rows = "<table>\n";
  for (const approval::ShownLine& line : shown.lines)
    rows += fmt::format("<tr><th align=\"left\">{}</th><td><code>{}</code></td></tr>\n", HtmlText(line.name), HtmlText(line.text));
  rows += "</table>\n";
  return rows;
}

std::string OutcomeOf(const approval::Request& request) {
  return "<p>It is <strong>" + HtmlText(approval::EscapeInvisible(approval::OutcomeText(request))) + "</strong>.</p>\n";
}

std::string FormOf(const approval::Request& request, const std::string& token) {
  return fmt::format(
      "<form method=\"post\" action=\"./{}\">\n<input type=\"hidden\" name=\"token\" value=\"{}\">\n"  // below approval_base_url's path
      "<input type=\"hidden\" name=\"shown_digest\" value=\"{}\">\n"
      "<p><label>Comment<br><textarea name=\"comment\" rows=\"3\" cols=\"60\" maxlength=\"1000\"></textarea></label></p>\n"
      "<p><button name=\"decision\" value=\"approve\">Approve</button> <button name=\"decision\" value=\"reject\">Reject</button></p>\n"
      "</form>\n",
      PercentEncode(request.approval_id), HtmlText(token), approval::Render(request).digest);
}

// Why nobody can decide by the link of this endpoint; empty: one can. Who sees only a part decides on nothing here.
std::string WhyNoForm(const approval::Request& request, const std::string& endpoint, WallTime now) {
  if (approval::Render(request).truncated)
    return "Some values are cut, so it cannot be decided here. Look at all of them and decide with a key: airun approvals show";
  approval::Decision decision;
  decision.decision = "approve";
  decision.by = "link:" + endpoint;
  decision.assurance = "link";
  decision.digest = request.digest;
  const approval::Verdict verdict = approval::Decide(request, {}, decision, now);
  return verdict.kind == approval::Verdict::Kind::kRefused ? verdict.why : "";
}

struct Opened {
  std::optional<HttpResponse> refusal;
  approval::ShownApproval shown;
  std::string endpoint;
};

// Whoever has no good link is told nothing of the approval, not even that there is one.
Opened Open(const ApiContext& api, const ApprovalLinks& links, const Clock& clock, const std::string& id, const std::string& token) {
  constexpr const char* kNoLink =
      "This link is not good, or no longer. Whoever decides may ask for the approval with a key: airun approvals list";
  auto shown = api.approvals->Get(kDefaultProject, id);
  if (!shown && shown.code() != Code::kNotFound) return {Sorry(503, "It cannot be read now; try again."), {}, {}};
  if (!shown) return {Sorry(403, kNoLink), {}, {}};
  auto endpoint = links.Check(shown->request, token, clock.Wall());
  if (!endpoint) return {Sorry(403, kNoLink), {}, {}};
  return {std::nullopt, std::move(*shown), std::move(*endpoint)};
}

HttpResponse Show(const ApiContext& api, const ApprovalLinks& links, const Clock& clock, const HttpRequest& request) {
  const std::string* token = request.Query("token");
  const Opened opened = Open(api, links, clock, request.Param("approval_id"), token ? *token : "");
  if (opened.refusal) return *opened.refusal;
  const approval::Request& asked = opened.shown.request;
  if (!asked.pending()) return Page(200, "This was decided", OutcomeOf(asked));  // what was asked is nobody's business any more
  const std::string why = WhyNoForm(asked, opened.endpoint, clock.Wall());
  return Page(200, "May this go on?", TableOf(asked) + (why.empty() ? FormOf(asked, *token) : "<p>" + HtmlText(why) + "</p>\n"));
}

std::string RefusalText(const HttpResponse& refusal) {
  const Json problem = Json::parse(refusal.body, nullptr, false);
  return problem.is_object() ? problem.value("detail", "It was refused.") : "It was refused.";
}

HttpResponse DecideByForm(const ApiContext& api, const ApprovalLinks& links, const Clock& clock, const HttpRequest& request) {
  const auto form = ParseQuery(request.body);
  const auto field = [&](std::string_view name) {
    for (const auto& [key, value] : form ? *form : std::vector<std::pair<std::string, std::string>>())
      if (key == name) return value;
    return std::string();
  };
  const std::string decision = field("decision");
  const Opened opened = Open(api, links, clock, request.Param("approval_id"), field("token"));
  if (opened.refusal) return *opened.refusal;
  if (decision != "approve" && decision != "reject") return Sorry(422, "Say approve or reject.");
  if (const approval::Request& asked = opened.shown.request; asked.pending())
    if (const std::string why = WhyNoForm(asked, opened.endpoint, clock.Wall()); !why.empty()) return Sorry(403, why);
  GivenDecision given;
  given.approval_id = opened.shown.request.approval_id;
  given.payload = {{"decision", decision},
                   {"digest", opened.shown.request.digest},
                   {"shown_digest", field("shown_digest")},
                   {"by", "link:" + opened.endpoint},
                   {"assurance", "link"},
                   {"channel", "page"}};
  if (const std::string comment = field("comment"); !comment.empty()) given.payload["comment"] = comment;
  const Decided decided = Decide(api, given);
  if (decided.refusal) return Page(decided.refusal->status, "Not taken", "<p>" + HtmlText(RefusalText(*decided.refusal)) + "</p>\n");
  const approval::Request& now = decided.shown->request;
  if (now.pending()) return Page(202, "Taken", "<p>The run has not read it yet. Open the link again to see what became of it.</p>\n");
  return Page(200, "Thank you", OutcomeOf(now));
}

}  // namespace

void AddApprovalPage(Router& router, const ApiContext& api, const ApprovalLinks& links, const Clock& clock) {
  if (api.approvals == nullptr) return;
  const RouteOptions form{
      .max_body = kMostFormBytes, .content_types = {"application/x-www-form-urlencoded"}, .body_required = true, .open = true};
  router.Add("GET", "/approvals/{approval_id}", {.open = true},
             [api, &links, &clock](const HttpRequest& r) { return Show(api, links, clock, r); });
  router.Add("POST", "/approvals/{approval_id}", form,
             [api, &links, &clock](const HttpRequest& r) { return DecideByForm(api, links, clock, r); });
}

}  // namespace acl::coordinator
