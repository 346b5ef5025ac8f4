#pragma once
// `--files DIR`: a folder's files go to the content store, their list to the submission.

#include "cli/session.h"

namespace acl::cli {

// Each folder as "DIR" or "DIR=PREFIX". Returns the list for POST /v1/workflows: [{"path","hash","size","mode"}], sorted by path.
// Links and other things that are no files are skipped with a note. Contents of equal hash are sent once.
Result<Json> Upload(Session* session, ApiClient& api, const std::vector<std::string>& folders);

}  // namespace acl::cli
