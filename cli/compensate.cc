// airun workflow compensate: a compensation that could not succeed is tried once more, or given up.
#include "cli/actor.h"
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/inputs.h"
#include "cli/run_text.h"
#include "shared/http/url.h"

namespace acl::cli {

namespace {

struct CompensateOptions {
  std::string id, step, reason, by, idempotency_key;
  bool retry = false, skip = false, wait = false;
  double timeout = 0;
};

void Compensate(Session* session, const CompensateOptions& options) {
  if (!options.retry && !options.skip)
    return session->Fail(kExitUsage, "say what is to become of it: --retry (it is called again) or --skip (it is given up)");
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  const Json body = {{"decision", options.skip ? "skip" : "retry"}, {"reason", options.reason}, {"by", ActorOf(session, options.by)}};
  auto answer =
      PostOnce(session, "/v1/workflows/" + *id + "/steps/" + PercentEncode(options.step) + "/compensate", body, options.idempotency_key);
  if (!answer) return session->Fail(answer.error());
  const std::string made = TextOf(*answer, "id");
  if (!options.wait) {
    if (session->json()) return session->PrintJson(*answer);
    return session->Note((options.skip ? "gave up " : "trying once more ") + TextOf(*answer, "step_id") + " of run " +
                         TextOf(*answer, "undo_of") + ": run " + made);
  }
  auto run = WaitForEnd(session, made, LengthOf(options.timeout));
  if (!run) return session->Fail(run.error());
  const bool undone = TextOf(*run, "status") == "ROLLED_BACK";
  session->exit_code = undone || options.skip ? kExitOk : kExitFailure;
  if (session->json()) return session->PrintJson(*run);
  session->Note(undone ? TextOf(*answer, "step_id") + " is undone, by run " + made : "airun: " + EndText(*run));
}

}  // namespace

void AddWorkflowCompensate(CLI::App* workflow, Session* session) {
  auto options = std::make_shared<CompensateOptions>();
  CLI::App* command = workflow->add_subcommand("compensate", "finish a compensation that failed: try it once more, or give it up");
  command->add_option("id", options->id, "the run that ended FAILED: its id, or any part of it")->required();
  command->add_option("--step", options->step, "the step that is to be undone, or its compensation as `status` names it")->required();
  auto* retry = command->add_flag("--retry", options->retry, "call it again, under the key of the first time");
  command->add_flag("--skip", options->skip, "call nothing: it was undone by hand, or need not be")->excludes(retry);
  command->add_option("--reason", options->reason, "why; kept in the journal")->required();
  command->add_option("--by", options->by, "who decides, where the coordinator asks for no key; else the key says it");
  command->add_flag("--wait", options->wait, "until it is over; exit 0 if it is undone, or given up");
  command->add_option("--timeout", options->timeout, "with --wait: how long at most (90, 2m, 1h30m); exit 6 then")->transform(Duration());
  command->add_option("--idempotency-key", options->idempotency_key, "the same key again decides nothing anew");
  command->callback([=] { Compensate(session, *options); });
}

}  // namespace acl::cli
