#include "shared/definition/template_words.h"

#include <algorithm>

#include "shared/capability/command_line.h"
#include "shared/definition/template_scan.h"

namespace acl {

namespace {

Result<std::vector<std::string>> Split(const std::vector<TemplatePiece>& pieces) {
  CommandSplitter splitter;
  for (const TemplatePiece& piece : pieces) {
    if (piece.is_reference)
      splitter.Keep(piece.text);
    else
      splitter.Split(piece.text);
  }
  return splitter.Finish();
}

}  // namespace

Result<std::vector<std::string>> SplitTemplate(std::string_view command) { return Split(ScanTemplate(command)); }

Result<std::optional<Json>> WithWords(const Json& inputs) {
  if (!inputs.is_object()) return std::optional<Json>();
  const auto command = inputs.find("command"), args = inputs.find("args");
  if (command == inputs.end() || !command->is_string() || (args != inputs.end() && !args->is_null())) return std::optional<Json>();
  const auto pieces = ScanTemplate(command->get_ref<const std::string&>());
  if (std::none_of(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) { return piece.is_reference; }))
    return std::optional<Json>();
  auto words = Split(pieces);
  if (!words) return words.error();
  Json split = inputs;
  split["command"] = words->front();
  split["args"] = Json::array();
  for (std::size_t i = 1; i < words->size(); ++i) split["args"].push_back(std::move((*words)[i]));
  return std::optional<Json>(std::move(split));
}

}  // namespace acl
