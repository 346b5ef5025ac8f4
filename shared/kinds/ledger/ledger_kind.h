#pragma once
// Ledgers as a kind of subject (shared/kernel/command.h): commands as decide.h has them, what was set aside runs out by timers, and facts
// are shown in the table `ledger_fact`.

#include <memory>

#include "shared/kernel/command.h"
#include "shared/kinds/ledger/decide.h"

namespace acl::ledger {

inline constexpr std::string_view kKindName = "ledger";
// Where its ready rows stand. No worker takes subjects of this kind: coordinators decide them.
inline constexpr const char* kLedgerQueue = "acl.ledgers";

std::shared_ptr<const CommandKind> MakeLedgerKind();

// The ledger of a project: its id is made of the project's.
SubjectId LedgerOf(const ProjectId& project);

}  // namespace acl::ledger
