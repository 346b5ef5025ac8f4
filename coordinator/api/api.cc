#include "coordinator/api/api.h"

#include <algorithm>

#include "coordinator/api/request_budget.h"

namespace acl::coordinator {

void AddApiRoutes(Router& added_to, const ApiContext& api) {
  Router router;
  AddSubmitRoutes(router, api);
  AddSubmitManyRoutes(router, api);
  AddRunRoutes(router, api);
  AddStepRoutes(router, api);
  AddActionRoutes(router, api);
  AddCompensateRoutes(router, api);
  AddJournalRoutes(router, api);
  AddContentRoutes(router, api);
  if (api.transfers != nullptr) AddProjectTransferRoutes(router, api);
  AddDeliveryRoutes(router, api);
  AddApprovalRoutes(router, api);
  AddAgentRoutes(router, api);
  AddAgentReadingRoutes(router, api);
  AddAskRoutes(router, api);
  AddIntentRoutes(router, api);
  AddLedgerRoutes(router, api);
  AddScheduleRoutes(router, api);
  if (api.projects != nullptr) AddTaskRunRoutes(router, api);
  if (api.projects != nullptr) AddProjectRoutes(router, api);
  if (api.projects != nullptr) AddUndoRoutes(router, api);
  if (api.projects != nullptr) AddMemoryRoutes(router, api);
  AddFleetRoutes(router, api);
  AddReferenceRoutes(router, api);
  for (const Route& route : router.routes()) {
    const auto& types = route.options.content_types;
    const bool reads = std::find(types.begin(), types.end(), "application/json") != types.end();
    added_to.Add(route.method, route.pattern, route.options, reads ? WithinBudget(api, route.handler) : route.handler);
  }
}

}  // namespace acl::coordinator
