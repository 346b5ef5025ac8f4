#include "cli/verify_kinds.h"

#include "shared/capability/manifest.h"
#include "shared/workflow/events.h"
#include "shared/workflow/run_view.h"

namespace acl::cli {
namespace {

Result<verify::StateFacts> FactsOfRun(const Document& state) {
  auto view = workflow::ViewOf(state);
  if (!view) return view.error();
  auto files = ReadManifest(state);
  if (!files) return files.error();
  if (auto impossible = ImpossibleIn(*files)) return Error{Code::kCorrupt, "the run's files: " + *impossible};
  verify::StateFacts facts;
  facts.status = view->status;
  for (const auto& [path, entry] : *files) {
    if (!entry.is_dir) facts.contents.emplace("file " + path, entry.hash);
  }
  return facts;
}

}  // namespace

verify::KindTable VerifyKinds() { return {{"workflow", {FactsOfRun, workflow::event::Ends, workflow::event::MayFollowTheEnd}}}; }

}  // namespace acl::cli
