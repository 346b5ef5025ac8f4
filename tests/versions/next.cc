// Linked into acl-worker-next and acl-coordinator-next: the same programs as if they were of the version to come, whose events older ones
// cannot read. The definition of the programs themselves is weak.
#include "shared/journal/event.h"

namespace acl {

int EventSchemaVersion() { return 2; }

}  // namespace acl
