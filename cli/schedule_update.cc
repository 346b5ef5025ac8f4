// airun schedule update: what is given changes, the rest stays.
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/inputs.h"
#include "cli/numbers.h"
#include "shared/definition/loader.h"
#include "shared/schedule/due.h"

namespace acl::cli {

namespace {

struct UpdateOptions {
  std::shared_ptr<DefinitionFileOptions> definition = std::make_shared<DefinitionFileOptions>();
  std::string name;
  std::optional<std::string> cron, zone, overlap;
  std::optional<std::int64_t> catchup;
};

// The workflow that the schedule is to have: the file's, or the one it has.
Result<ReadDefinition> WorkflowOf(Session* session, const UpdateOptions& options, const Json& now) {
  if (!options.definition->file.empty()) return ReadDefinitionText(session, *options.definition);
  const std::string text = TextOf(now, "workflow");
  Loaded loaded = LoadWorkflow(text, session->Capabilities(), {.for_submit = true});
  if (!loaded.ok()) return Error{Code::kCorrupt, "the schedule's workflow has errors by now; give a file: --file FILE"};
  return ReadDefinition{std::move(*loaded.definition), {{"workflow", text}}};
}

// The definition with its changes: the body of PUT.
Result<Json> Changed(Session* session, const UpdateOptions& options, const Json& now) {
  auto workflow = WorkflowOf(session, options, now);
  if (!workflow) return workflow.error();
  auto given = ReadInputs(session, workflow->definition, options.definition->inputs_file, options.definition->inputs);
  if (!given) return given;
  Json inputs = now.value("inputs", Json::object()), labels = now.value("labels", Json::object());
  inputs.update(*given);
  if (Status checked = CheckRunInputs(workflow->definition, inputs, "scheduled_time"); !checked) return checked.error();
  auto more = ReadLabels(options.definition->labels);
  if (!more) return more;
  labels.update(*more);
  Json body = std::move(workflow->body);
  body["inputs"] = std::move(inputs);
  body["labels"] = std::move(labels);
  body["name"] = options.name;
  for (const char* kept : {"cron", "zone", "overlap", "catchup_seconds", "version"})
    if (now.contains(kept)) body[kept] = now[kept];
  if (options.cron) body["cron"] = *options.cron;
  if (options.zone) body["zone"] = *options.zone;
  if (options.overlap) body["overlap"] = *options.overlap;
  if (options.catchup) body["catchup_seconds"] = *options.catchup;
  return body;
}

void Update(Session* session, const UpdateOptions& options) {
  if (options.cron) {
    if (auto cron = schedule::ParseCron(*options.cron); !cron) return session->Fail(kExitUsage, "--cron: " + cron.message());
  }
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const std::string path = "/v1/schedules/" + UrlEncode(options.name);
  auto now = (*api)->Get(path);
  if (!now) return session->Fail(now.error());
  auto body = Changed(session, options, *now);
  if (!body) return session->Fail(body.error());
  auto answer = (*api)->Put(path, *body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  const Json next = answer->value("next_fires", Json::array());
  session->Note("changed " + options.name +
                (next.empty() ? "" : ": next " + TextOf(next[0], "local") + (answer->value("paused", false) ? " once it is resumed" : "")));
}

}  // namespace

void AddScheduleUpdate(CLI::App* schedule, Session* session) {
  auto options = std::make_shared<UpdateOptions>();
  CLI::App* command = schedule->add_subcommand("update", "change a schedule: what is given changes, the rest stays");
  command->add_option("name", options->name, "the schedule")->required();
  command->add_option("--file", options->definition->file, "another workflow file (- for stdin)");
  AddInputOptions(command, options->definition);
  command->add_option("--label", options->definition->labels, "a label, NAME=VALUE, over those it has")->allow_extra_args(false);
  command->add_option("--cron", options->cron, "when: 5 fields, 6 with seconds first, or @daily and the like");
  command->add_option("--zone", options->zone, "utc or an IANA name, whose clocks the expression means");
  command->add_option("--overlap", options->overlap, "a fire time while a run is open: skip, buffer_one, cancel_other or allow")
      ->check(CLI::IsMember({"skip", "buffer_one", "cancel_other", "allow"}));
  command->add_option("--catchup", options->catchup, "seconds by which a fire time may be late and is still made up")
      ->check(WholeNumber(0, schedule::kMaxCatchup));
  command->callback([=] {
    const bool nothing = options->definition->file.empty() && options->definition->inputs.empty() &&
                         options->definition->inputs_file.empty() && options->definition->labels.empty() && !options->cron &&
                         !options->zone && !options->overlap && !options->catchup;
    if (nothing) return session->Fail(kExitUsage, "airun schedule update: nothing to change was given");
    Update(session, *options);
  });
}

}  // namespace acl::cli
