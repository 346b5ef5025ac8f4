// airun workflow batch FILE LINES: many runs of one workflow, a line of inputs each.
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/inputs.h"
#include "cli/numbers.h"
#include "cli/run_text.h"
#include "shared/definition/loader.h"

namespace acl::cli {

namespace {

constexpr std::size_t kMostLinesBytes = 256u << 20;
// Of one request; the server takes 1,000 runs and 16 MiB.
constexpr std::size_t kRunsAtOnce = 1'000, kBytesAtOnce = 8u << 20;

struct BatchOptions {
  std::shared_ptr<DefinitionFileOptions> definition = std::make_shared<DefinitionFileOptions>();
  std::string lines, idempotency_key;
  bool wait = false;
  double timeout = 0;
};

struct Line {
  std::size_t number = 0;  // in the file, from 1
  Json run;                // {"inputs", "labels"?}
  std::string id, error;   // what became of it
};

// Every line is checked before the first run is made; at most so many mistakes are told.
Result<std::vector<Line>> ReadLines(const WorkflowDefinition& definition, const std::string& text, const Json& common, const Json& labels) {
  constexpr int kMostShown = 20;
  std::vector<Line> lines;
  std::string wrong;
  int mistakes = 0;
  std::size_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string one = text.substr(from, end - from);
    from = end + 1;
    ++number;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto inputs = ParseJson(one);
    std::string why = !inputs ? inputs.message() : inputs->is_object() ? "" : "a line is a JSON object of inputs";
    if (why.empty()) {
      Json all = common;
      all.update(*inputs);
      if (Status checked = CheckRunInputs(definition, all); !checked) why = checked.message();
      lines.push_back({number, {{"inputs", std::move(all)}}, "", ""});
      if (!labels.empty()) lines.back().run["labels"] = labels;
    }
    if (!why.empty() && ++mistakes <= kMostShown) wrong += "\n  line " + std::to_string(number) + ": " + why;
  }
  if (mistakes > kMostShown) wrong += "\n  and " + std::to_string(mistakes - kMostShown) + " more lines";
  if (mistakes > 0) return Error{Code::kInvalid, "no run was made:" + wrong};
  if (lines.empty()) return Error{Code::kInvalid, "there is no line with inputs; a run without inputs is the line {}"};
  return lines;
}

// The lines from `from` that go with one request.
std::size_t EndOfRequest(const std::vector<Line>& lines, std::size_t from) {
  std::size_t bytes = 0, to = from;
  while (to < lines.size() && to - from < kRunsAtOnce && (to == from || bytes < kBytesAtOnce)) bytes += DumpedBytes(lines[to++].run);
  return to;
}

Status Send(Session* session, const Json& definition, const BatchOptions& options, std::vector<Line>& lines) {
  for (std::size_t from = 0, request = 0; from < lines.size(); ++request) {
    const std::size_t to = EndOfRequest(lines, from);
    Json body = definition;
    body["runs"] = Json::array();
    for (std::size_t i = from; i < to; ++i) body["runs"].push_back(lines[i].run);
    const std::string key = options.idempotency_key.empty() ? "" : options.idempotency_key + "-" + std::to_string(request);
    auto answer = PostOnce(session, "/v1/workflows/batch", body, key);
    if (!answer) {
      const std::string made = from == 0 ? "" : "; the first " + std::to_string(from) + " runs were made";
      return Error{answer.code(), answer.message() + made};
    }
    const Json runs = answer->value("runs", Json::array());
    for (std::size_t i = from; i < to; ++i) {
      const Json one = i - from < runs.size() ? runs[i - from] : Json::object();
      lines[i].id = TextOf(one, "id");
      if (lines[i].id.empty()) lines[i].error = TextOf(one.value("error", Json::object()), "message");
      if (!lines[i].id.empty() && !session->json() && !options.wait) session->Print(lines[i].id);
    }
    from = to;
  }
  return {};
}

// Waits for one run after the other: while one is waited for, the others go on.
void AwaitAll(Session* session, const BatchOptions& options, std::vector<Line>& lines, Json& results) {
  const SystemClock clock;
  const SteadyTime begun = clock.Steady();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].id.empty()) continue;
    auto left = LengthOf(options.timeout);
    if (left.count() > 0) {
      const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(clock.Steady() - begun);
      left = std::max(left - passed, std::chrono::milliseconds(1));
    }
    auto end = WaitForEnd(session, lines[i].id, left);
    if (!end) return session->Fail(end.error());
    results[i]["status"] = TextOf(*end, "status");
    for (const char* key : {"reason", "error", "outputs"})
      if (end->contains(key)) results[i][key] = (*end)[key];
    if (!session->json()) session->Print(lines[i].id + "  " + PaintedRunWord(*session, *end));
    if (ExitOfRun(*end) == kExitOk) continue;
    session->exit_code = kExitFailure;
    session->Note("airun: line " + std::to_string(lines[i].number) + ": " + EndText(*end));
  }
}

void Batch(Session* session, const BatchOptions& options) {
  auto read = ReadDefinitionText(session, *options.definition);
  if (!read) return session->Fail(read.error());
  auto common = ReadInputs(session, read->definition, options.definition->inputs_file, options.definition->inputs);
  auto labels = ReadLabels(options.definition->labels);
  if (!common) return session->Fail(common.error());
  if (!labels) return session->Fail(labels.error());
  auto text = ReadNamed(session, options.lines, kMostLinesBytes);
  if (!text) return session->Fail(text.error());
  auto lines = ReadLines(read->definition, *text, *common, *labels);
  if (!lines) return session->Fail(lines.error());
  const Status sent = Send(session, read->body, options, *lines);
  Json results = Json::array();
  for (const Line& line : *lines) {
    results.push_back({{"line", line.number}});
    if (!line.id.empty()) results.back()["id"] = line.id;
    if (!line.error.empty()) results.back()["error"] = line.error;
    if (line.error.empty()) continue;
    session->Fail(kExitFailure, "line " + std::to_string(line.number) + ": " + line.error);
  }
  if (sent && options.wait) AwaitAll(session, options, *lines, results);
  if (session->json()) session->PrintJson(results);
  if (!sent) session->Fail(sent.error());
}

}  // namespace

void AddWorkflowBatch(CLI::App* workflow, Session* session) {
  auto options = std::make_shared<BatchOptions>();
  CLI::App* command =
      workflow->add_subcommand("batch", "many runs of one workflow file, a line of inputs each; prints their ids in that order");
  AddDefinitionFileOptions(command, options->definition);
  command->add_option("lines", options->lines, "the runs: a JSON object of inputs a line, over those of -i and --inputs; - for stdin")
      ->required();
  command->add_option("--idempotency-key", options->idempotency_key, "the same key and lines again give the same runs, no further ones");
  command->add_flag("--wait", options->wait, "wait for all of them; exit 0 only if every one COMPLETED");
  command->add_option("--timeout", options->timeout, "with --wait: how long at most (90, 2m, 1h30m); exit 6 then")->transform(Duration());
  command->callback([=] { Batch(session, *options); });
}

}  // namespace acl::cli
