#include "coordinator/run_maker.h"

namespace acl::coordinator {

Result<CreateItem> PrepareRun(const RunMaker& maker, const WorkflowDefinition& definition, workflow::CreateRequest request,
                              workflow::FirstEventTemplates* event_templates) {
  if (request.subject.is_nil()) request.subject = maker.ids.New<SubjectId>();
  return workflow::MakeCreateItem(maker.kind, definition, std::move(request), event_templates);
}

Result<MadeRun> MakeRun(const RunMaker& maker, const WorkflowDefinition& definition, workflow::CreateRequest request) {
  auto item = PrepareRun(maker, definition, std::move(request));
  if (!item) return item.error();
  auto created = maker.store.Create({&*item, 1});
  if (!created) return created.error();
  if (created->front().kind == CreateOutcome::Kind::kCreated) Counter(maker.created).Add();
  return MadeRun{created->front(), std::move(item->queue)};
}

}  // namespace acl::coordinator
