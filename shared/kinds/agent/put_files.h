#pragma once
// Files that people put into a session's working directory, or take out of it, while it lives: an input of its own, heard like a stimulus.

#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/result.h"
#include "shared/journal/document.h"
#include "shared/kernel/kind.h"

namespace acl::agent {

// The payload of kFilesInput: {"files": [{"path", "hash", "size", "mode"} or {"path", "dir", "mode"}], "remove": [paths], "mode", "quiet",
// "by"}. `files` are normalised already; contents are in the content store.
Json FilesPayload(const std::vector<FileChange>& files, const std::vector<std::string>& removed);

// What such a payload makes of the files as they are now: folders that are there stay as they are, a folder goes with all that is in it.
// kInvalid: no form of ours. kConflict: no file system could hold the outcome.
Result<std::vector<FileChange>> PutFiles(const Document& state, const Json& payload);

}  // namespace acl::agent
