// airun step show, resolve
#include "cli/app.h"
#include "cli/format.h"
#include "cli/run_text.h"

namespace acl::cli {

namespace {

std::string StepPath(const std::string& run, const std::string& step) { return "/v1/workflows/" + run + "/steps/" + UrlEncode(step); }

// How an event is said, for those that end an attempt or the step.
std::string Said(const Json& event) {
  const std::string type = TextOf(event, "event_type"), decision = TextOf(event, "decision");
  if (type == "step.attempt_failed") return event.value("timed_out", false) ? "timed out" : "failed";
  if (type == "step.attempt_lost") return "lost, run again";
  if (type == "attempt.not_started") return "not started";
  if (type == "step.resolved") return "resolved: " + decision;
  return type.substr(type.find('.') + 1);
}

// `started_at` of an event is when the step began: its first attempt, the waits between attempts included.
std::string LengthOfAttempt(const Json& event, const std::string& begun, bool first) {
  if (event.contains("duration_ms")) return LengthText(IntOf(event, "duration_ms"));
  return Took(begun.empty() && first ? TextOf(event, "started_at") : begun, TextOf(event, "at"));
}

// One row an event; the start of a journaled attempt gives the length of what ends it.
void PrintHistory(Session* session, const Json& history) {
  Table table({"AT", "ATTEMPT", "WHAT", "TOOK", "WORKER", "TOKEN", "ERROR"});
  std::string begun;
  bool first = true;
  Json errors = Json::array();
  for (const Json& event : history) {
    const std::string type = TextOf(event, "event_type");
    const bool starts = type == "step.started" || type == "step.dispatched" || type == "step.waiting";
    const bool counts = type != "step.retry_due" && type != "step.resolved";
    std::string error = TextOf(event, "error");
    if (error.empty()) error = TextOf(event, "why");
    table.Add({ShortTime(TextOf(event, "at")), TextOf(event, "attempt"), Said(event),
               starts || !counts ? "" : LengthOfAttempt(event, begun, first), TextOf(event, "worker"), TextOf(event, "fencing_token"),
               Cut(error, 60)});
    first = first && (starts || !counts);
    begun = starts ? TextOf(event, "at") : counts ? "" : begun;
    if (error.size() > 60 || error.find('\n') != std::string::npos) errors.push_back(error);
  }
  if (!table.empty()) session->Write("\n" + table.Text());
  for (const Json& error : errors) session->Write("\n" + Indented("  " + error.get<std::string>(), 2) + "\n");
}

void PrintActivity(Session* session, const Json& step) {
  const Json activity = step.value("activity", Json::object());
  std::string text;
  if (std::string holder = TextOf(activity, "holder"); !holder.empty()) text += "by " + holder;
  if (std::string queue = TextOf(activity, "queue"); !queue.empty()) text += "on queue " + queue;
  if (std::string since = TextOf(activity, "since"); !since.empty()) text += " since " + ShortTime(since);
  if (activity.value("assumed", false)) text += ", or next if its slots are taken (the journal shows its end)";
  PrintField(session, "now", text);
}

void PrintStep(Session* session, const Json& step) {
  const std::string word = StepWord(step), most = TextOf(step, "max_attempts");
  PrintField(session, "run", TextOf(step, "workflow_id") + ", " + TextOf(step, "run_status"));
  PrintField(session, "step", TextOf(step, step.contains("name") ? "name" : "step_id"));
  PrintField(session, "capability", TextOf(step, "capability"));
  PrintField(session, "status", session->Paint(StatusColour(word), word));
  PrintActivity(session, step);
  PrintField(session, "attempts", TextOf(step, "attempts") + (most.empty() || most == "0" ? "" : " of " + most));
  PrintField(session, "started", ShortTime(TextOf(step, "started_at")));
  const std::string ended = TextOf(step, "completed_at"), took = Took(TextOf(step, "started_at"), ended);
  PrintField(session, "completed", ShortTime(ended) + (took.empty() ? "" : ", after " + took));
  PrintField(session, "next retry", ShortTime(TextOf(step, "next_retry")));
  PrintField(session, "until", ShortTime(TextOf(step, "due_at")));
  PrintField(session, "error", TextOf(step, "error"));
  if (step.contains("missing")) PrintField(session, "unanswered", OneLine(step["missing"], 200));
  PrintHistory(session, step.value("history", Json::array()));
  if (step.value("history_cut", false)) session->Note("these are the last events; airun workflow events RUN shows all");
  if (const auto undo = step.find("compensation"); undo != step.end()) {
    session->Print("\ncompensation " + TextOf(*undo, "capability") + ": " + StepWord(*undo) +
                   (TextOf(*undo, "error").empty() ? "" : ": " + TextOf(*undo, "error")));
    PrintHistory(session, undo->value("history", Json::array()));
  }
  if (step.contains("outputs")) {
    session->Print("\noutputs");
    session->PrintJson(step["outputs"]);
  }
}

void ShowStep(Session* session, const std::string& run, const std::string& step) {
  auto id = session->RunId(run);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto answer = (*api)->Get(StepPath(*id, step));
  if (!answer) return session->Fail(answer.error());
  if (answer->contains("outputs")) {
    auto whole = WholeValue(**api, (*answer)["outputs"]);
    if (!whole) return session->Fail(whole.error());
    (*answer)["outputs"] = std::move(*whole);
  }
  if (session->json()) return session->PrintJson(*answer);
  PrintStep(session, *answer);
}

struct ResolveOptions {
  std::string run, step, decision, outputs;
};

void Resolve(Session* session, const ResolveOptions& options) {
  auto id = session->RunId(options.run);
  if (!id) return session->Fail(id.error());
  Json body = {{"decision", options.decision}};
  if (!options.outputs.empty()) {
    if (options.decision != "completed") return session->Fail(kExitUsage, "--outputs goes with --decision completed only");
    auto outputs = ParseJson(options.outputs);
    if (!outputs || !outputs->is_object())
      return session->Fail(kExitUsage, "--outputs takes a JSON object" + (outputs ? std::string() : ": " + outputs.message()));
    body["outputs"] = std::move(*outputs);
  }
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto answer = (*api)->Post(StepPath(*id, options.step) + "/resolve", body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Note("step '" + options.step + "': " + options.decision);
}

}  // namespace

void AddStepCommands(CLI::App* app, Session* session) {
  CLI::App* step = app->add_subcommand("step", "single steps of a run");
  step->require_subcommand(1);
  auto options = std::make_shared<ResolveOptions>();
  CLI::App* show = step->add_subcommand("show", "one step: what it does now, its attempts with errors and lengths, outputs, compensation");
  show->add_option("run", options->run, "the run: its id, or any part of it")->required();
  show->add_option("step", options->step, "the step")->required();
  show->callback([=] { ShowStep(session, options->run, options->step); });
  CLI::App* resolve = step->add_subcommand("resolve", "say what happened to a step whose outcome is unknown");
  resolve->add_option("run", options->run, "the run: its id, or any part of it")->required();
  resolve->add_option("step", options->step, "the step")->required();
  resolve->add_option("--decision", options->decision, "completed, failed or retry")
      ->required()
      ->check(CLI::IsMember({"completed", "failed", "retry"}));
  resolve->add_option("--outputs", options->outputs, "with completed: its outputs, a JSON object");
  resolve->callback([=] { Resolve(session, *options); });
}

}  // namespace acl::cli
