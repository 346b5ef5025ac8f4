// airun workflow status, result: one run, and what came of it.
#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "cli/run_text.h"

namespace acl::cli {

namespace {

using Colour = Session::Colour;

void PrintState(Session* session, const Json& run) {
  const Json state = run.value("state", Json::object());
  const std::string name = TextOf(state, "name");
  Shown text = session->Paint(StatusColour(name), name);
  if (std::string on = TextOf(state, "blocked_on"); !on.empty()) text += ", blocked on " + on;
  if (std::string by = TextOf(state, "holder"); !by.empty()) text += " by " + by;
  if (std::string since = TextOf(state, "since"); !since.empty()) text += ", since " + ShortTime(since);
  if (std::string wake = TextOf(state, "next_wake"); !wake.empty()) text += ", next wake " + ShortTime(wake);
  PrintField(session, "state", text);
  if (std::string deaths = TextOf(state, "worker_deaths"); !deaths.empty())
    PrintField(session, "suspect", deaths + " workers in a row died with it and no step completed: it is granted with care until one does");
}

// What a run waits for elsewhere: a line a dispatch that has not ended.
void PrintDispatches(Session* session, const Json& run) {
  for (const Json& dispatch : run.value("dispatches", Json::array())) {
    const std::string state = TextOf(dispatch, "state");
    if (state != "queued" && state != "started") continue;
    std::string text = "step " + TextOf(dispatch, "step_id") + " on queue " + TextOf(dispatch, "queue");
    if (state == "started") {
      text += ", run by " + TextOf(dispatch, "holder") + " since " + ShortTime(TextOf(dispatch, "started_at"));
    } else {
      text += ", waiting for a worker since " + ShortTime(TextOf(dispatch, "queued_at"));
    }
    if (dispatch.value("cancel_requested", false)) text += ", asked to stop";
    PrintField(session, "dispatch", text);
  }
}

// Steps that wait for their time.
void PrintWaits(Session* session, const Json& run) {
  for (const Json& step : run.value("steps", Json::array())) {
    if (std::string due = TextOf(step, "due_at"); !due.empty())
      PrintField(session, "wait", "step " + TextOf(step, "name") + " until " + ShortTime(due));
    if (std::string retry = TextOf(step, "next_retry"); !retry.empty())
      PrintField(session, "retry", "step " + TextOf(step, "name") + " at " + ShortTime(retry));
  }
}

void PrintTimes(Session* session, const Json& run) {
  PrintField(session, "created", ShortTime(TextOf(run, "created_at")));
  PrintField(session, "started", ShortTime(TextOf(run, "started_at")));
  const std::string ended = TextOf(run, "completed_at"), took = Took(TextOf(run, "started_at"), ended);
  PrintField(session, "completed", ShortTime(ended) + (took.empty() ? "" : ", after " + took));
}

// What it calls, or what it is.
std::string WhatOf(const Json& step) {
  const std::string type = TextOf(step, "step_type");
  if (type.empty()) return TextOf(step, "capability");
  if (step.contains("items")) {
    const Json& items = step["items"];
    const std::string failed = TextOf(items, "failed");
    return type + ", " + TextOf(items, "ended") + " of " + TextOf(items, "total") + " items" +
           (failed == "0" ? "" : ", " + failed + " failed");
  }
  for (const char* more : {"branch", "signal", "child"})
    if (std::string text = TextOf(step, more); !text.empty()) return type + " " + text;
  return type;
}

// The steps as they stand in each other, those of items behind their FOREACH, then compensations.
std::vector<std::pair<int, Json>> StepsInOrder(const Json& run) {
  std::vector<std::pair<int, Json>> out;
  std::map<std::string, int> depths;
  const Json items = run.value("item_steps", Json::array());
  std::size_t shown = 0;
  constexpr std::size_t kMostItemsShown = 20;
  for (const Json& step : run.value("steps", Json::array())) {
    const std::string scope = TextOf(step, "scope"), name = TextOf(step, "name");
    const int depth = scope.empty() ? 0 : depths[scope] + 1;
    depths[name] = depth;
    out.emplace_back(depth, step);
    for (const Json& item : items) {
      if (TextOf(item, "step_id").starts_with(TextOf(step, "step_id") + "[") && TextOf(item, "status") != "COMPLETED" &&
          shown++ < kMostItemsShown)
        out.emplace_back(depth + 1, item);
    }
  }
  for (const Json& undo : run.value("compensations", Json::array())) out.emplace_back(0, undo);
  return out;
}

// What a rollback left undone, and what became of it since.
void PrintLeftUndone(Session* session, const Json& run) {
  for (const Json& left : run.value("not_undone", Json::array())) {
    const std::string step = TextOf(left, "step_id");
    const Json by = left.value("finished_by", Json::object());
    const std::string decision = TextOf(by, "decision"), status = TextOf(by, "status");
    const bool again = by.empty() || (decision == "retry" && status == "FAILED");
    if (!by.empty())
      session->Note(step + (decision == "skip" ? " was given up by run " : " was tried once more by run ") + TextOf(by, "run_id") +
                    (decision == "skip" ? "" : ", which is " + status));
    if (again)
      session->Note(step + " is left: airun workflow compensate " + TextOf(run, "id") + " --step " + step +
                    " --retry|--skip --reason WHY   finishes it");
  }
}

bool PrintSteps(Session* session, const Json& run) {
  Table table({"STEP", "STATUS", "ATTEMPTS", "TOKEN", "COMPLETED", "TOOK", "CAPABILITY", "ERROR"});
  bool errors = false, assumed = false;
  for (const auto& [depth, step] : StepsInOrder(run)) {
    const std::string status = TextOf(step, "status"), word = StepWord(step);
    if (status == "NOT_NEEDED") continue;
    std::string token;
    for (const Json& row : step.value("attempt_rows", Json::array())) token = TextOf(row, "fencing_token");
    std::string attempts = TextOf(step, "attempts");
    if (std::string most = TextOf(step, "max_attempts"); !most.empty() && most != "0") attempts += "/" + most;
    if (std::string lost = TextOf(step, "attempts_lost"); !lost.empty()) attempts += ", " + lost + " lost";
    const std::string label = TextOf(step, "name").empty() ? TextOf(step, "step_id") : TextOf(step, "name");
    const std::string ended = TextOf(step, "completed_at"), error = TextOf(step, "error");
    errors |= !error.empty();
    assumed |= step.value("activity", Json::object()).value("assumed", false);
    table.Add({std::string(std::size_t(2 * depth), ' ') + Cut(label, 40), Cell(word, session->Paint(StatusColour(word), word)), attempts,
               token, ShortTime(ended), Took(TextOf(step, "started_at"), ended), WhatOf(step), Cut(error, 70)});
  }
  if (!table.empty()) session->Write("\n" + table.Text());
  if (assumed)
    session->Note("RUNNING of a pure or read step: the run's holder runs it, or next if its slots are taken; the journal shows its end");
  return errors;
}

void PrintRun(Session* session, const Json& run) {
  const std::string id = TextOf(run, "id");
  PrintField(session, "run", id);
  PrintField(session, "workflow", TextOf(run, "name") + " " + TextOf(run, "version"));
  const std::string reason = TextOf(run, "reason");
  if (run.contains("parent"))
    PrintField(session, "parent", "step " + TextOf(run["parent"], "step_id") + " of run " + TextOf(run["parent"], "run_id"));
  PrintField(session, "undoes", TextOf(run, "undo_of"));
  if (run.contains("finishes")) {
    const Json& finishes = run["finishes"];
    PrintField(session, "finishes",
               TextOf(finishes, "step_id") + " (" + TextOf(finishes, "decision") + ", by " + TextOf(finishes, "by") + ": " +
                   TextOf(finishes, "reason") + ")");
  }
  if (run.contains("continued"))
    PrintField(session, "goes on from",
               TextOf(run["continued"], "from") + " (the first was " + TextOf(run["continued"], "first") + ", " +
                   TextOf(run["continued"], "number") + " behind it)");
  PrintField(session, "goes on as", TextOf(run, "continued_as"));
  PrintField(session, "status", PaintedRunWord(*session, run) + (reason.empty() ? "" : " (" + reason + ")"));
  PrintState(session, run);
  PrintDispatches(session, run);
  PrintWaits(session, run);
  PrintField(session, "token", TextOf(run, "fencing_token"));
  PrintField(session, "journal", TextOf(run, "head_seq") + " events");
  PrintTimes(session, run);
  PrintField(session, "steps", TextOf(run, "steps_completed") + " of " + TextOf(run, "steps_total") + " completed");
  const std::string link = TextOf(run, "trace_url");
  PrintField(session, "trace", TextOf(run, "trace_id") + (link.empty() ? "" : "  " + link));
  if (run.contains("outputs")) PrintField(session, "outputs", OneLine(run["outputs"], 200));
  PrintField(session, "error", TextOf(run, "error"));
  PrintField(session, "damage", session->Paint(Colour::kRed, TextOf(run, "damage")));
  const bool errors = PrintSteps(session, run);
  for (const Json& warning : run.value("warnings", Json::array())) session->Note("warning: " + warning.get<std::string>());
  for (const Json& uncertain : run.value("uncertain", Json::array()))
    session->Note("step '" + uncertain.get<std::string>() + "' is UNCERTAIN: find out whether it happened, then airun step resolve " + id +
                  " " + uncertain.get<std::string>() + " --decision completed|failed|retry");
  PrintLeftUndone(session, run);
  if (errors) session->Note("airun step show " + id + " STEP   shows each attempt with its error");
}

Result<Json> ReadRun(Session* session, const std::string& text) {
  auto id = session->RunId(text);
  if (!id) return id.error();
  auto api = session->Api();
  if (!api) return api.error();
  return (*api)->Get("/v1/workflows/" + *id);
}

void ShowStatus(Session* session, const std::string& text) {
  auto run = ReadRun(session, text);
  if (!run) return session->Fail(run.error());
  if (session->json()) return session->PrintJson(*run);
  PrintRun(session, *run);
}

struct ResultOptions {
  std::string id;
  bool wait = false;
  double timeout = 0;
};

void ShowResult(Session* session, const ResultOptions& options) {
  auto run = ReadRun(session, options.id);
  if (run && options.wait && !IsClosed(*run)) run = WaitForEnd(session, TextOf(*run, "id"), LengthOf(options.timeout));
  if (!run) return session->Fail(run.error());
  const std::string id = TextOf(*run, "id");
  if (!IsClosed(*run))
    return session->Fail(kExitTimeout, "run " + id + " has not ended: it is " + RunWord(*run) + " (--wait waits for its end)");
  if (run->contains("outputs")) {
    auto api = session->Api();
    auto whole = api ? WholeValue(**api, (*run)["outputs"]) : Result<Json>(api.error());
    if (!whole) return session->Fail(whole.error());
    (*run)["outputs"] = std::move(*whole);
  }
  session->exit_code = ExitOfRun(*run);
  if (session->json()) {
    Json result = {{"id", id}, {"status", TextOf(*run, "status")}};
    for (const char* key : {"reason", "error", "failed_step", "outputs", "started_at", "completed_at"})
      if (run->contains(key)) result[key] = (*run)[key];
    return session->PrintJson(result);
  }
  if (TextOf(*run, "status") == "COMPLETED") return session->PrintJson(run->value("outputs", Json::object()));
  session->Note("airun: " + EndText(*run));
}

}  // namespace

void AddWorkflowStatus(CLI::App* workflow, Session* session) {
  auto id = std::make_shared<std::string>();
  CLI::App* status = workflow->add_subcommand("status", "one run: why it runs or not, its steps and attempts");
  status->add_option("id", *id, "the run: its id, or any part of it")->required();
  status->callback([=] { ShowStatus(session, *id); });

  auto options = std::make_shared<ResultOptions>();
  CLI::App* result =
      workflow->add_subcommand("result", "what a run gave: its outputs as JSON; exit 0 only if it COMPLETED, 6 if it goes on");
  result->add_option("id", options->id, "the run: its id, or any part of it")->required();
  result->add_flag("--wait", options->wait, "wait for its end first");
  result->add_option("--timeout", options->timeout, "with --wait: how long at most (90, 2m, 1h30m); exit 6 then")->transform(Duration());
  result->callback([=] { ShowResult(session, *options); });
}

}  // namespace acl::cli
