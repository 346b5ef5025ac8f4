#pragma once
// From the table of settings to what each part of a worker wants to know.

#include "shared/capability/config.h"
#include "shared/config/settings.h"
#include "shared/postgres/pg_store.h"
#include "worker/worker_core.h"

namespace acl {

PgStoreOptions StoreOptions(const Settings& settings, std::shared_ptr<ObjectStore> objects = nullptr);
WorkerConfig MakeWorkerConfig(const Settings& settings);
// kInvalid if a process with so many descriptors could not serve its slots.
Status EnoughDescriptors(const Settings& settings, std::int64_t descriptors);
CapabilityConfig MakeCapabilityConfig(const Settings& settings);

}  // namespace acl
