#include "coordinator/api/api.h"

namespace acl::coordinator {

void AddApiRoutes(Router& router, const ApiContext& api) {
  AddSubmitRoutes(router, api);
  AddSubmitManyRoutes(router, api);
  AddRunRoutes(router, api);
  AddStepRoutes(router, api);
  AddActionRoutes(router, api);
  AddJournalRoutes(router, api);
  AddContentRoutes(router, api);
  AddScheduleRoutes(router, api);
  AddFleetRoutes(router, api);
  AddReferenceRoutes(router, api);
}

}  // namespace acl::coordinator
