#pragma once
// The rows of a subject's inbox as inputs, read the same by everybody who holds a subject: a worker (worker/leased_subject.h), and a
// coordinator where none is (coordinator/bookkeeper.h).

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shared/kernel/kind.h"

namespace acl {

struct InboxRead {
  // In the order of the rows, but releases from quarantine before all that was said meanwhile: without them none of that is heard, and some
  // of it ends the run.
  std::vector<InboxInput> inputs;
  // What the first damaged result says that stands behind every release (whoever released the run saw those before): the subject is to be
  // quarantined, nothing decided. Empty: none.
  std::string damage;
};

// `rows`: all that are there. `wanted`: asked once for each row, in order; false leaves its input out. Empty: all are wanted. A payload
// that is no JSON is an empty object.
InboxRead ReadInbox(std::span<const InboxRow> rows, const std::function<bool(const InboxRow&)>& wanted = {});

}  // namespace acl
