#include <fmt/format.h>

#include "shared/base/base64.h"
#include "shared/base/sha256.h"
#include "shared/capability/handlers.h"
#include "shared/capability/text_encoding.h"

namespace acl {

namespace {

constexpr std::size_t kMaxWriteBytes = 20u << 20;  // docs/reference/other-runtimes.md#capabilities

StepResult WriteFile(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  auto bytes = EncodeText(StringOf(parameters, "content"), StringOf(parameters, "encoding"));
  if (!bytes) return Failed(fmt::format("{}: {}", *path, bytes.message()));
  auto written = context.workspace->Write(*path, *bytes, FlagOf(parameters, "create_dirs"));
  if (!written) return Failed(written.error());
  return Done({{"bytes_written", bytes->size()}, {"success", true}});
}

StepResult WriteBytes(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  std::string encoded = StringOf(parameters, "content_base64");
  if (encoded.empty()) return Failed("content_base64 is empty; io.fs.write_file writes empty files");
  auto bytes = DecodeBase64(encoded);
  if (!bytes) return Failed("content_base64 is not base64 (RFC 4648 with padding, no line breaks)");
  if (bytes->size() > kMaxWriteBytes)
    return Failed(fmt::format("content_base64 holds {} bytes, {} are allowed", bytes->size(), kMaxWriteBytes));
  auto old = context.workspace->Stat(*path);
  if (!old) return Failed(old.error());
  if (*old && !FlagOf(parameters, "overwrite")) return Failed(fmt::format("File exists: {}; say overwrite: true to replace it", *path));
  auto written = context.workspace->Write(*path, *bytes, FlagOf(parameters, "create_dirs"));
  if (!written) return Failed(written.error());
  return Done(
      {{"file_path", LogicalPath(*path)}, {"bytes_written", bytes->size()}, {"checksum", ToHex(Sha256(*bytes))}, {"success", true}});
}

StepResult MakeDir(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  auto made = context.workspace->MakeDir(*path, FlagOf(parameters, "parents"));
  if (!made) {
    return made.code() == Code::kNotFound
               ? Failed(fmt::format("Directory not found: {}; say parents: true to make it too", ParentPath(*path)))
               : Failed(made.error());
  }
  if (!*made && !FlagOf(parameters, "exist_ok")) return Failed(fmt::format("Directory exists: {}", *path));
  return Done({{"created", *made}, {"success", true}});
}

}  // namespace

void AddFileWriters(CapabilityRegistry& registry) {
  CapabilityDefinition write;
  write.id = "io.fs.write_file";
  write.summary = "Write a text file of the run.";
  write.docs = "Replaces the file if it is there. Example: `inputs: {path: out/report.md, content: \"# {{title}}\", create_dirs: true}`";
  write.parameters = {PathField("path", "file below /workspace"),
                      {.name = "content", .type = "string", .description = "the text", .required = true},
                      {.name = "encoding",
                       .type = "string",
                       .description = "utf-8, ascii or latin-1",
                       .default_value = Json("utf-8"),
                       .check_literal = BadEncoding},
                      Flag("create_dirs", false, "make missing directories")};
  write.parameters[0].aliases = {"file_path"};
  write.results = {Out("bytes_written", "integer", "bytes of the encoded text"), OutSuccess()};
  write.risk = RiskLevel::kMedium;
  write.undo = UndoKind::kFiles;
  write.needs_confirmation = true;
  registry.Add(std::move(write), WriteFile);

  CapabilityDefinition bytes;
  bytes.id = "io.fs.write_bytes";
  bytes.summary = "Write a file of the run from base64.";
  bytes.docs = "For anything that is not text, up to 20 MiB.";
  bytes.parameters = {PathField("path", "file below /workspace"),
                      {.name = "content_base64", .type = "string", .description = "RFC 4648 with padding; not empty", .required = true},
                      Flag("overwrite", false, "replace a file that is there"),
                      Flag("create_dirs", false, "make missing directories")};
  bytes.results = {Out("file_path", "string", "path from /workspace"), Out("bytes_written", "integer", "bytes"),
                   Out("checksum", "string", "SHA-256, 64 hex digits"), OutSuccess()};
  bytes.risk = RiskLevel::kMedium;
  bytes.undo = UndoKind::kFiles;
  registry.Add(std::move(bytes), WriteBytes);

  CapabilityDefinition make;
  make.id = "io.fs.make_dir";
  make.summary = "Make a directory of the run.";
  make.docs = "A directory that is there is fine unless exist_ok is false.";
  make.parameters = {PathField("path", "directory below /workspace"), Flag("parents", false, "make missing directories above it"),
                     Flag("exist_ok", true, "one that is there is no failure")};
  make.results = {Out("created", "boolean", "false if it was there"), OutSuccess()};
  make.risk = RiskLevel::kMedium;
  make.undo = UndoKind::kFiles;
  registry.Add(std::move(make), MakeDir);
}

}  // namespace acl
