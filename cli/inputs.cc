#include "cli/inputs.h"

#include <istream>
#include <set>

#include "shared/base/read_file.h"
#include "shared/base/utf8.h"
#include "shared/definition/loader.h"
#include "shared/definition/source_tree.h"

namespace acl::cli {

namespace {

Result<Json> ReadInputFile(Session* session, const std::string& file) {
  auto text = ReadNamed(session, file, kMostInputBytes);
  if (!text) return text.error();
  std::vector<acl::Finding> findings;
  const auto tree = ReadSource(*text, {}, &findings);
  for (const acl::Finding& finding : findings)
    if (finding.severity == acl::Finding::Severity::kError) return Error{Code::kInvalid, FormatFinding(file, finding)};
  if (!tree || !tree->is_map()) return Error{Code::kInvalid, "--inputs " + file + ": it is no map of names and values"};
  return ToJson(*tree);
}

std::optional<std::pair<std::string, std::string>> Split(const std::string& pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return std::pair(pair.substr(0, equals), pair.substr(equals + 1));
}

}  // namespace

Result<std::string> ReadNamed(Session* session, const std::string& path, std::size_t most) {
  if (path != "-") return ReadFile(path, most);
  if (session->environment.in == nullptr || std::exchange(session->stdin_read, true))
    return Error{Code::kInvalid, "stdin (-) can be named once only"};
  std::string text;
  char piece[65536];
  while (session->environment.in->read(piece, sizeof piece), session->environment.in->gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(session->environment.in->gcount()));
    if (text.size() > most) return Error{Code::kInvalid, "stdin gives more than " + std::to_string(most >> 20) + " MiB"};
  }
  return text;
}

Result<Json> ReadInputs(Session* session, const WorkflowDefinition& definition, const std::string& file,
                        const std::vector<std::string>& pairs) {
  Json out = Json::object();
  if (!file.empty()) {
    auto from_file = ReadInputFile(session, file);
    if (!from_file) return from_file;
    out = std::move(*from_file);
  }
  std::set<std::string> given;
  for (const std::string& pair : pairs) {
    auto parts = Split(pair);
    if (!parts) return Error{Code::kInvalid, "-i takes NAME=VALUE or NAME=@FILE, not '" + pair + "'"};
    auto& [name, text] = *parts;
    if (!given.insert(name).second) return Error{Code::kInvalid, "-i gives '" + name + "' twice"};
    if (text.starts_with("@@")) {
      text.erase(0, 1);
    } else if (text.starts_with('@')) {
      auto read = ReadNamed(session, text.substr(1), kMostInputBytes);
      if (!read) return Error{Code::kInvalid, "-i " + name + ": " + read.message() + " (a value that begins with @ is written @@...)"};
      if (!IsUtf8(*read))
        return Error{Code::kInvalid, "-i " + name + ": " + text.substr(1) + " is no UTF-8 text; other files go into the run by --files"};
      text = std::move(*read);
    }
    auto value = ReadInput(definition, name, text);
    if (!value) return value.error();
    out[name] = std::move(*value);
  }
  return out;
}

Result<Json> ReadLabels(const std::vector<std::string>& pairs, const std::string& option) {
  Json out = Json::object();
  for (const std::string& pair : pairs) {
    const auto parts = Split(pair);
    if (!parts) return Error{Code::kInvalid, option + " takes NAME=VALUE, not '" + pair + "'"};
    if (out.contains(parts->first)) return Error{Code::kInvalid, option + " gives '" + parts->first + "' twice"};
    out[parts->first] = parts->second;
  }
  return out;
}

}  // namespace acl::cli
