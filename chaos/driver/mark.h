#pragma once
// The mark of a fleet that may be hurt: a word in the comment of its database, which only the database's owner can set and which a copy
// made by pg_dump does not have.

#include "shared/base/result.h"

namespace acl::chaos {

// kDenied, with what to do, if it is not marked.
Status IsMarked(const std::string& conninfo);
// Sets the mark or takes it away; the rest of the comment stays.
Status SetMark(const std::string& conninfo, bool marked);

}  // namespace acl::chaos
