#pragma once
// The files of one run as one attempt sees them (docs/architecture.md#workspaces): the manifest of the state at the start, and over it a
// layer of this attempt's own changes. A result carries the layer as file changes and the commit merges it; a failure throws it away.
// Nothing here touches a file that another attempt could see, so a zombie writes into nothing and file capabilities may be repeated.
//
// Paths are normalised (manifest.h). Errors a user sees: kInvalid and kNotFound with the path as people write it. One thread.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/capability/config.h"
#include "shared/capability/content.h"
#include "shared/capability/manifest.h"

namespace acl {

class Workspace {
 public:
  // `name_folder` names where programs' files may be laid out (layout.h), this attempt's own; asked once, when something needs it.
  Workspace(Document state, ContentCache& contents, const FileLimits& limits, std::function<std::string()> name_folder)
      : state_(std::move(state)), contents_(contents), limits_(limits), name_folder_(std::move(name_folder)) {}

  // nullopt: nothing there. The root and directories without an entry of their own are directories.
  Result<std::optional<FileEntry>> Stat(const std::string& path);
  // What lies below a directory, sorted by path; directories without an entry included. kNotFound, kInvalid if it is a file.
  Result<std::vector<std::pair<std::string, FileEntry>>> List(const std::string& path, bool recursive);
  Result<std::string> Read(const std::string& path);

  // Contents go to the store before this returns. The mode of a file that is there stays, unless given.
  Status Write(const std::string& path, const std::string& bytes, bool create_parents, std::optional<int> mode = {});
  // The entry of a content that is stored already (copy, move, layout).
  Status PutEntry(const std::string& path, const FileEntry& entry, bool create_parents);
  // True if it was made, false if it was there.
  Result<bool> MakeDir(const std::string& path, bool parents);
  // The file, or the directory and, if recursive, everything below it.
  Status Remove(const std::string& path, bool recursive);
  // The same of what was copied elsewhere: it has to be there, as it was, when the change is merged.
  Status RemoveMoved(const std::string& path);
  // The directory or file with everything below it, under the new name. `destination` must be free.
  Status Copy(const std::string& source, const std::string& destination);

  // The manifest with the layer applied, sorted by path.
  Result<Manifest> Files();
  // The layer, sorted by path, with the directories that it relies on (merge.h); what ends as it was is there too, for whoever wrote it
  // relies on it.
  std::vector<FileChange> Changes() const;

  ContentCache& contents() { return contents_; }
  const FileLimits& limits() const { return limits_; }
  const std::string& folder() {
    if (!folder_) folder_ = name_folder_();
    return *folder_;
  }
  bool folder_asked() const { return folder_.has_value(); }  // else nobody can have made it

 private:
  Result<const Manifest*> Base();
  Result<std::optional<FileEntry>> Entry(const std::string& path);  // of the layer, else of the state
  Status EnsureParent(const std::string& path, bool create);
  void RelyOn(const std::string& directory);  // it is there
  Status CheckQuota(const std::string& path, std::int64_t grows_by, std::int64_t more_files);

  Document state_;
  ContentCache& contents_;
  const FileLimits limits_;
  const std::function<std::string()> name_folder_;
  std::optional<std::string> folder_;
  std::optional<Manifest> base_;                           // read when something needs the whole
  std::map<std::string, std::optional<FileEntry>> layer_;  // nullopt: deleted
  std::set<std::string> whole_;                            // directories whose whole tree is this attempt's
  std::set<std::string> moved_;                            // removed because they went elsewhere
  std::int64_t total_bytes_ = -1, total_files_ = 0;        // counted at the first growth
};

}  // namespace acl
