#include <fmt/format.h>

#include "shared/capability/handlers.h"
#include "shared/capability/text_encoding.h"

namespace acl {

namespace {

StepResult ReadFile(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  auto bytes = context.workspace->Read(*path);
  if (!bytes) return Failed(bytes.error());
  auto text = DecodeText(*bytes, StringOf(parameters, "encoding"));
  if (!text) return Failed(fmt::format("{}: {}", *path, text.message()));
  return Done({{"content", text->text}, {"size", text->characters}, {"success", true}});
}

StepResult HashFile(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  auto entry = context.workspace->Stat(*path);
  if (!entry) return Failed(entry.error());
  if (!*entry) return Failed(fmt::format("File not found: {}", *path));
  if ((*entry)->is_dir) return Failed(fmt::format("Is a directory, not a file: {}", *path));
  return Done({{"checksum_sha256", ToHex((*entry)->hash)}, {"success", true}});  // the manifest knows it; the content is not read
}

StepResult Exists(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  auto entry = context.workspace->Stat(*path);
  if (!entry) return Failed(entry.error());
  bool is_dir = *entry && (*entry)->is_dir;
  return Done({{"exists", entry->has_value()}, {"is_dir", is_dir}, {"is_file", *entry && !is_dir}});
}

// A hidden entry, or one below a hidden directory that was listed from above it.
bool IsHidden(std::string_view path, std::size_t from) {
  return path.substr(from).substr(0, 1) == "." || path.find("/.", from) != std::string_view::npos;
}

StepResult ListDir(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  auto listed = context.workspace->List(*path, FlagOf(parameters, "recursive"));
  if (!listed) return Failed(listed.error());
  bool include_hidden = FlagOf(parameters, "include_hidden");
  Json entries = Json::array();
  std::size_t bytes = 0;
  for (const auto& [name, entry] : *listed) {
    if (auto late = Late(context, "listing")) return *late;
    if (!include_hidden && IsHidden(name, path->empty() ? 0 : path->size() + 1)) continue;
    constexpr std::size_t kAround = 48;  // an entry's own words
    if ((bytes += 2 * name.size() + kAround) > limits::kStepOutputBytes) return TooMuchOutput();
    entries.push_back({{"name", BaseName(name)}, {"path", LogicalPath(name)}, {"is_dir", entry.is_dir}, {"size", entry.size}});
  }
  return Done({{"entries", std::move(entries)}, {"success", true}});
}

}  // namespace

void AddFileReaders(CapabilityRegistry& registry) {
  CapabilityDefinition read;
  read.id = "io.fs.read_file";
  read.summary = "Read a text file of the run.";
  read.docs = "Gives the whole text. A file that is not text in the encoding is a failure; io.fs.hash_file works on any file.";
  read.parameters = {PathField("path", "file below /workspace"),
                     {.name = "encoding",
                      .type = "string",
                      .description = "utf-8, ascii or latin-1",
                      .default_value = Json("utf-8"),
                      .check_literal = BadEncoding}};
  read.results = {Out("content", "string", "the text"), Out("size", "integer", "its characters"), OutSuccess()};
  registry.Add(std::move(read), ReadFile);

  CapabilityDefinition hash;
  hash.id = "io.fs.hash_file";
  hash.summary = "SHA-256 of a file of the run.";
  hash.docs = "Costs nothing whatever the size: the run's manifest holds it.";
  hash.parameters = {PathField("path", "file below /workspace")};
  hash.results = {Out("checksum_sha256", "string", "64 hex digits"), OutSuccess()};
  registry.Add(std::move(hash), HashFile);

  CapabilityDefinition exists;
  exists.id = "io.fs.exists";
  exists.summary = "Whether a path exists in the run's files.";
  exists.docs = "Never fails for a path that is not there: that is its answer.";
  exists.parameters = {PathField("path", "path below /workspace")};
  exists.results = {Out("exists", "boolean", "anything there"), Out("is_dir", "boolean", "a directory"),
                    Out("is_file", "boolean", "a file")};
  exists.false_success = FalseSuccess::kResult;
  registry.Add(std::move(exists), Exists);

  CapabilityDefinition list;
  list.id = "io.fs.list_dir";
  list.summary = "List a directory of the run.";
  list.docs = "Sorted by path. Names that start with a dot, and what lies below them, are left out unless include_hidden is true.";
  list.parameters = {PathField("path", "directory below /workspace; \".\" is the root"),
                     Flag("recursive", false, "everything below it too"), Flag("include_hidden", false, "names that start with a dot too")};
  list.results = {Out("entries", "array", "maps {name, path (from /workspace), is_dir, size (bytes; 0 for directories)}"), OutSuccess()};
  registry.Add(std::move(list), ListDir);
}

}  // namespace acl
