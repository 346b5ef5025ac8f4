// airun agent: sessions of agents, which move or rest (docs/guides/agents.md).
#include <fmt/format.h>

#include "cli/actor.h"
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/inputs.h"
#include "cli/run_text.h"
#include "cli/upload.h"

namespace acl::cli {

namespace {

struct AgentOptions {
  std::string file, id, project, message, note, text, mode = "followup", payload, reason, by, status, decision, comment, idempotency_key;
  std::vector<std::string> files, removed;
  std::int64_t move = 0, after = 0;
  int count = 50;
  bool follow = false, all = false, quiet = false;
};

constexpr std::size_t kMostFile = 1u << 20;

std::string PathOf(const std::string& id, const std::string& rest = "") { return "/v1/agents/" + UrlEncode(id) + rest; }

std::string InProjectOf(Session* session, const AgentOptions& options, const char* before) {
  const std::string project = ProjectNamed(session, options.project);
  return project.empty() ? "" : std::string(before) + "project=" + UrlEncode(project);
}

void PrintFindings(Session* session, const Json& findings) {
  for (const Json& finding : findings) session->Note(TextOf(finding, "text"));
}

void StartAgent(Session* session, const AgentOptions& options) {
  auto text = ReadNamed(session, options.file, kMostFile);
  if (!text) return session->Fail(text.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  Json body = {{"agent", *text}, {"file", options.file}, {"by", ActorOf(session, options.by)}};
  if (const std::string project = ProjectNamed(session, options.project); !project.empty()) body["project"] = project;
  if (!options.message.empty()) body["message"] = options.message;
  if (!options.note.empty()) body["note"] = options.note;
  if (!options.files.empty()) {
    auto files = Upload(session, **api, options.files);
    if (!files) return session->Fail(files.error());
    body["files"] = std::move(*files);
  }
  auto made = PostOnce(session, "/v1/agents", body, options.idempotency_key);
  if (!made) return session->Fail(made.error());
  if (session->json()) return session->PrintJson(*made);
  PrintFindings(session, made->value("warnings", Json::array()));
  session->Print(TextOf(*made, "id"));
  session->Note("agent " + TextOf(*made, "name") + " started: airun agent see " + TextOf(*made, "id"));
}

void ValidateAgent(Session* session, const AgentOptions& options) {
  auto text = ReadNamed(session, options.file, kMostFile);
  if (!text) return session->Fail(text.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto told = (*api)->Post("/v1/agents/validate", {{"agent", *text}, {"file", options.file}});
  if (!told) return session->Fail(told.error());
  const bool valid = told->value("valid", false);
  if (session->json()) {
    session->PrintJson(*told);
  } else {
    PrintFindings(session, told->value("findings", Json::array()));
    session->Note(options.file + (valid ? " is valid" : " is not valid"));
  }
  if (!valid) session->exit_code = kExitFailure;
}

void ListAgents(Session* session, const AgentOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  std::string path = "/v1/agents?limit=" + std::to_string(options.count) + InProjectOf(session, options, "&");
  if (!options.status.empty()) path += "&status=" + UrlEncode(options.status);
  auto page = (*api)->Get(path);
  if (!page) return session->Fail(page.error());
  const Json all = page->value("agents", Json::array());
  if (session->json()) return session->PrintJson(all);
  if (all.empty())
    return session->Note(options.status.empty()
                             ? "there are no agents here: airun agent start FILE, or --project NAME for those of a project"
                             : "none is " + options.status);
  Table table({"SESSION", "AGENT", "STATUS", "SINCE", "WHY"});
  for (const Json& one : all)
    table.Add({TextOf(one, "id"), TextOf(one, "name"), TextOf(one, "status"), ShortTime(TextOf(one, "updated_at")),
               Cut(TextOf(one, "reason"), 80)});
  session->Write(table.Text());
}

std::string SayOf(const Json& stimulus) {
  const std::string text = TextOf(stimulus, "text");
  return "#" + std::to_string(IntOf(stimulus, "number", 0)) + " " + TextOf(stimulus, "kind") +
         (TextOf(stimulus, "by").empty() ? "" : " of " + TextOf(stimulus, "by")) + (text.empty() ? "" : ": " + Cut(text, 100));
}

void PrintPast(Session* session, const Json& past) {
  if (past.empty()) return;
  session->Print("\nlast turns");
  for (const Json& turn : past) {
    std::string did;
    for (const Json& one : turn.value("did", Json::array()))
      did += (did.empty() ? "" : ", ") + TextOf(one, "capability") + " " + TextOf(one, "outcome") +
             (TextOf(one, "code").empty() ? "" : " (" + TextOf(one, "code") + ")") +
             (TextOf(one, "message").empty() ? "" : ": " + Cut(TextOf(one, "message"), 100));
    session->Print("  " + std::to_string(IntOf(turn, "turn", 0)) + "  " +
                   (TextOf(turn, "intention").empty() ? "" : Cut(TextOf(turn, "intention"), 80) + " - ") +
                   (did.empty() ? "no action" : did));
    if (!TextOf(turn, "said").empty()) session->Print("     said: " + Cut(TextOf(turn, "said"), 160));
  }
}

void SeeAgent(Session* session, const AgentOptions& options) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto one = (*api)->Get(PathOf(*id));
  if (!one) return session->Fail(one.error());
  if (session->json()) return session->PrintJson(*one);
  const Json standing = one->value("standing", Json::object());
  PrintField(session, "session", TextOf(*one, "id"));
  PrintField(session, "agent", TextOf(*one, "name") + " " + TextOf(*one, "version"));
  PrintField(session, "status", TextOf(*one, "status") + (TextOf(*one, "reason").empty() ? "" : ": " + TextOf(*one, "reason")));
  PrintField(session, "since", ShortTime(TextOf(standing, "since")));
  const Json open = one->value("state", Json::object());
  if (!TextOf(open, "next_wake").empty()) PrintField(session, "wakes at", ShortTime(TextOf(open, "next_wake")));
  if (!TextOf(open, "holder").empty()) PrintField(session, "worker", TextOf(open, "holder"));
  const Json turn_now = one->value("turn", Json::object());
  if (!turn_now.empty())
    PrintField(session, "at",
               "turn " + std::to_string(IntOf(turn_now, "turn", 0)) + ", " + TextOf(turn_now, "at") + " since " +
                   ShortTime(TextOf(turn_now, "asked_at").empty() ? TextOf(turn_now, "began_at") : TextOf(turn_now, "asked_at")));
  const Json origin = one->value("session", Json::object()).value("forked_from", Json::object());
  if (!origin.empty()) PrintField(session, "fork of", TextOf(origin, "session_id") + ", move " + std::to_string(IntOf(origin, "seq", 0)));
  PrintField(session, "moves",
             std::to_string(IntOf(standing, "moves", 0)) + " in " + std::to_string(IntOf(standing, "turns", 0)) + " turns, " +
                 std::to_string(IntOf(standing, "requests", 0)) + " requests, " + std::to_string(IntOf(standing, "actions", 0)) +
                 " effects");
  if (IntOf(standing, "tokens", 0) > 0 || IntOf(standing, "micros", 0) > 0)
    PrintField(
        session, "spent",
        fmt::format(
            "{} tokens, {:.6f} dollars{}", IntOf(standing, "tokens", 0), double(IntOf(standing, "micros", 0)) / 1e6,
            one->value("agent", Json::object()).value("limits", Json::object()).value("per", "") == "day" ? " on the last day" : ""));
  if (one->contains("approval") && TextOf((*one)["approval"], "state") == "PENDING") {
    const std::string asked = TextOf((*one)["approval"], "approval_id");
    PrintField(session, "asks", TextOf((*one)["approval"], "message"));
    session->Note("airun approvals show " + asked + "   shows what it is about; airun approvals approve or reject answers");
  }
  const std::string why = TextOf(*one, "reason"), now = TextOf(*one, "status");
  if (now == "STOPPED" || now == "PAUSED") session->Note("airun agent resume " + TextOf(*one, "id") + "   lets it go on");
  if (why.starts_with("budget"))
    session->Note(
        "its limits stand in its agent file: it goes on at the time above, if there is one; else start a new session with others");
  if (why.starts_with("loop") || why.starts_with("blocked"))
    session->Note("airun agent tell " + TextOf(*one, "id") + " \"...\"   lets it try something else; airun agent moves shows what it did");
  if (why.starts_with("request failed") || why.starts_with("no task"))
    session->Note("it tries again by itself at the time above, or when it is told something");
  if (why.starts_with("uncertain"))
    session->Note("airun agent resolve " + TextOf(*one, "id") + " --decision happened|did_not_happen   says what became of it");
  for (const Json& stimulus : one->value("waiting", Json::array())) PrintField(session, "waiting", SayOf(stimulus));
  if (one->contains("damage"))
    session->Note("its journal does not verify: " + TextOf(*one, "damage") + " (airun verify " + TextOf(*one, "id") + ")");
  PrintPast(session, one->value("past", Json::array()));
}

std::string WhatOf(const Json& data, const std::string& type) {
  if (type == "stimulus") return SayOf(data);
  if (type == "rest") return TextOf(data, "reason");
  if (type == "plan") return TextOf(data, "intention");
  if (type == "block") return TextOf(data, "extension") + ": " + TextOf(data, "message");
  if (type == "request") {
    if (!TextOf(data, "error").empty()) return "failed: " + TextOf(data, "error");
    const Json response = data.value("response", Json::object());
    std::string text = TextOf(response, "say");
    for (const Json& action : response.value("actions", Json::array()))
      text += (text.empty() ? "" : " ") + ("[" + TextOf(action, "capability") + "]");
    return text;
  }
  if (type == "process") {
    std::string text;
    for (const Json& one : data.value("outcomes", Json::array()))
      text += (text.empty() ? "" : ", ") + TextOf(one, "capability") + " " + TextOf(one, "outcome") +
              (TextOf(one, "code").empty() ? "" : " (" + TextOf(one, "code") + ")");
    return text.empty() ? "no action" : text;
  }
  return type == "prepare" ? TextOf(data, "name") : "";
}

void PrintMove(Session* session, const Json& move) {
  if (session->json()) return session->PrintJsonLine(move);
  const std::string type = TextOf(move, "type");
  session->Print(fmt::format("{:>6}  {}  {:<8}  {}", IntOf(move, "id", 0), ShortTime(TextOf(move, "time")), type,
                             Cut(WhatOf(move.value("data", Json::object()), type), 140)));
}

void SeeMoves(Session* session, const AgentOptions& options) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  constexpr std::chrono::milliseconds kPause{500};
  std::int64_t after = options.after;
  for (int shown = 0; options.follow || shown < options.count;) {
    auto page = (*api)->Get(PathOf(*id, "/moves?limit=100&after=" + std::to_string(after)));
    if (!page) return session->Fail(page.error());
    if (page->contains("dropped")) session->Note(TextOf((*page)["dropped"], "detail"));
    for (const Json& move : (*page)["moves"]) {
      after = std::max(after, IntOf(move, "id", after));
      if (options.follow || shown++ < options.count) PrintMove(session, move);
    }
    session->Flush();
    if (page->contains("next_after")) {
      after = std::max(after, IntOf(*page, "next_after", after));
      if (!(*page)["moves"].empty() || !options.follow) continue;
    }
    if (!options.follow) return;
    session->environment.sleep(kPause);
  }
}

void SeeFiles(Session* session, const AgentOptions& options) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  if (!options.text.empty()) {
    auto bytes = (*api)->GetBytes(PathOf(*id, "/files/" + UrlEncodePath(options.text)));
    if (!bytes) return session->Fail(bytes.error());
    return session->WriteBytes(*bytes);
  }
  auto told = (*api)->Get(PathOf(*id, "/files"));
  if (!told) return session->Fail(told.error());
  const Json all = told->value("files", Json::array());
  if (session->json()) return session->PrintJson(all);
  Table table({"PATH", "BYTES", "SHA-256"});
  for (const Json& file : all)
    if (!file.contains("dir"))
      table.Add({TextOf(file, "path"), std::to_string(IntOf(file, "size", 0)), TextOf(file, "hash").substr(0, 16)});
  session->Write(table.Text());
}

void SayTo(Session* session, const AgentOptions& options, const std::string& what, Json body, const std::string& done) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  body["by"] = ActorOf(session, options.by);
  auto told = PostOnce(session, PathOf(*id, "/" + what), body, options.idempotency_key);
  if (!told) return session->Fail(told.error());
  if (session->json()) return session->PrintJson(*told);
  const std::string status = TextOf(*told, "status");
  const std::string id_told = TextOf(*told, "id");
  session->Note(status.empty() ? "taken for " + id_told + ", which has not heard it yet: airun agent see " + id_told +
                                     ", airun doctor (is a worker there?)"
                               : done + " " + id_told + "; it is " + status);
}

void Tell(Session* session, const AgentOptions& options) {
  Json body = {{"mode", options.mode}};
  if (!options.text.empty()) body["text"] = options.text;
  if (!options.payload.empty()) {
    auto payload = ParseJson(options.payload);
    if (!payload) return session->Fail(Error{Code::kInvalid, "--payload takes JSON: " + payload.message()});
    body["payload"] = std::move(*payload);
  }
  SayTo(session, options, "stimuli", std::move(body), "told");
}

// Of a project, or all of them.
void SayToMany(Session* session, const AgentOptions& options, const std::string& what, const std::string& status) {
  Json body = {{"by", ActorOf(session, options.by)}};
  if (!options.reason.empty()) body["reason"] = options.reason;
  if (options.all) {
    body["all"] = true;
  } else {
    body["project"] = ProjectNamed(session, options.project);
  }
  auto told = PostOnce(session, "/v1/agents/" + what, body);
  if (!told) return session->Fail(told.error());
  if (session->json()) return session->PrintJson(*told);
  const auto count = IntOf(*told, "told", 0);
  session->Note("told " + std::to_string(count) + (count == 1 ? " session to " : " sessions to ") + what + ": airun agent list --status " +
                status);
}

void SteerSome(Session* session, const AgentOptions& options, const std::string& what, const std::string& status, const std::string& done) {
  if (options.all || (options.id.empty() && !ProjectNamed(session, options.project).empty()))
    return SayToMany(session, options, what, status);
  if (options.id.empty()) return session->Fail(Error{Code::kInvalid, "say which: a session's id, --project NAME or --all"});
  Json body = Json::object();
  if (!options.reason.empty()) body["reason"] = options.reason;
  SayTo(session, options, what, std::move(body), done);
}

// Files into its working directory, or out of it.
void PutInto(Session* session, const AgentOptions& options) {
  Json body = {{"mode", options.mode}, {"quiet", options.quiet}, {"remove", options.removed}};
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  if (options.files.empty() && options.removed.empty())
    return session->Fail(Error{Code::kInvalid, "say what: --files DIR or DIR=PREFIX, --remove PATH"});
  if (!options.files.empty()) {
    auto files = Upload(session, **api, options.files);
    if (!files) return session->Fail(files.error());
    body["files"] = std::move(*files);
  }
  SayTo(session, options, "files", std::move(body), "put into");
}

void StopOne(Session* session, const AgentOptions& options) { SteerSome(session, options, "stop", "STOPPED", "stopped"); }

void ResumeSome(Session* session, const AgentOptions& options) { SteerSome(session, options, "resume", "MOVING", "resumed"); }

void ReplayMove(Session* session, const AgentOptions& options) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto told = (*api)->Get(PathOf(*id, "/replay") + (options.move > 0 ? "?move=" + std::to_string(options.move) : ""));
  if (!told) return session->Fail(told.error());
  const bool same = told->value("same", false);
  if (session->json()) {
    session->PrintJson(*told);
  } else {
    PrintField(session, "move",
               std::to_string(IntOf(*told, "move", 0)) + " " + TextOf(*told, "type") + " at " + ShortTime(TextOf(*told, "time")));
    PrintField(session, "checksum", TextOf(*told, "checksum"));
    PrintField(session, "state", TextOf(*told, "state_root"));
    for (const char* part : {"data", "context", "plan", "request", "response"})
      if (told->contains(part)) session->Print(std::string(part) + "  " + DumpJson((*told)[part]));
    for (const Json& check : told->value("checks", Json::array()))
      session->Note(TextOf(check, "what") + (check.value("same", false)
                                                 ? ": the same again"
                                                 : ": recorded " + TextOf(check, "recorded") + ", now " + TextOf(check, "recomputed")));
    if (!same) session->Note("version " + TextOf(*told, "producer_version") + " decided it; this is " + TextOf(*told, "this_version"));
  }
  if (!same) session->exit_code = kExitFailure;
}

void ForkAt(Session* session, const AgentOptions& options) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  Json body = {{"by", ActorOf(session, options.by)}};
  if (options.move > 0) body["at"] = options.move;
  if (!options.message.empty()) body["message"] = options.message;
  auto made = PostOnce(session, PathOf(*id, "/fork"), body, options.idempotency_key);
  if (!made) return session->Fail(made.error());
  if (session->json()) return session->PrintJson(*made);
  session->Print(TextOf(*made, "id"));
  session->Note("a new session of " + TextOf(*made, "name") + ", from move " + std::to_string(IntOf((*made)["forked_from"], "at", 0)));
}

using Options = std::shared_ptr<AgentOptions>;

CLI::App* Add(CLI::App* agent, Session* session, const char* name, const char* help, const Options& options,
              void (*act)(Session*, const AgentOptions&)) {
  CLI::App* command = agent->add_subcommand(name, help);
  command->callback([=] { act(session, *options); });
  return command;
}

Options AddSession(CLI::App* command, Options options, bool needed = true) {
  auto* id = command->add_option("id", options->id, "the session: its id, or any part of it");
  if (needed) id->required();
  return options;
}

void AddSaying(CLI::App* command, const Options& options) {
  command->add_option("--by", options->by, "who says it, where nobody is asked for a key (AIRUN_ACTOR)");
  command->add_option("--idempotency-key", options->idempotency_key, "the same key again says nothing twice");
}

void AddSteering(CLI::App* agent, Session* session) {
  auto pause = std::make_shared<AgentOptions>();
  CLI::App* command = agent->add_subcommand("pause", "let what runs end, and begin nothing more");
  AddSession(command, pause);
  AddSaying(command, pause);
  command->add_option("--reason", pause->reason, "kept in the journal");
  command->callback([=] {
    Json body = Json::object();
    if (!pause->reason.empty()) body["reason"] = pause->reason;
    SayTo(session, *pause, "pause", std::move(body), "paused");
  });
  for (const auto& [verb, help, act] :
       {std::tuple("stop", "end what runs and begin nothing more, until somebody resumes it; of one, a project, or all", &StopOne),
        std::tuple("resume", "go on after a pause or a stop; one, those of a project, or all", &ResumeSome)}) {
    auto options = std::make_shared<AgentOptions>();
    command = Add(agent, session, verb, help, options, act);
    AddSession(command, options, false);
    AddSaying(command, options);
    command->add_option("--reason", options->reason, "kept in the journal");
    command->add_option("--project", options->project, "all sessions of the project (AIRUN_PROJECT)");
    command->add_flag("--all", options->all, "all sessions of all projects");
  }
  auto resolve = std::make_shared<AgentOptions>();
  command = agent->add_subcommand("resolve", "say what became of an action whose outcome nobody knows");
  AddSession(command, resolve);
  AddSaying(command, resolve);
  command->add_option("--decision", resolve->decision, "happened or did_not_happen")
      ->required()
      ->check(CLI::IsMember({"happened", "did_not_happen"}));
  command->add_option("--comment", resolve->comment, "the agent is told");
  command->callback([=] {
    Json body = {{"decision", resolve->decision}};
    if (!resolve->comment.empty()) body["comment"] = resolve->comment;
    SayTo(session, *resolve, "resolve", std::move(body), "resolved");
  });
}

void AddReading(CLI::App* agent, Session* session) {
  auto list = std::make_shared<AgentOptions>();
  CLI::App* command = Add(agent, session, "list", "sessions, the newest first", list, ListAgents);
  command->add_option("--project", list->project, "of this project (AIRUN_PROJECT)");
  command->add_option("--status", list->status, "MOVING, RESTING, WAITING, PAUSED, STOPPING or STOPPED");
  command->add_option("-n,--count", list->count, "at most so many")->check(CLI::Range(1, 200));
  auto see = std::make_shared<AgentOptions>();
  AddSession(Add(agent, session, "see", "what it does now, what waits for it, its last turns", see, SeeAgent), see);
  auto moves = std::make_shared<AgentOptions>();
  command = Add(agent, session, "moves", "its moves, in order", moves, SeeMoves);
  AddSession(command, moves);
  command->add_option("--after", moves->after, "those behind this one");
  command->add_option("-n,--count", moves->count, "at most so many")->check(CLI::Range(1, 1'000'000));
  command->add_flag("-f,--follow", moves->follow, "go on as they come");
  auto replay = std::make_shared<AgentOptions>();
  command = Add(agent, session, "replay", "a past move bit by bit, and decided and planned again on the same input", replay, ReplayMove);
  AddSession(command, replay);
  command->add_option("--move", replay->move, "its number (airun agent moves); without it the last one")
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1) << 53));
  auto files = std::make_shared<AgentOptions>();
  command = Add(agent, session, "files", "its working directory; one of the files with --path", files, SeeFiles);
  AddSession(command, files);
  command->add_option("--path", files->text, "print this file");
}

}  // namespace

void AddAgentCommands(CLI::App* app, Session* session) {
  CLI::App* agent = app->add_subcommand("agent", "agents: sessions that move or rest");
  agent->require_subcommand(1);
  auto start = std::make_shared<AgentOptions>();
  CLI::App* command = Add(agent, session, "start", "a new session of an agent file", start, StartAgent);
  command->add_option("file", start->file, "the agent file, - for stdin")->required();
  command->add_option("-m,--message", start->message, "the first thing that it is told");
  command->add_option("--files", start->files, "DIR or DIR=PREFIX: a folder's files go into its working directory");
  command->add_option("--note", start->note, "a word about it, for people");
  command->add_option("--project", start->project, "the project that it belongs to (AIRUN_PROJECT)");
  AddSaying(command, start);
  auto validate = std::make_shared<AgentOptions>();
  command = Add(agent, session, "validate", "check an agent file", validate, ValidateAgent);
  command->add_option("file", validate->file, "the agent file, - for stdin")->required();
  AddReading(agent, session);
  auto tell = std::make_shared<AgentOptions>();
  command = Add(agent, session, "tell", "say something to it; what rests is woken", tell, Tell);
  AddSession(command, tell);
  command->add_option("text", tell->text, "what is said");
  command->add_option("--mode", tell->mode, "interrupt (ends what runs), steer (before its next request) or followup (when it would rest)")
      ->check(CLI::IsMember({"interrupt", "steer", "followup"}))
      ->capture_default_str();
  command->add_option("--payload", tell->payload, "JSON, beside or instead of a text");
  AddSaying(command, tell);
  AddSteering(agent, session);
  auto put = std::make_shared<AgentOptions>();
  command = Add(agent, session, "put", "files into its working directory, or out of it; it is told of them", put, PutInto);
  AddSession(command, put);
  command->add_option("--files", put->files, "DIR or DIR=PREFIX: a folder's files");
  command->add_option("--remove", put->removed, "a file or folder of its working directory; may be given again");
  command->add_flag("--quiet", put->quiet, "without a word: it is not woken");
  command->add_option("--mode", put->mode, "interrupt, steer or followup, as of tell")
      ->check(CLI::IsMember({"interrupt", "steer", "followup"}))
      ->capture_default_str();
  AddSaying(command, put);
  auto fork = std::make_shared<AgentOptions>();
  command = Add(agent, session, "fork", "a new session that goes on from a move of this one", fork, ForkAt);
  AddSession(command, fork);
  command->add_option("--at", fork->move, "the move (airun agent moves); without it the last one")
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1) << 53));
  command->add_option("-m,--message", fork->message, "the first thing that it is told");
  AddSaying(command, fork);
}

}  // namespace acl::cli
