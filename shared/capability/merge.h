#pragma once
// Merging the layer of an attempt into the files of its run, and taking a merge back.
//
// Steps that run at the same time each see the files as they were when the step began. Their changes are merged in the order in which
// they complete. A merge gives what a file system would hold if the changes were made there in that order, or it is refused: by path (both
// changed it, or one moved what another removed), by what lies above (a directory that the attempt wrote into is gone or is a file now) and
// by what lies below (an entry that the attempt did not see would lie in a directory that it removed, replaced or made as a whole). So a
// manifest never holds a file and something below it.

#include <optional>
#include <string>
#include <vector>

#include "shared/capability/manifest.h"

namespace acl {

struct FileConflict {
  std::string path;  // of the change that cannot be merged
  std::string what;  // for people: "it changed /workspace/a, which another step changed while it ran"
};
// The first change that cannot be merged into this state. Walks the state only if a directory is removed, replaced or made as a whole.
std::optional<FileConflict> FindConflict(const Document& state, const std::vector<FileChange>& changes);

// Without those that change nothing.
std::vector<FileChange> RealChanges(const Document& state, std::vector<FileChange> changes);

// What brings the entries of `before` ({path: entry, or null if there was none}) back into the state as it is now. A directory in which
// something lies that is not undone stays, a missing directory above is made. kConflict: no file system could hold the outcome (a file
// would come back in the place of such a directory, or below a file).
Result<Json> UndoFiles(const Document& state, const Json& before);

}  // namespace acl
