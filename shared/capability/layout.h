#pragma once
// The files of a run laid out in a folder, for a program that knows nothing of manifests. A folder serves one attempt and is removed after
// it. Afterwards it is compared with what was laid out (inode, size, times, then hash), and the differences go into the attempt's layer.
//
// Everything in the folder is opened below it without following links (fd.h): a program may leave symbolic links, and swap them under
// our hands. Links, FIFOs, sockets and devices are never part of a run: new ones are ignored with a warning; one that took the
// place of a file is an error, because ignoring it would lose the file.

#include <string>
#include <vector>

#include "shared/capability/workspace.h"

namespace acl {

class Layout {
 public:
  // Lays the workspace's files out below its folder(). kUnavailable "disk full" and the like: nothing ran, nothing is left behind.
  static Result<std::unique_ptr<Layout>> Make(Workspace& workspace);
  ~Layout();

  const std::string& root() const { return root_; }            // the files
  const std::string& temporary() const { return temporary_; }  // beside them: TMPDIR of the program, never looked at again

  // Brings what changed into the workspace's layer. `warnings`: what was ignored, one line each (at most 20).
  // kInvalid: a limit was reached, or a link in place of a file.
  Status Collect(std::vector<std::string>& warnings);

 private:
  struct Seen {
    std::uint64_t inode = 0;
    std::int64_t size = 0, modified_ns = 0, changed_ns = 0;
    int mode = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  explicit Layout(Workspace& workspace) : workspace_(workspace) {}
  Status Place(int root, const std::string& path, const FileEntry& entry);
  Status Walk(int root, const std::string& folder, int depth, std::vector<std::string>& warnings);
  Status TakeFile(int root, const std::string& path);
  static Result<Seen> Look(int fd);

  Workspace& workspace_;
  std::string root_, temporary_;
  Manifest before_;
  std::map<std::string, Seen> laid_;   // files only
  std::map<std::string, bool> found_;  // path -> is a directory
};

}  // namespace acl
