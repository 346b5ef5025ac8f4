// airun capability list, show: the registry of this binary, no server.
#include "cli/app.h"
#include "cli/format.h"
#include "shared/capability/standard.h"

namespace acl::cli {

namespace {

void List(Session* session) {
  Json all = Json::array();
  Table table({"ID", "EFFECT", "RISK", "WHAT IT DOES"});
  for (const CapabilityDefinition* definition : session->Capabilities().All()) {
    Json row = CapabilityToJson(*definition);
    table.Add({definition->id, TextOf(row, "effect"), std::string(RiskName(definition->risk)), definition->summary});
    all.push_back(std::move(row));
  }
  if (session->json()) return session->PrintJson(all);
  session->Write(table.Text());
}

void PrintFields(Session* session, const std::string& title, const std::vector<FieldDefinition>& fields, bool results) {
  if (fields.empty()) return;
  session->Print("\n" + title);
  for (const FieldDefinition& field : fields) {
    Shown line = "  " + session->Paint(Session::Colour::kBlue, field.name) + " " + field.type;
    if (field.required != results) line += results ? ", not always" : ", required";
    if (field.default_value) line += ", default " + DumpJson(*field.default_value);
    for (std::size_t i = 0; i < field.allowed.size(); ++i) line += (i ? ", " : ", one of ") + field.allowed[i];
    for (const std::string& alias : field.aliases) line += ", also written " + alias;
    session->Print(line + (field.description.empty() ? "" : ": " + field.description));
  }
}

void Show(Session* session, const std::string& id) {
  const CapabilityDefinition* definition = session->Capabilities().Find(id);
  if (!definition) {
    const std::string nearest = session->Capabilities().Nearest(id);
    return session->Fail(kExitNotFound,
                         "no capability is named '" + id + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  const Json row = CapabilityToJson(*definition);
  if (session->json()) return session->PrintJson(row);
  session->Print(definition->id + " " + definition->version + ": " + definition->summary);
  if (!definition->docs.empty()) session->Print(definition->docs);
  session->Print("\neffect " + TextOf(row, "effect") + ", risk " + std::string(RiskName(definition->risk)) + ", timeout " +
                 std::to_string(definition->default_timeout.count()) + " s" +
                 (definition->honours_key ? ", its receiver honours the idempotency key" : "") +
                 (definition->undo == UndoKind::kFiles ? ", undone by the engine" : ""));
  PrintFields(session, "Parameters", definition->parameters, false);
  PrintFields(session, "Results", definition->results, true);
}

}  // namespace

void AddCapabilityCommands(CLI::App* app, Session* session) {
  CLI::App* capability = app->add_subcommand("capability", "what a step can do");
  capability->require_subcommand(1);
  capability->add_subcommand("list", "all of them")->callback([=] { List(session); });
  auto id = std::make_shared<std::string>();
  CLI::App* show = capability->add_subcommand("show", "one: parameters, results, effect");
  show->add_option("id", *id, "its id, for example io.fs.write_file")->required();
  show->callback([=] { Show(session, *id); });
}

}  // namespace acl::cli
