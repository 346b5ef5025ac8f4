#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "shared/base/utf8.h"
#include "shared/capability/command_line.h"
#include "shared/capability/handlers.h"
#include "shared/capability/layout.h"
#include "shared/capability/places.h"
#include "shared/capability/process.h"

namespace acl {

namespace {

using Outcome = StepResult::Outcome;

// The program's file, looked up in the configured folders only: the caller's PATH and working directory have no say.
Result<std::string> FindProgram(const ExecConfig& config, const std::string& name) {
  if (std::find(config.allowed_programs.begin(), config.allowed_programs.end(), name) == config.allowed_programs.end()) {
    const bool line = name.find_first_of(" \t") != std::string::npos;
    return Error{Code::kDenied, fmt::format("program '{}' is not allowed; this worker allows: {} (its setting allowed_programs){}",
                                            name.substr(0, 100), fmt::join(config.allowed_programs, " "),
                                            line ? "; it is one word, as `args` is given or it came from an input: the arguments go into "
                                                   "`args`, which may be a whole list from an input (args: \"{{list}}\")"
                                                 : "")};
  }
  if (name.find('/') != std::string::npos) return Error{Code::kDenied, fmt::format("'{}': a program is named without its folder", name)};
  for (const auto& folder : config.program_folders) {
    std::string path = folder + "/" + name;
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return Error{Code::kNotFound,
               fmt::format("program '{}' is not installed on this worker (looked in {})", name, fmt::join(config.program_folders, ", "))};
}

Result<std::vector<std::string>> Words(const Json& parameters) {
  std::string command = StringOf(parameters, "command");
  auto args = parameters.find("args");
  if (args == parameters.end()) return SplitCommand(command);
  std::vector<std::string> words{command};
  for (const auto& item : *args) {
    if (item.is_string()) {
      words.push_back(item.get<std::string>());
    } else if (item.is_number() || item.is_boolean()) {
      words.push_back(item.dump());
    } else {
      return Error{Code::kInvalid, "args: each must be a string or a number"};
    }
  }
  return words;
}

std::string BadArguments(const Json& args) {
  const bool wrong =
      args.is_array() && std::any_of(args.begin(), args.end(), [](const Json& one) { return one.is_structured() || one.is_null(); });
  return wrong ? "must hold strings or numbers only" : "";
}

// Could the byte be part of a path's name? Anything outside of ASCII could.
bool InName(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::strchr("._-~+@%/", c) != nullptr;
}

// The logical root in an argument is the folder of this attempt, wherever it stands as a whole first part of a path: before it the start, a
// byte that is in no name (`--out=/workspace/x`, `'/workspace/x'`) or a one-letter option (`-I/workspace/x`); after it `/`, the end or such
// a byte. In what the program says, the other way round.
void ToReal(std::string& argument, const std::string& root) {
  for (auto at = argument.find(kLogicalRoot); at != std::string::npos; at = argument.find(kLogicalRoot, at)) {
    const auto end = at + kLogicalRoot.size();
    const bool begins = at == 0 || !InName(argument[at - 1]) || (at == 2 && argument[0] == '-' && argument[1] != '-');
    const bool ends = end == argument.size() || argument[end] == '/' || !InName(argument[end]);
    if (begins && ends) argument.replace(at, kLogicalRoot.size(), root);
    at += begins && ends ? root.size() : kLogicalRoot.size();
  }
}
std::string ToLogical(std::string text, const std::string& root) {
  for (auto at = text.find(root); at != std::string::npos; at = text.find(root, at + kLogicalRoot.size()))
    text.replace(at, root.size(), kLogicalRoot);
  return text;
}

std::vector<std::string> Environment(const ExecConfig& config, const CallContext& context, const Layout& layout) {
  std::map<std::string, std::string> all{{"LANG", "C.UTF-8"}, {"LC_ALL", "C.UTF-8"}, {"TZ", "UTC"}};
  for (const auto& [name, value] : config.environment) all[name] = value;
  all["PATH"] = fmt::format("{}", fmt::join(config.program_folders, ":"));
  all["HOME"] = layout.root();
  all["PWD"] = layout.root();
  all["TMPDIR"] = layout.temporary();
  all["IDEMPOTENCY_KEY"] = context.call.step.idempotency_key;
  all["FENCING_TOKEN"] = std::to_string(context.call.token.value);
  all["FENCING_SCOPE"] = context.call.scope;
  if (!context.traceparent.empty()) all["TRACEPARENT"] = context.traceparent;
  std::vector<std::string> out;
  for (const auto& [name, value] : all) out.push_back(name + "=" + value);
  return out;
}

// "exit code 2: last lines of what it said", for a caller that asked for failures (`check`).
StepResult FailedExit(const std::string& program, int exit_code, const std::string& out, const std::string& err) {
  constexpr std::size_t kMost = 2'000;
  std::string said = StorableText(err.find_first_not_of(" \t\r\n") == std::string::npos ? out : err);
  said.erase(said.find_last_not_of(" \t\r\n") + 1);
  if (said.size() > kMost) said = "..." + StorableText(std::string_view(said).substr(said.size() - kMost));
  return Failed(fmt::format("'{}' ended with exit code {}{}{}", program, exit_code, said.empty() ? "" : ": ", said), true);
}

// Its own timeout, and the step's; both count from here.
std::chrono::steady_clock::time_point DeadlineOf(double seconds, const CallContext& context) {
  using std::chrono::steady_clock;
  const auto own = seconds > 0 ? std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds))
                               : steady_clock::duration(context.timeout);
  return steady_clock::now() + std::min<steady_clock::duration>(own, context.timeout);
}

constexpr int kMostExecSeconds = 7 * 86'400;
constexpr std::size_t kMostInput = 1u << 20;

StepResult Run(const CapabilityConfig& config, Places& places, const Json& parameters, CallContext& context) {
  auto words = Words(parameters);
  if (!words) return Failed(words.error());
  auto program = FindProgram(config.exec, words->front());
  if (!program) return Failed(program.error());
  const double seconds = NumberOf(parameters, "timeout", 0);
  if (parameters.contains("timeout") && !(seconds > 0 && seconds <= kMostExecSeconds))
    return Failed("timeout must be more than 0 and at most 604800 seconds");
  std::size_t size = 0;
  for (const auto& word : *words) {
    if (word.find('\0') != std::string::npos) return Failed("args must not hold NUL");
    size += word.size() + 1;
  }
  if (size > config.exec.max_argument_bytes) {
    return Failed(fmt::format("args have {} bytes, {} are allowed; hand large input over in a file", size, config.exec.max_argument_bytes));
  }

  std::string input = StringOf(parameters, "stdin");
  if (input.size() > kMostInput)
    return Failed(fmt::format("stdin has {} bytes, {} are allowed; hand large input over in a file", input.size(), kMostInput));
  const auto stopped = [&] { return context.stop.stopped(); };
  const auto place = places.Take(stopped, [&] { context.stop.Wait(); });
  if (!place) return Ended(Outcome::kNotStarted, "stopped before it began");
  if (context.stop.waits()) context.stop.Begin(std::chrono::steady_clock::now());
  const auto deadline = DeadlineOf(seconds, context);
  auto layout = Layout::Make(*context.workspace);
  if (!layout) return Failed(layout.error());
  const std::string& root = (*layout)->root();
  ProcessRequest request;
  request.program = *program;
  request.name = words->front();
  request.arguments.assign(words->begin() + 1, words->end());
  for (auto& argument : request.arguments) ToReal(argument, root);
  request.environment = Environment(config.exec, context, **layout);
  request.folder = root;
  request.input = std::move(input);
  request.max_output_bytes = config.exec.max_output_bytes;
  request.max_memory_bytes = config.exec.max_memory_bytes;
  request.max_file_bytes = config.files.max_file_bytes;
  request.max_processes = config.exec.max_processes;
  request.max_open_files = config.exec.max_open_files;
  request.deadline = deadline;
  request.stopped = stopped;

  // Laying out its files may have taken long.
  if (context.stop.stopped()) return Ended(Outcome::kNotStarted, "stopped before it began");
  if (std::chrono::steady_clock::now() >= request.deadline) return Ended(Outcome::kTimedOut, "its time was over before it was begun");
  auto run = RunProcess(request);
  if (!run) return Failed(run.error());
  if (run->left_alive > 0)
    return Ended(Outcome::kUnknown,
                 fmt::format("'{}' has ended, and processes that it started could not be killed; they may still work", words->front()));
  switch (run->end) {
    case ProcessResult::End::kTimedOut:
      return Ended(Outcome::kUnknown, fmt::format("'{}' was killed at its timeout, with everything it started; its changes to files are "
                                                  "dropped, what else it did is not known",
                                                  words->front()));
    case ProcessResult::End::kStopped:
      return Ended(Outcome::kCancelled,
                   fmt::format("'{}' was killed because the step was stopped; its changes to files are dropped", words->front()));
    default: break;
  }
  if (run->guard_lost)
    return Ended(Outcome::kUnknown,
                 fmt::format("the process that watches '{}' was stopped or killed; what it did is not known", words->front()));
  std::vector<std::string> warnings;
  if (auto collected = (*layout)->Collect(warnings); !collected) {
    // It ran to its end and may have done its work outside: what the disk or the store refuses now is no reason to run it again.
    const std::string why =
        fmt::format("'{}' has run, and its changes to files could not be taken: {}", words->front(), collected.message());
    return collected.code() == Code::kInvalid ? Failed(why) : Ended(Outcome::kUnknown, why);
  }

  // As a shell reports a signal.
  int exit_code = run->end == ProcessResult::End::kSignalled ? 128 + run->signal : run->exit_code;
  if (exit_code != 0 && parameters.value("check", false)) {
    return FailedExit(words->front(), exit_code, ToLogical(std::move(run->out), root), ToLogical(std::move(run->err), root));
  }
  Json outputs{{"stdout", StorableText(ToLogical(std::move(run->out), root))},
               {"stderr", StorableText(ToLogical(std::move(run->err), root))},
               {"exit_code", exit_code},
               {"success", exit_code == 0}};
  if (run->out_truncated) outputs["stdout_truncated"] = true;
  if (run->err_truncated) outputs["stderr_truncated"] = true;
  if (!warnings.empty()) outputs["warnings"] = warnings;
  return Done(std::move(outputs));
}

}  // namespace

void AddExec(CapabilityRegistry& registry, const ConfigPtr& config) {
  CapabilityDefinition exec;
  exec.id = kRunProgram;
  exec.summary = "Run a program on the run's files.";
  exec.docs =
      "A worker starts the programs of its setting `allowed_programs`; without it ls, cat, echo, pwd, whoami, grep, wc, head and tail, of "
      "which none starts others. No shell: `command` is a bare program name with `args`, or, without `args`, a line that is split like a "
      "shell's but without any "
      "expansion. References in such a line are filled in after it is split: a value stays one word whatever it holds, an empty one is an "
      "empty argument, and several arguments come as a list (`args: \"{{list}}\"`). A value that begins with `-` is still an option to "
      "its program: put `--` before it where the program knows that. The program "
      "sees the run's files in its working directory, a clean environment with IDEMPOTENCY_KEY, "
      "FENCING_TOKEN, "
      "FENCING_SCOPE and TRACEPARENT, and on its standard input what `stdin` says. In arguments `/workspace` is replaced by that directory "
      "wherever a path begins "
      "with it: at the "
      "start of "
      "an argument, after a one-letter option (`-I/workspace/x`) or after a character that no name has (`--out=/workspace/x`, a quote, a "
      "space, a "
      "colon; not after letters, digits or any of `._-~+@%/`), and followed by `/`, by the end or by such a character. The program is "
      "killed with everything it started at its timeout. An exit code other than 0 is a result "
      "(look at `exit_code`), unless `check` is true. What it changed in its folder becomes part of the run. As nobody knows whether the "
      "program honours the key, an attempt "
      "that was lost half "
      "way is UNCERTAIN unless the step says `on_unknown_outcome`. Example: `inputs: {command: python3, args: [tool.py, --out, "
      "result.csv], timeout: 60}`";
  exec.parameters = {
      {.name = "command",
       .type = "string",
       .description = "program name, or the whole line if there are no args; values stay one word",
       .required = true},
      {.name = "args", .type = "array", .description = "arguments, each a string", .check_literal = BadArguments},
      {.name = "stdin", .type = "string", .description = "what the program reads on its standard input, at most 1 MiB; nothing without it"},
      {.name = "check",
       .type = "boolean",
       .description = "an exit code other than 0 is a failed attempt, which is tried again as the step says, and its files are dropped",
       .default_value = Json(false)},
      {.name = "timeout",
       .type = "float",
       .description = "seconds, if less than the step's `timeout_seconds`",
       .check_literal = BadSeconds<kMostExecSeconds>}};
  exec.results = {Out("stdout", "string", "at most 1 MiB of it"),
                  Out("stderr", "string", "at most 1 MiB of it"),
                  Out("exit_code", "integer", "128 + n if signal n ended it"),
                  Out("success", "boolean", "exit code 0"),
                  OutIf("stdout_truncated", "boolean", "only if some was dropped"),
                  OutIf("stderr_truncated", "boolean", "only if some was dropped"),
                  OutIf("warnings", "array", "only if something in its folder was ignored: links, FIFOs, names that cannot be stored")};
  exec.effect = EffectClass::kNonIdempotent;
  exec.retry_delay = std::chrono::seconds(1);
  exec.risk = RiskLevel::kHigh;
  exec.false_success = FalseSuccess::kResult;
  exec.needs_confirmation = true;
  exec.undo = UndoKind::kFiles;
  exec.default_timeout = std::chrono::seconds(30);
  const int processors = std::max(1, int(std::thread::hardware_concurrency()));
  auto places = std::make_shared<Places>(config->exec.at_once > 0 ? config->exec.at_once : 4 * processors);
  registry.Add(std::move(exec),
               [config, places](const Json& parameters, CallContext& context) { return Run(*config, *places, parameters, context); });
}

}  // namespace acl
