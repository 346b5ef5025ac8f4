#pragma once
// The HTTP API (docs/reference/openapi.json, docs/reference/api.md) over KernelStore and Queries. Handlers run on a BlockingPool and keep
// nothing: every answer comes from the database, so any coordinator gives it.

#include <functional>
#include <memory>
#include <string>

#include "shared/approval/store.h"
#include "shared/base/uuid7.h"
#include "shared/capability/capability.h"
#include "shared/delivery/store.h"
#include "shared/http/router.h"
#include "shared/kernel/queries.h"
#include "shared/kernel/store.h"
#include "shared/schedule/store.h"
#include "shared/telemetry/metrics.h"

namespace acl::memory {
class Memory;
}

namespace acl::coordinator {

class AnswerBudget;
class AskDesk;
class EndWatch;
class EventFeed;
class BlobPresenceCache;
class LoadedDefinitionCache;
class ProjectDesk;
class ProjectTransfer;
class QueueWatch;
class RunCreator;

// Hints to workers (shared/queue/doorbell_server.h). Never needed for correctness; either may be empty.
struct Bell {
  std::function<void(const std::string& queue)> work;
  std::function<void(const WorkerSessionId& holder, const SubjectId& subject)> subject;

  void RingWork(const std::string& queue) const {
    if (work) work(queue);
  }
  // After a post to the inbox: the holder if there is one, else whoever is free.
  void RingPosted(const PostAnswer& answer, const SubjectId& posted_to) const {
    if (answer.holder && subject) subject(*answer.holder, posted_to);
    if (!answer.holder) RingWork(answer.queue);
  }
};

std::shared_ptr<AnswerBudget> MakeAnswerBudget(), MakeRequestBudget();  // answer_budget.h

// What handlers use; all of it outlives the router.
struct ApiContext {
  KernelStore& store;
  Queries& queries;
  const CapabilityRegistry& capabilities;
  const SubjectKind& workflow_kind;
  Uuid7Maker& ids;
  EventFeed& feed;
  BlobPresenceCache& contents;
  LoadedDefinitionCache& definitions;
  RunCreator& creator;
  EndWatch& ends;
  schedule::ScheduleStore& schedules;
  std::function<void()> schedules_changed;  // may be empty
  Bell bell;
  Counter idempotency_hits;
  std::string jaeger_url = {};  // links to traces begin with it; empty: no links
  Counter runs_created = {};
  QueueWatch* queues = nullptr;                                  // null: nobody says which queues have workers
  ProjectDesk* projects = nullptr;                               // null: there are none
  ProjectTransfer* transfers = nullptr;                          // null: projects are neither exported nor imported
  delivery::DeliveryStore* deliveries = nullptr;                 // null: nothing is sent to the outside
  approval::ApprovalStore* approvals = nullptr;                  // null: nobody lists approvals
  AskDesk* asks = nullptr;                                       // null: there are no ask sessions
  const SubjectKind* agent_kind = nullptr;                       // null: there are no agents
  memory::Memory* memory = nullptr;                              // null: none is configured
  milliseconds approval_wait{2'000};                             // how long a decision waits for the run to hear it
  std::shared_ptr<AnswerBudget> answers = MakeAnswerBudget();    // memory for what answers are made of
  std::shared_ptr<AnswerBudget> requests = MakeRequestBudget();  // and for what bodies become (request_budget.h)
};

// Every route under /v1, /openapi.json and /schemas; not the health routes.
void AddApiRoutes(Router& router, const ApiContext& api);

// The parts, one file each.
void AddSubmitRoutes(Router& router, const ApiContext& api);           // POST /v1/workflows, POST /v1/validate
void AddSubmitManyRoutes(Router& router, const ApiContext& api);       // POST /v1/workflows/batch
void AddRunRoutes(Router& router, const ApiContext& api);              // GET /v1/workflows, /{id}, /{id}/files ...
void AddStepRoutes(Router& router, const ApiContext& api);             // /{id}/steps/{step_id}
void AddActionRoutes(Router& router, const ApiContext& api);           // cancel pause resume signal resolve
void AddCompensateRoutes(Router& router, const ApiContext& api);       // /{id}/steps/{step_id}/compensate
void AddJournalRoutes(Router& router, const ApiContext& api);          // /{id}/events
void AddContentRoutes(Router& router, const ApiContext& api);          // PUT /v1/contents/{sha256}
void AddScheduleRoutes(Router& router, const ApiContext& api);         // /v1/schedules
void AddDeliveryRoutes(Router& router, const ApiContext& api);         // /v1/deliveries
void AddApprovalRoutes(Router& router, const ApiContext& api);         // /v1/approvals
void AddTaskRunRoutes(Router& router, const ApiContext& api);          // /v1/projects/{project}/tasks/{task_id}/runs
void AddProjectRoutes(Router& router, const ApiContext& api);          // /v1/projects
void AddUndoRoutes(Router& router, const ApiContext& api);             // /v1/projects/{project}/undo
void AddMemoryRoutes(Router& router, const ApiContext& api);           // /v1/projects/{project}/learn, search_memory ...
void AddProjectTransferRoutes(Router& router, const ApiContext& api);  // export, import
void AddFleetRoutes(Router& router, const ApiContext& api);            // workers queues leases quarantine
void AddAskRoutes(Router& router, const ApiContext& api);              // /v1/ask, /v1/drift
void AddIntentRoutes(Router& router, const ApiContext& api);           // /v1/ask/intents
void AddAgentRoutes(Router& router, const ApiContext& api);            // /v1/agents
void AddAgentReadingRoutes(Router& router, const ApiContext& api);     // the same: what stands on record
void AddLedgerRoutes(Router& router, const ApiContext& api);           // /v1/ledger
void AddReferenceRoutes(Router& router, const ApiContext& api);        // capabilities, openapi, schema

}  // namespace acl::coordinator
