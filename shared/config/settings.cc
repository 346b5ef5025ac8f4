#include "shared/config/settings.h"

#include <unistd.h>

#include <fmt/format.h>

#include "shared/base/nearest.h"
#include "shared/base/redact.h"
#include "shared/config/settings_table.h"

namespace acl {
namespace {

bool Has(const SettingRow& row, Program program) { return (row.programs & unsigned(program)) != 0; }

const SettingRow* FindFlag(Program program, std::string_view flag) {
  for (const auto& row : SettingsTable()) {
    if (Has(row, program) && row.Flag() == flag) return &row;
  }
  return nullptr;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto near = Nearest(word, candidates);
  return near.empty() ? "; --help lists all" : "; did you mean " + near + "?";
}

// A value as it may be repeated in a message.
std::string Printable(const SettingRow& row, const std::string& text) { return row.secret ? std::string(kRedacted) : RedactText(text); }

class Parser {
 public:
  explicit Parser(Program program) : program_(program) {}

  void ReadEnvironment(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> known;
    for (const auto& row : SettingsTable()) {
      if (!row.flag_only) known.push_back(row.Environment());
    }
    for (const auto& [key, value] : environment) {
      if (!key.starts_with("ACL_")) continue;
      bool found = false;
      for (const auto& row : SettingsTable()) {
        if (row.flag_only || row.Environment() != key) continue;
        found = true;
        if (Has(row, program_)) Apply(row, value, key, "environment");
      }
      if (found) continue;
      const auto near = Nearest(key, known);
      if (!near.empty()) parsed_.warnings.push_back(key + " is not a setting; did you mean " + near + "?");
    }
  }

  void ReadArguments(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (argument == "--help" || argument == "-h") {
        parsed_.help = true;
      } else if (argument == "--version") {
        parsed_.version = true;
      } else if (!argument.starts_with("--")) {
        Wrong("'" + argument + "' is not a flag; flags are written --name value");
      } else {
        i += ReadFlag(argument, i + 1 < arguments.size() ? &arguments[i + 1] : nullptr) ? 1 : 0;
      }
    }
  }

  Result<ParsedSettings> Finish() {
    if (wrong_.empty() && !parsed_.help && !parsed_.version) {
      if (auto status = CompleteSettings(parsed_.settings, parsed_.from); !status) Wrong(status.message());
    }
    if (!wrong_.empty() && !parsed_.help) return Error{Code::kInvalid, wrong_};
    return std::move(parsed_);
  }

 private:
  // True if the next argument was its value.
  bool ReadFlag(const std::string& argument, const std::string* next) {
    const auto equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    if (const auto* row = FindFlag(program_, flag)) {
      if (equals != std::string::npos) {
        Apply(*row, argument.substr(equals + 1), flag, "flag");
        return false;
      }
      if (row->value_name.empty()) {
        Apply(*row, "true", flag, "flag");
        return false;
      }
      if (next == nullptr) {
        Wrong(flag + ": needs a value (" + row->value_name + ")");
        return false;
      }
      Apply(*row, *next, flag, "flag");
      return true;
    }
    if (flag.starts_with("--no-") && equals == std::string::npos) {
      const auto* row = FindFlag(program_, "--" + flag.substr(5));
      if (row != nullptr && row->value_name.empty()) {
        Apply(*row, "false", flag, "flag");
        return false;
      }
    }
    std::vector<std::string> flags = {"--help", "--version"};
    for (const auto& row : SettingsTable()) {
      if (Has(row, program_)) flags.push_back(row.Flag());
    }
    Wrong(flag + ": no such flag" + DidYouMean(flag, flags));
    return false;
  }

  void Apply(const SettingRow& row, const std::string& value, const std::string& where, const char* source) {
    if (auto status = row.set(parsed_.settings, value); !status) {
      Wrong(where + ": " + (row.secret ? "not a valid value" : RedactText(status.message())));
      return;
    }
    parsed_.from[row.name] = source;
  }

  void Wrong(const std::string& line) { wrong_ += (wrong_.empty() ? "" : "\n") + line; }

  const Program program_;
  ParsedSettings parsed_;
  std::string wrong_;
};

}  // namespace

Result<ParsedSettings> ParseSettings(Program program, const std::vector<std::string>& arguments,
                                     const std::map<std::string, std::string>& environment) {
  Parser parser(program);
  parser.ReadEnvironment(environment);
  parser.ReadArguments(arguments);
  return parser.Finish();
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

std::vector<SettingInfo> SettingsOf(Program program) {
  std::vector<SettingInfo> out;
  const Settings defaults;
  for (const auto& row : SettingsTable()) {
    if (!Has(row, program)) continue;
    out.push_back({row.name, row.Environment(), row.Flag(), row.value_name, row.show(defaults), row.doc, row.secret});
  }
  return out;
}

std::string HelpText(Program program, const std::string& binary, const std::string& summary) {
  std::string text = summary + "\n\nUsage: " + binary + " [--name value ...]\n\nA flag wins over its environment variable.\n\n";
  for (const auto& info : SettingsOf(program)) {
    text += fmt::format("  {}{}{}\n      {}\n", info.flag, info.value_name.empty() ? "" : " ", info.value_name, info.doc);
    if (!info.environment.empty()) {
      text += fmt::format("      {}{}\n", info.environment, info.default_text.empty() ? "" : ", default " + info.default_text);
    }
  }
  text += "  --help\n      this text\n  --version\n      the version\n";
  return text;
}

std::string SettingsMarkdown() {
  std::string text =
      "# Settings\n\nWritten from the table in `shared/config/settings_table.cc`; a test keeps the two equal. A flag (`--name value`; a "
      "switch "
      "is\n`--name` or `--no-name`) wins over its environment variable, and that over the default. Lists are written `a,b,c`.\n";
  const auto code = [](const std::string& word) { return word.empty() ? "" : "`" + word + "`"; };
  for (const auto& [program, name] : {std::pair{Program::kCoordinator, "acl-coordinator"}, {Program::kWorker, "acl-worker"}}) {
    text += fmt::format("\n## {}\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n", name);
    for (const auto& info : SettingsOf(program)) {
      const std::string flag = info.flag + (info.value_name.empty() ? "" : " ") + info.value_name;
      text += fmt::format("| {} | {} | {} | {} |\n", code(flag), code(info.environment), code(info.default_text), info.doc);
    }
  }
  text += "\n## airun\n\nIts flags are its commands' own: `airun --help`.\n\n| variable | default | meaning |\n|---|---|---|\n";
  for (const auto& info : SettingsOf(Program::kCli)) {
    text += fmt::format("| {} | {} | {} |\n", code(info.environment), code(info.default_text), info.doc);
  }
  return text;
}

Json ShowSettings(Program program, const Settings& settings) {
  Json out = Json::object();
  for (const auto& row : SettingsTable()) {
    if (!Has(row, program) || row.flag_only) continue;
    const auto text = row.show(settings);
    out[row.name] = text.empty() ? text : Printable(row, text);
  }
  return out;
}

}  // namespace acl
