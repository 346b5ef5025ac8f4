#include <fmt/format.h>

#include "shared/capability/endings.h"
#include "shared/capability/standard.h"

namespace acl {

namespace {

// A cell must not end its table.
std::string Cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

std::string ParameterRow(const FieldDefinition& field) {
  std::string names = "`" + field.name + "`" + (field.aliases.empty() ? "" : fmt::format(" (also `{}`)", fmt::join(field.aliases, ", ")));
  std::string otherwise = field.required ? "required" : field.default_value ? "`" + field.default_value->dump() + "`" : "none";
  std::string text = field.description + (field.allowed.empty() ? "" : fmt::format(": one of {}", fmt::join(field.allowed, ", ")));
  return fmt::format("| {} | {} | {} | {} |\n", names, field.type, Cell(otherwise), Cell(text));
}

std::string Section(const CapabilityDefinition& definition) {
  std::string out = fmt::format("## {}\n\n{}\n\n{}\n\n", definition.id, definition.summary, definition.docs);
  out +=
      fmt::format("Effect {}, risk {}{}, timeout {} s; undo: {}; `success: false` is a {}.\n\n", EffectName(definition.effect),
                  RiskName(definition.risk), definition.needs_confirmation ? ", needs confirmation when called by itself" : "",
                  definition.default_timeout.count(), definition.undo == UndoKind::kFiles ? "the old files come back" : "none of its own",
                  definition.false_success == FalseSuccess::kResult ? "result" : "failed attempt");
  if (!definition.parameters.empty()) {
    out += "| parameter | type | default | |\n|---|---|---|---|\n";
    for (const auto& field : definition.parameters) out += ParameterRow(field);
    out += '\n';
  }
  if (!definition.results.empty()) {
    out += "| output | type | |\n|---|---|---|\n";
    for (const auto& field : definition.results)
      out += fmt::format("| `{}` | {} | {} |\n", field.name, field.type, Cell(field.description));
    out += '\n';
  }
  return out;
}

std::string EndingsSection() {
  std::string out =
      "## How a call can end\n\n"
      "A test brings about each row. A step whose outcome is unknown becomes UNCERTAIN and waits for a person (`airun step resolve`), "
      "unless "
      "it says `on_unknown_outcome: retry` or `fail`: whether it had its effect is not known, and nothing is repeated blindly.\n\n"
      "| capability or effect | how the call ends | what follows |\n|---|---|---|\n";
  for (const Ending& ending : Endings())
    out += fmt::format("| {} | {} | {} |\n", ending.what, Cell(std::string(ending.how)), FollowsText(ending.follows));
  return out + '\n';
}

}  // namespace

std::string CapabilityMarkdown(const CapabilityRegistry& registry) {
  std::string out =
      "# Capabilities\n\n"
      "What a step can do. This page is the registry itself, written out: a test compares the two (`ACL_UPDATE_DOCS=1` rewrites it). "
      "`airun capability list` and `airun capability show ID` say the same.\n\n"
      "Files of a run lie under `/workspace`; paths are relative to it or start with it. They are part of the run's state: every worker "
      "sees the same ones, and a "
      "step's changes count only if the step completes.\n\n"
      "Effects: `pure` and `read` are run again after a crash; `idempotent` too, with the same key; `non_idempotent` is never blindly "
      "repeated.\n\n"
      "| id | effect | risk | |\n|---|---|---|---|\n";
  for (const auto* definition : registry.All()) {
    std::string anchor;
    for (char c : definition->id) {
      if (c != '.') anchor += c;
    }
    out += fmt::format("| [{}](#{}) | {} | {} | {} |\n", definition->id, anchor, EffectName(definition->effect), RiskName(definition->risk),
                       Cell(definition->summary));
  }
  out += '\n';
  out += EndingsSection();
  for (const auto* definition : registry.All()) out += Section(*definition);
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

}  // namespace acl
