#include "cli/project_words.h"

#include "cli/format.h"
#include "cli/numbers.h"
#include "shared/base/read_file.h"
#include "shared/base/sha256.h"

namespace acl::cli {

using project::Form;
using project::Operation;
using project::Parameter;

namespace {

constexpr std::size_t kMostArtifactBytes = std::size_t(1) << 30;

bool IsOption(const Parameter& parameter) { return parameter.flag.starts_with("--"); }

bool IsNumber(const std::string& text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos; }

std::string Lower(std::string word) {
  for (char& c : word) c = char(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

void AddToQuery(std::string& path, const std::string& name, const std::string& value) {
  path += (path.find('?') == std::string::npos ? "?" : "&") + name + "=" + UrlEncode(value);
}

}  // namespace

ProjectWords::ProjectWords(CLI::App* command, Session* session, const Operation& operation) : command_(command), session_(session) {
  Add(operation);
  if (operation.OfOneProject()) command->add_option("--project", project_, "the project, by name or id (AIRUN_PROJECT)");
  if (operation.name == "show_project") command->add_option("name", project_, "the project, instead of --project");
  if (operation.TakesKey() || operation.Find("actor") != nullptr)
    command->add_option("--as", actor_, "who asks: a person or an agent (AIRUN_ACTOR, else USER)");
  if (operation.Find("at_seq") != nullptr)
    command->add_option("--at", at_, "as it was: the number of an event, or a time as 2026-11-27T09:00:00Z");
  if (!operation.TakesKey()) return;
  command->add_option("--expected-seq", expected_seq_, "refused if anything was written after this event")
      ->check(WholeNumber(0, kMostNumber));
  command->add_option("--idempotency-key", key_, "the same key again gives the first answer");
}

void ProjectWords::Add(const Operation& operation) {
  for (const Parameter& one : operation.parameters) {
    if (!one.flag.empty() && one.flag != "--at") Bind(one);
  }
}

void ProjectWords::Bind(const Parameter& parameter) {
  Bound& bound = bound_.emplace_back();
  bound.parameter = &parameter;
  const std::string name = IsOption(parameter) ? parameter.flag : Lower(parameter.flag);
  if (parameter.form == Form::kFlag) {
    bound.option = command_->add_flag(name, bound.flag, parameter.help);
  } else if (parameter.form == Form::kTexts || parameter.form == Form::kObjects) {
    bound.option = command_->add_option(name, bound.list, parameter.help)->allow_extra_args(false);
  } else {
    bound.option = command_->add_option(name, bound.text, parameter.help);
  }
  if (parameter.required) bound.option->required();
  if (parameter.form == Form::kNumber) bound.option->check(WholeNumber(parameter.least, std::min(parameter.greatest, kMostNumber)));
  if (parameter.words.empty()) return;
  std::vector<std::string> words = parameter.words;
  if (parameter.form == Form::kTexts) words.emplace_back();  // "": none
  bound.option->check(CLI::IsMember(words));
}

const ProjectWords::Bound* ProjectWords::Find(const std::string& parameter) const {
  for (const Bound& one : bound_) {
    if (one.parameter->name == parameter && one.option->count() > 0) return &one;
  }
  return nullptr;
}

bool ProjectWords::Given(const std::string& parameter) const { return Find(parameter) != nullptr; }

Result<std::string> ProjectWords::Project() const {
  const std::string name = project_.empty() ? session_->environment.environment("AIRUN_PROJECT") : project_;
  if (!name.empty()) return name;
  return Error{Code::kInvalid,
               "no project was named: --project NAME, or AIRUN_PROJECT=NAME for all commands (airun project list shows them)"};
}

Result<std::string> ProjectWords::Actor() const {
  std::string name = actor_.empty() ? session_->environment.environment("AIRUN_ACTOR") : actor_;
  if (name.empty()) name = session_->environment.environment("USER");
  if (!name.empty()) return name;
  return Error{Code::kInvalid, "nobody was named who asks: --as NAME, or AIRUN_ACTOR=NAME for all commands"};
}

Result<Json> ProjectWords::ValueOf(const Bound& bound, const std::string& actor) const {
  switch (bound.parameter->form) {
    case Form::kText:
    case Form::kNumber: return project::ValueOfText(*bound.parameter, bound.text);
    case Form::kFlag: return Json(bound.flag);
    case Form::kTexts: return bound.list == std::vector<std::string>{""} ? Json(Json::array()) : Json(bound.list);
    case Form::kObjects: break;
  }
  Json pieces = Json::array();
  for (const std::string& one : bound.list) {
    auto piece = ReadEvidence(session_, one, actor);
    if (!piece) return Error{piece.code(), bound.parameter->flag + ": " + piece.message()};
    pieces.push_back(std::move(*piece));
  }
  return pieces;
}

Result<Json> ProjectWords::Arguments(const Operation& operation, const std::string& actor) const {
  Json arguments = {{"by", actor}};
  for (const Parameter& parameter : operation.parameters) {
    const Bound* bound = Find(parameter.name);
    if (bound == nullptr) continue;
    auto value = ValueOf(*bound, actor);
    if (!value) return value.error();
    arguments[parameter.name] = std::move(*value);
  }
  if (!expected_seq_.empty()) arguments["expected_seq"] = std::stoll(expected_seq_);
  return arguments;
}

Result<std::string> ProjectWords::CommandPath(const Operation& operation) const {
  if (!operation.OfOneProject()) return operation.Pattern();
  auto project = Project();
  if (!project) return project.error();
  return "/v1/projects/" + UrlEncode(*project) + "/" + operation.name;
}

Result<std::string> ProjectWords::Path(const Operation& operation) const {
  std::string path = operation.Pattern();
  if (operation.OfOneProject()) {
    auto project = Project();
    if (!project) return project.error();
    path.replace(path.find("{project}"), std::string_view("{project}").size(), UrlEncode(*project));
  }
  for (const Parameter& parameter : operation.parameters) {
    const Bound* bound = Find(parameter.name);
    if (bound == nullptr) continue;
    const std::string place = "{" + parameter.name + "}";
    if (const auto at = path.find(place); at != std::string::npos) {
      path.replace(at, place.size(), UrlEncode(bound->text));
    } else {
      AddToQuery(path, parameter.name, parameter.form == Form::kFlag ? (bound->flag ? "true" : "false") : bound->text);
    }
  }
  if (!at_.empty()) AddToQuery(path, IsNumber(at_) ? "at_seq" : "at_time", at_);
  if (operation.Find("actor") == nullptr) return path;
  if (auto actor = Actor()) AddToQuery(path, "actor", *actor);  // nobody in particular may ask too
  return path;
}

Result<Json> ReadEvidence(Session* session, const std::string& text, const std::string& actor) {
  if (text.starts_with('{')) {
    auto json = ParseJson(text);
    if (!json) return Error{Code::kInvalid, json.message()};
    return json;
  }
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon), rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "person" && !rest.empty()) return Json{{"kind", kind}, {"by", actor}, {"said", rest}};
  if (kind == "artifact" && !rest.empty()) {
    auto bytes = ReadFile(rest, kMostArtifactBytes);
    if (!bytes) return Error{Code::kInvalid, bytes.message()};
    return Json{{"kind", kind}, {"file", rest}, {"sha256", ToHex(Sha256(*bytes))}, {"bytes", bytes->size()}};
  }
  if (kind == "run" && !rest.empty()) {
    auto id = session->RunId(rest);
    if (!id) return id.error();
    auto api = session->Api();
    if (!api) return api.error();
    auto run = (*api)->Get("/v1/workflows/" + *id);
    if (!run) return run.error();
    return Json{{"kind", kind}, {"run_id", TextOf(*run, "id")}, {"status", TextOf(*run, "status")}};
  }
  return Error{Code::kInvalid, "takes person:WORDS, artifact:FILE, run:ID or JSON, not '" + text + "'"};
}

}  // namespace acl::cli
