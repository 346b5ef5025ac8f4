// Templates as they are written in a file: braces that are none, references put into JSON text, and places where nothing is expanded.
#include <unordered_map>

#include "shared/capability/command_line.h"
#include "shared/definition/draft.h"
#include "shared/definition/template.h"
#include "shared/definition/template_places.h"
#include "shared/definition/template_scan.h"
#include "shared/definition/template_words.h"

namespace acl {

namespace {

std::string Shown(std::string_view text) { return std::string(text.substr(0, 120)); }

using InputTypes = std::unordered_map<std::string_view, std::string_view>;  // by name

InputTypes TypesOf(const WorkflowDefinition& definition) {
  InputTypes types;
  for (const InputDefinition& input : definition.inputs) types.emplace(input.name, input.type);
  return types;
}

// The type of the input that a reference names, after its filters; empty if it is not known.
std::string_view TypeOf(const InputTypes& types, const TemplatePiece& piece) {
  if (!piece.filters.empty()) return piece.filters.back().name == "length" ? "integer" : "";
  std::string_view path = piece.path;
  if (path.starts_with("inputs.")) path.remove_prefix(7);
  const auto input = types.find(path);
  return input == types.end() ? std::string_view() : input->second;
}

// Whether a value put into a text can be nothing but one word.
bool IsOneWord(const InputTypes& types, const TemplatePiece& piece) {
  const std::string_view type = TypeOf(types, piece);
  return type == "integer" || type == "float" || type == "boolean";
}

// Whether a value put into JSON text as it is stays one value there.
bool IsOneJsonValue(const InputTypes& types, const TemplatePiece& piece) {
  if (std::any_of(piece.filters.begin(), piece.filters.end(), [](const TemplateFilter& one) { return one.name == "json"; })) return true;
  const std::string_view type = TypeOf(types, piece);
  return IsOneWord(types, piece) || type == "array" || type == "object";
}

struct InJson {
  const TemplatePiece* piece;
  bool quoted;  // between the quotes of a JSON string
};

// The references of a text that is JSON but for them; empty if it is none.
std::vector<InJson> ReferencesInJson(const std::vector<TemplatePiece>& pieces) {
  std::vector<InJson> out;
  std::string filled;
  bool quoted = false, escaped = false;
  for (const TemplatePiece& piece : pieces) {
    if (piece.is_reference) {
      out.push_back({&piece, quoted});
      filled += quoted ? "x" : "0";
      continue;
    }
    for (char c : piece.text) {
      if (escaped) {
        escaped = false;
      } else if (quoted && c == '\\') {
        escaped = true;
      } else if (c == '"') {
        quoted = !quoted;
      }
    }
    filled += piece.text;
  }
  auto parsed = ParseJson(filled);
  return parsed && parsed->is_structured() ? out : std::vector<InJson>();
}

class TemplateCheck {
 public:
  TemplateCheck(Reader* reader, const std::string& text, const WorkflowDefinition& definition)
      : reader_(reader), types_(TypesOf(definition)), places_(text), lenient_(definition.lenient_templates) {}

  void Calls(const SourceNode& list) {
    if (!list.is_list() || reader_->Full()) return;
    for (const SourceNode& step : list.items) {
      if (const SourceEntry* wait = step.Find("wait")) Values(wait->value);
      for (const SourceNode* call : {&step, Compensation(step)}) {
        const SourceEntry* inputs = call ? call->Find("inputs") : nullptr;
        if (!inputs) continue;
        Values(inputs->value);
        if (Names(*call, kRunProgram)) Program(inputs->value);
      }
      for (const ChildList& children : ChildListsOf(step)) Calls(*children.list);
    }
  }

  // Values that are taken as they are written.
  void Plain(const SourceNode& node, const std::string& what) {
    for (const SourceNode& item : node.items) Plain(item, what);
    for (const SourceEntry& entry : node.entries) Plain(entry.value, what);
    if (!node.is_string() || lenient_) return;
    const auto& text = node.scalar.get_ref<const std::string&>();
    for (const TemplatePiece& piece : ScanTemplate(text)) {
      if (!piece.is_reference) continue;
      return reader_->Warning(node.mark, "template-not-expanded",
                              Shown(piece.text) + " in " + what + " stays as text: templates are expanded in 'inputs' of steps only");
    }
  }

 private:
  static bool Names(const SourceNode& call, std::string_view capability) {
    for (const char* key : {"capability", "capability_name"})
      if (const SourceEntry* named = call.Find(key); named && named->value.scalar == capability) return true;
    return false;
  }
  static const SourceNode* Compensation(const SourceNode& step) {
    const SourceEntry* compensation = step.Find("compensation");
    return compensation ? &compensation->value : nullptr;
  }

  void Values(const SourceNode& node) {
    for (const SourceNode& item : node.items) Values(item);
    for (const SourceEntry& entry : node.entries) {
      if (!lenient_ && HasTemplate(Json(entry.key)))
        reader_->Warning(entry.key_mark, "template-not-expanded",
                         "the key '" + Shown(entry.key) + "' stays as text: templates are expanded in values, not in keys");
      Values(entry.value);
    }
    if (node.is_string() && node.scalar.get_ref<const std::string&>().find("{{") != std::string::npos) Text(node);
  }

  void Text(const SourceNode& node) {
    const auto& text = node.scalar.get_ref<const std::string&>();
    std::size_t from = 0;
    for (const TemplateMistake& mistake : TemplateMistakes(text)) {
      if (reader_->Full()) return;
      const SourceMark mark = places_.Of(mistake.text.substr(0, mistake.text.find('\n')), node.mark, text.size(), &from);
      Report(mistake, mark);
    }
    JsonText(text, node);
  }

  void Report(const TemplateMistake& mistake, SourceMark mark) {
    const std::string shown = Shown(mistake.text);
    switch (mistake.kind) {
      case TemplateMistake::Kind::kBadFilter:
        return reader_->Strictly(!reader_->options().accepted_before, mark, "bad-template", shown + ": " + mistake.why);
      case TemplateMistake::Kind::kOtherBraces:
        if (lenient_) return;
        return reader_->Warning(mark, "literal-braces", shown + " is no template of ours and stays as text; " + mistake.why);
      case TemplateMistake::Kind::kNearReference: break;
    }
    if (lenient_) return reader_->Warning(mark, "bad-template", shown + " stays as text: " + mistake.why);
    reader_->Strictly(
        !reader_->options().accepted_before, mark, "bad-template",
        shown + " is no template: " + mistake.why + ". A file that means it as text says lenient_templates: true (or --lenient-templates)");
  }

  // Text like '{"order":"{{order}}"}': an order of `x","admin":"y` changes what is said.
  void JsonText(const std::string& text, const SourceNode& node) {
    if (text.find_first_of("{[") != text.find_first_not_of(" \t\r\n")) return;
    const auto pieces = ScanTemplate(text);
    if (pieces.size() < 2) return;
    std::size_t from = 0;
    for (const InJson& one : ReferencesInJson(pieces)) {
      const TemplatePiece& piece = *one.piece;
      const SourceMark mark = places_.Of(piece.text, node.mark, text.size(), &from);
      if (one.quoted) {
        const std::string bare = "{{" + piece.path.substr(0, 60) + " | json}}";
        reader_->Warning(mark, "json-text",
                         Shown(piece.text) + " stands between the quotes of JSON text, where a value with a quote ends it: write " + bare +
                             " without quotes around it");
      } else if (!IsOneJsonValue(types_, piece)) {
        reader_->Warning(mark, "json-text",
                         Shown(piece.text) + " stands in JSON text, where a text is no value and may be several: write {{" +
                             piece.path.substr(0, 60) + " | json}}");
      }
    }
  }

  // A program that is given as text (sh -c) is put together before it is read: a value can say anything there.
  void Program(const SourceNode& inputs) {
    const SourceEntry *command = inputs.Find("command"), *args = inputs.Find("args");
    if (command && !args && command->value.is_string()) {
      const auto& line = command->value.scalar.get_ref<const std::string&>();
      if (auto words = SplitTemplate(line)) ProgramTexts(*words, [&](std::size_t) -> const SourceNode& { return command->value; });
    }
    if (!args || !args->value.is_list()) return;
    std::vector<std::string> words;
    for (const SourceNode& item : args->value.items) words.push_back(item.is_string() ? item.scalar.get<std::string>() : "");
    ProgramTexts(words, [&](std::size_t i) -> const SourceNode& { return args->value.items[i]; });
  }

  // `node_of`: where a word is written; several may be written in one text, in their order.
  template <class NodeOf>
  void ProgramTexts(const std::vector<std::string>& words, const NodeOf& node_of) {
    const SourceNode* node = nullptr;
    std::size_t from = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (node != &node_of(i)) from = 0;
      node = &node_of(i);
      const bool is_program = i > 0 && (words[i - 1] == "-c" || words[i - 1] == "-e");
      for (const TemplatePiece& piece : ScanTemplate(words[i])) {
        if (!piece.is_reference) continue;
        const SourceMark mark = places_.Of(piece.text, node->mark, node->scalar.get_ref<const std::string&>().size(), &from);
        if (!is_program || IsOneWord(types_, piece)) continue;
        reader_->Warning(mark, "program-text",
                         Shown(piece.text) +
                             " stands in a program's text, where a value is read as a part of it: give it as an argument "
                             "of its own ($1, sys.argv[1])");
      }
    }
  }

  Reader* reader_;
  const InputTypes types_;
  const TemplatePlaces places_;
  const bool lenient_;
};

}  // namespace

void CheckTemplates(Reader* reader, const SourceNode& root, const std::string& text, const WorkflowDefinition& definition) {
  TemplateCheck check(reader, text, definition);
  for (const char* key : {"steps", "global_compensation_steps"})
    if (const SourceEntry* list = root.Find(key)) check.Calls(list->value);
  if (const SourceEntry* state = root.Find("initial_state")) check.Plain(state->value, "'initial_state'");
  if (const SourceEntry* inputs = root.Find("inputs"))
    for (const SourceEntry& input : inputs->value.entries)
      if (const SourceEntry* value = input.value.Find("default"); value && input.value.is_map()) check.Plain(value->value, "a 'default'");
}

}  // namespace acl
