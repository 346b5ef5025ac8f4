#include <fmt/format.h>

#include "shared/capability/handlers.h"

namespace acl {

namespace {

StepResult Delete(const Json& parameters, CallContext& context) {
  auto path = NormalisePath(StringOf(parameters, "path"));
  if (!path) return Failed(path.error());
  auto removed = context.workspace->Remove(*path, FlagOf(parameters, "recursive"));
  if (!removed) return Failed(removed.error());
  return Done({{"deleted", true}, {"success", true}});
}

// Both ends of a move or copy: the source is there, the destination free (or freed, with `overwrite`).
struct Ends {
  std::string source, destination;
};

Result<Ends> Prepare(const Json& parameters, Workspace& files) {
  auto source = NormalisePath(StringOf(parameters, "source"));
  if (!source) return source.error();
  auto destination = NormalisePath(StringOf(parameters, "destination"));
  if (!destination) return destination.error();
  if (source->empty() || destination->empty())
    return Error{Code::kInvalid, "the workspace root itself cannot be moved, copied or replaced"};
  auto from = files.Stat(*source);
  if (!from) return from.error();
  if (!*from) return Error{Code::kNotFound, fmt::format("Source not found: {}", *source)};
  if (IsUnder(*destination, *source))
    return Error{Code::kInvalid, fmt::format("a directory cannot go into itself: {} to {}", *source, *destination)};
  auto to = files.Stat(*destination);
  if (!to) return to.error();
  if (*to) {
    if (!FlagOf(parameters, "overwrite"))
      return Error{Code::kInvalid, fmt::format("Destination exists: {}; say overwrite: true to replace it", *destination)};
    if (*source == *destination || IsUnder(*source, *destination)) {
      return Error{Code::kInvalid, fmt::format("replacing {} would remove the source {}", *destination, *source)};
    }
    if (auto removed = files.Remove(*destination, true); !removed) return removed.error();
  }
  return Ends{*source, *destination};
}

StepResult Copy(const Json& parameters, CallContext& context) {
  auto ends = Prepare(parameters, *context.workspace);
  if (!ends) return Failed(ends.error());
  auto copied = context.workspace->Copy(ends->source, ends->destination);
  if (!copied) return Failed(copied.error());
  return Done({{"copied", true}, {"success", true}});
}

StepResult Move(const Json& parameters, CallContext& context) {
  auto ends = Prepare(parameters, *context.workspace);
  if (!ends) return Failed(ends.error());
  // Both happen in this attempt's layer, so nobody ever sees one without the other.
  auto copied = context.workspace->Copy(ends->source, ends->destination);
  if (!copied) return Failed(copied.error());
  auto removed = context.workspace->RemoveMoved(ends->source);
  if (!removed) return Failed(removed.error());
  return Done({{"moved", true}, {"success", true}});
}

}  // namespace

void AddFileMovers(CapabilityRegistry& registry) {
  CapabilityDefinition remove;
  remove.id = "io.fs.delete";
  remove.summary = "Remove a file or directory of the run.";
  remove.docs = "A path that is not there, and a directory with something in it without recursive, are failures; then nothing is removed.";
  remove.parameters = {PathField("path", "path below /workspace"), Flag("recursive", false, "a directory with everything below it")};
  remove.results = {Out("deleted", "boolean", "true"), OutSuccess()};
  remove.risk = RiskLevel::kHigh;
  remove.undo = UndoKind::kFiles;
  remove.needs_confirmation = true;
  registry.Add(std::move(remove), Delete);

  CapabilityDefinition move;
  move.id = "io.fs.move";
  move.summary = "Move or rename a file or directory of the run.";
  move.docs = "Files keep their contents and permissions; nothing is copied.";
  move.parameters = {PathField("source", "what to move"), PathField("destination", "its new path"),
                     Flag("overwrite", false, "replace what is there")};
  move.results = {Out("moved", "boolean", "true"), OutSuccess()};
  move.risk = RiskLevel::kMedium;
  move.undo = UndoKind::kFiles;
  registry.Add(std::move(move), Move);

  CapabilityDefinition copy;
  copy.id = "io.fs.copy";
  copy.summary = "Copy a file or directory of the run.";
  copy.docs = "Contents are shared by hash, so copying costs nothing whatever the size.";
  copy.parameters = {PathField("source", "what to copy"), PathField("destination", "where to"),
                     Flag("overwrite", false, "replace what is there")};
  copy.parameters[1].aliases = {"dest"};
  copy.results = {Out("copied", "boolean", "true"), OutSuccess()};
  copy.risk = RiskLevel::kMedium;
  copy.undo = UndoKind::kFiles;
  registry.Add(std::move(copy), Copy);
}

}  // namespace acl
