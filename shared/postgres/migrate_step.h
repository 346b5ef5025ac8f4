#pragma once
// One step of bringing a database up to date: a transaction that waits for locks in short turns.

#include <functional>
#include <string>

#include "shared/base/result.h"

namespace acl::pg {

class Connection;
struct MigrateLimits;

// A text as an SQL literal.
std::string Quoted(const std::string& text);

// Runs `step` in a transaction of its own, after `settings`. Whoever waits for a lock of a whole table has everybody else wait behind. So a
// step waits for a moment only, is rolled back, lets the others go on, and is tried again. kTimeout after the last try.
Status RunMigrationStep(Connection& connection, const std::string& settings, const std::function<Status()>& step,
                        const MigrateLimits& limits);

}  // namespace acl::pg
