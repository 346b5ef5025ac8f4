// airun approvals list, show, approve, reject; and airun workflow resume ID --decision, document 002's words for the same.
#include "cli/approvals.h"

#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/numbers.h"

namespace acl::cli {

namespace {

struct ApprovalOptions {
  std::string id, state = "PENDING";
  int count = 100;
  DecisionOptions decision;
};

std::string ApprovalPath(const std::string& id, const std::string& verb = "") {
  return "/v1/approvals/" + UrlEncode(id) + (verb.empty() ? "" : "/" + verb);
}

std::string WhoDecided(const Json& one) {
  const std::string by = TextOf(one, "decided_by");
  if (!by.empty()) return by;
  const std::size_t votes = one.value("votes", Json::array()).size();
  return TextOf(one, "needed") == "1" ? "" : std::to_string(votes) + " of " + TextOf(one, "needed");
}

void ListApprovals(Session* session, const ApprovalOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto page = (*api)->Get("/v1/approvals?limit=" + std::to_string(options.count) + "&state=" + options.state);
  if (!page) return session->Fail(page.error());
  const Json all = page->value("approvals", Json::array());
  if (session->json()) return session->PrintJson(all);
  if (all.empty()) return session->Note(options.state == "PENDING" ? "nobody is asked anything" : "there are no such approvals");
  Table table({"APPROVAL", "STATE", "WORKFLOW", "RISK", "ROLE", "ASKED", "UNTIL", "BY", "MESSAGE"});
  for (const Json& one : all) {
    table.Add({TextOf(one, "approval_id"), TextOf(one, "state"), TextOf(one, "workflow"), TextOf(one, "risk_level"),
               TextOf(one, "approver_role"), ShortTime(TextOf(one, "requested_at")), ShortTime(TextOf(one, "expires_at")), WhoDecided(one),
               Cut(TextOf(one, "message"), 80)});
  }
  session->Write(table.Text());
  if (page->contains("next_before")) session->Note("there are more: -n shows up to 1000 of the newest");
}

void PrintApproval(Session* session, const Json& one) {
  session->Print("approval  " + TextOf(one, "approval_id"));
  session->Print("state     " + TextOf(one, "state"));
  session->Print("asked     " + ShortTime(TextOf(one, "requested_at")));
  if (one.contains("expires_at")) session->Print("until     " + ShortTime(TextOf(one, "expires_at")));
  if (one.contains("approver_role")) session->Print("role      " + TextOf(one, "approver_role"));
  for (const Json& name : one.value("approvers", Json::array())) session->Print("approver  " + name.get<std::string>());
  for (const Json& role : one.value("escalated_roles", Json::array())) session->Print("also      role:" + role.get<std::string>());
  if (TextOf(one, "needed") != "1") session->Print("needed    " + TextOf(one, "needed") + " different persons");
  for (const Json& vote : one.value("votes", Json::array()))
    session->Print("approved  " + TextOf(vote, "by") + " at " + ShortTime(TextOf(vote, "at")) +
                   (vote.contains("comment") ? ": " + TextOf(vote, "comment") : ""));
  if (one.contains("decided_by")) session->Print("decided   " + TextOf(one, "decided_by") + " at " + ShortTime(TextOf(one, "decided_at")));
  if (one.contains("comment")) session->Print("comment   " + TextOf(one, "comment"));
  session->Print("\nwhat is approved");
  Table table({"WHAT", "VALUE"});
  for (const Json& line : one.value("shown", Json::array())) table.Add({TextOf(line, "name"), TextOf(line, "text")});
  session->Write(table.Text());
  if (one.value("shown_truncated", false)) session->Note("some values are cut: -o json has all of them");
}

Result<Json> GetApproval(Session* session, const std::string& id) {
  auto api = session->Api();
  if (!api) return api.error();
  return (*api)->Get(ApprovalPath(id));
}

void ShowApproval(Session* session, const std::string& id) {
  auto one = GetApproval(session, id);
  if (!one) return session->Fail(one.error());
  if (session->json()) return session->PrintJson(*one);
  PrintApproval(session, *one);
}

// What was decided on is what was looked at: --digest, or what it is now.
void DecideOn(Session* session, const std::string& id, const std::string& decision, const DecisionOptions& options) {
  Json body = {{"decision", decision}, {"digest", options.digest}, {"channel", "cli"}};
  if (options.digest.empty()) {
    auto one = GetApproval(session, id);
    if (!one) return session->Fail(one.error());
    body["digest"] = TextOf(*one, "digest");
  }
  if (!options.comment.empty()) body["comment"] = options.comment;
  if (!options.approver.empty()) body["approver"] = options.approver;
  if (!options.roles.empty()) body["roles"] = options.roles;
  auto answer = PostOnce(session, ApprovalPath(id, "decision"), body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  const std::string state = TextOf(*answer, "state");
  if (state == "PENDING") {
    const std::size_t votes = answer->value("votes", Json::array()).size();
    return session->Note(votes == 0 ? "taken; the run has not read it yet: airun approvals show " + id
                                    : std::to_string(votes) + " of " + TextOf(*answer, "needed") + " have approved " + id);
  }
  session->Note(id + " is " + state);
}

void AddDecision(CLI::App* group, Session* session, const std::string& verb, const std::string& help) {
  auto options = std::make_shared<ApprovalOptions>();
  CLI::App* command = group->add_subcommand(verb, help);
  command->add_option("id", options->id, "the approval's id: RUN:STEP")->required();
  command->add_option("--digest", options->decision.digest, "of what you looked at; else it is what is asked now");
  AddDecisionOptions(command, &options->decision);
  command->callback([=] { DecideOn(session, options->id, verb, options->decision); });
}

}  // namespace

void AddDecisionOptions(CLI::App* command, DecisionOptions* options) {
  command->add_option("--comment", options->comment, "why; kept in the journal, and an output of the step");
  command->add_option("--approver", options->approver, "who decides, where the coordinator asks for no key; else the key says it")
      ->capture_default_str();
  command->add_option("--role", options->roles, "a role of who decides, where the coordinator asks for no key");
}

void DecideOnRun(Session* session, const std::string& run, const std::string& decision, const DecisionOptions& options) {
  auto id = session->RunId(run);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto page = (*api)->Get("/v1/approvals?run=" + UrlEncode(*id));
  if (!page) return session->Fail(page.error());
  const Json pending = page->value("approvals", Json::array());
  if (pending.empty()) return session->Fail(kExitConflict, "the run waits for no approval: airun workflow status " + *id);
  if (pending.size() > 1) {
    for (const Json& one : pending) session->Note("  " + TextOf(one, "approval_id") + "  " + Cut(TextOf(one, "message"), 100));
    return session->Fail(kExitUsage, "the run waits for several approvals: decide on each, airun approvals approve|reject ID");
  }
  DecideOn(session, TextOf(pending.front(), "approval_id"), decision, options);
}

void AddApprovalCommands(CLI::App* app, Session* session) {
  CLI::App* group = app->add_subcommand("approvals", "what people are asked, and what they say");
  group->require_subcommand(1);
  auto options = std::make_shared<ApprovalOptions>();
  CLI::App* list = group->add_subcommand("list", "the newest that wait for somebody");
  list->add_option("--state", options->state, "PENDING, APPROVED, REJECTED, TIMEOUT, CANCELLED or ALL")
      ->transform(CLI::IsMember({"PENDING", "APPROVED", "REJECTED", "TIMEOUT", "CANCELLED", "ALL"}, CLI::ignore_case))
      ->capture_default_str();
  list->add_option("-n,--count", options->count, "how many")->check(WholeNumber(1, 1'000))->capture_default_str();
  list->callback([=] { ListApprovals(session, *options); });
  CLI::App* show = group->add_subcommand("show", "one, with every argument that is approved");
  show->add_option("id", options->id, "the approval's id: RUN:STEP")->required();
  show->callback([=] { ShowApproval(session, options->id); });
  AddDecision(group, session, "approve", "let the run go on");
  AddDecision(group, session, "reject", "the run is rolled back and ends FAILED");
}

}  // namespace acl::cli
