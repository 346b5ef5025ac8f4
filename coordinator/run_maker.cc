#include "coordinator/run_maker.h"

namespace acl::coordinator {

Result<MadeRun> MakeRun(const RunMaker& maker, const WorkflowSpec& spec, workflow::CreateRequest request) {
  request.subject = maker.ids.New<SubjectId>();
  auto item = workflow::MakeCreateItem(maker.kind, spec, std::move(request));
  if (!item) return item.error();
  auto created = maker.store.Create({&*item, 1});
  if (!created) return created.error();
  return MadeRun{created->front(), std::move(item->queue)};
}

}  // namespace acl::coordinator
