// airun project export, import: a project's whole history as a file.
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/app.h"
#include "shared/base/read_file.h"

namespace acl::cli {
namespace {

constexpr std::size_t kMostImportBytes = 128u << 20;  // as the coordinator takes

void Export(Session* session, const std::string& project, const std::string& file) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto lines = (*api)->GetBytes("/v1/projects/" + UrlEncode(project) + "/export");
  if (!lines) return session->Fail(lines.error());
  if (file.empty() || file == "-") {
    return session->WriteBytes(*lines);
  }
  std::ofstream out(file, std::ios::binary);
  out << *lines << std::flush;
  if (!out) return session->Fail(Error{Code::kInvalid, "cannot write " + file});
  session->Note("exported to " + file + ": " + std::to_string(lines->size()) + " bytes");
}

Result<std::string> ReadLines(Session* session, const std::string& file) {
  if (file != "-") return ReadFile(file, kMostImportBytes);
  if (session->environment.in == nullptr) return Error{Code::kInvalid, "there is nothing on stdin"};
  std::string lines;
  char piece[64 * 1024];
  while (session->environment.in->read(piece, sizeof piece) || session->environment.in->gcount() > 0) {
    lines.append(piece, std::size_t(session->environment.in->gcount()));
    if (lines.size() > kMostImportBytes) return Error{Code::kInvalid, "stdin has more than " + std::to_string(kMostImportBytes) + " bytes"};
  }
  return lines;
}

void Import(Session* session, const std::string& file, const std::string& as, std::string actor) {
  for (const char* variable : {"AIRUN_ACTOR", "USER"}) {
    if (actor.empty()) actor = session->environment.environment(variable);
  }
  auto lines = ReadLines(session, file);
  if (!lines) return session->Fail(lines.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  std::string path = "/v1/projects/import";
  char before = '?';
  for (const auto& [name, value] : {std::pair<const char*, std::string>("as", as), {"by", actor}}) {
    if (value.empty()) continue;
    path += before + std::string(name) + "=" + UrlEncode(value);
    before = '&';
  }
  auto answer = (*api)->PostText(path, std::move(*lines), "application/x-ndjson");
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Print(answer->value("name", ""));
  session->Note("imported at event " + std::to_string(answer->value("event_seq", std::int64_t(0))) + ", state " +
                answer->value("state_digest", ""));
}

}  // namespace

void AddProjectTransferCommands(CLI::App* app, Session* session) {
  const auto groups = app->get_subcommands([](CLI::App* one) { return one->get_name() == "project"; });
  CLI::App* group = groups.empty() ? nullptr : groups.front();
  if (group == nullptr) {
    group = app->add_subcommand("project", "unfinished work that is kept: goals, tasks, where each was left");
    group->require_subcommand(1);
  }
  auto project = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  CLI::App* out = group->add_subcommand("export", "the whole history as lines of JSON, to be kept or imported elsewhere");
  out->add_option("PROJECT", *project, "its name, or its id in full")->required();
  out->add_option("-f,--file", *to, "where to (stdout)");
  out->callback([=] { Export(session, *project, *to); });

  auto from = std::make_shared<std::string>(), as = std::make_shared<std::string>(), actor = std::make_shared<std::string>();
  CLI::App* in =
      group->add_subcommand("import", "makes a project of an export, which is checked line by line; the same work, the same digest");
  in->add_option("FILE", *from, "what was exported; - is stdin")->required();
  in->add_option("--name", *as, "its name here (the one it had)");
  in->add_option("--as", *actor, "who says so (AIRUN_ACTOR, else USER)");
  in->callback([=] { Import(session, *from, *as, *actor); });
}

}  // namespace acl::cli
