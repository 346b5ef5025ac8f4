#include "cli/verify_kinds.h"

#include "shared/capability/manifest.h"
#include "shared/kinds/project/check.h"
#include "shared/kinds/project/project_kind.h"
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

Result<verify::StateFacts> FactsOfProject(const Document& state) {
  if (state.size() == 0) return verify::StateFacts{};  // an import that has only begun (coordinator/projects/transfer.h)
  if (Status sound = project::CheckState(state); !sound) return sound.error();
  return verify::StateFacts{};
}

verify::KindChecks ProjectChecks() {
  verify::KindChecks checks;
  checks.facts = FactsOfProject;
  checks.commanded = true;
  checks.show = [kind = project::MakeProjectKind()](std::string_view key, const Json& value) { return kind->Show(key, &value); };
  return checks;
}

}  // namespace

verify::KindTable VerifyKinds() {
  return {{"workflow", {FactsOfRun, workflow::event::Ends, workflow::event::MayFollowTheEnd, false, {}}},
          {std::string(project::kKindName), ProjectChecks()}};
}

}  // namespace acl::cli
