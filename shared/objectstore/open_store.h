#pragma once
// The object store that the settings name.

#include <memory>

#include "shared/config/settings.h"
#include "shared/objectstore/s3_store.h"

namespace acl {

// nullptr if the settings name none; kInvalid, naming the setting, if what they name cannot work. Nothing is asked of the store yet: a
// process starts, and waits, without it.
Result<std::shared_ptr<S3Store>> OpenObjectStore(const Settings& settings, const Clock& clock, Metrics* metrics);

}  // namespace acl
