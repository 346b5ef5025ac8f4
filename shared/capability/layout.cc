#include "shared/capability/layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace acl {

namespace {

constexpr std::size_t kMaxWarnings = 20;

// Files are laid out with this time (2000-01-01), so any write afterwards shows, however coarse the clock of the file system.
constexpr timespec kLaidOutTime{946'684'800, 0};

std::int64_t Nanos(const timespec& time) { return std::int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec; }

void Warn(std::vector<std::string>& warnings, std::string text) {
  if (warnings.size() < kMaxWarnings) warnings.push_back(std::move(text));
}

std::string_view KindOf(unsigned mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<Layout::Seen> Layout::Look(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return SystemError("looking at a file", errno);
  return Seen{info.st_ino, info.st_size, Nanos(info.st_mtim), Nanos(info.st_ctim), int(info.st_mode & 0777)};
}

Result<std::unique_ptr<Layout>> Layout::Make(Workspace& workspace) {
  std::unique_ptr<Layout> layout(new Layout(workspace));
  layout->root_ = workspace.folder() + "/files";
  layout->temporary_ = workspace.folder() + "/tmp";
  for (const auto& folder : {layout->root_, layout->temporary_}) {
    Status made = MakeFolders(folder);
    for (int again = 0; !made && made.code() == Code::kNotFound && again < 5; ++again)
      made = MakeFolders(folder);  // beside a removal of an empty parent
    if (!made) return made.error();
  }
  auto files = workspace.Files();
  if (!files) return files.error();
  layout->before_ = std::move(*files);
  auto root = OpenFolder(layout->root_);
  if (!root) return root.error();
  for (const auto& [path, entry] : layout->before_) {  // sorted, so a directory comes before what is in it
    if (auto placed = layout->Place(root->get(), path, entry); !placed)
      return Error{placed.code(), fmt::format("laying out '{}': {}", path, placed.message())};
  }
  return layout;
}

Layout::~Layout() {
  RemoveTree(root_);
  RemoveTree(temporary_);
}

Status Layout::Place(int root, const std::string& path, const FileEntry& entry) {
  std::string folder = entry.is_dir ? path : ParentPath(path);
  for (std::size_t at = 1; at <= folder.size(); ++at) {  // a directory without an entry of its own is made on the way
    if (at != folder.size() && folder[at] != '/') continue;
    std::string part = folder.substr(0, at);
    if (!found_.emplace(part, true).second) continue;
    auto parent = OpenBeneath(root, ParentPath(part), O_PATH | O_DIRECTORY);
    if (!parent) return parent.error();
    if (::mkdirat(parent->get(), BaseName(part).c_str(), 0755) != 0) return SystemError("making a directory", errno);
  }
  if (entry.is_dir) return {};
  auto file = OpenBeneath(root, path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!file) return file.error();
  if (auto copied = workspace_.contents().CopyTo(entry.hash, file->get()); !copied) return copied;
  timespec times[2] = {kLaidOutTime, kLaidOutTime};
  if (::fchmod(file->get(), mode_t(entry.mode)) != 0 || ::futimens(file->get(), times) != 0)
    return SystemError("setting mode and time", errno);
  auto seen = Look(file->get());
  if (!seen) return seen.error();
  laid_[path] = *seen;
  return {};
}

Status Layout::Collect(std::vector<std::string>& warnings) {
  auto root = OpenFolder(root_);
  if (!root) return root.error();
  found_.clear();
  // Deletions first, so that a file may have become a directory; what is still there is put back by the walk.
  if (auto walked = Walk(root->get(), "", 0, warnings); !walked) return walked;
  for (auto it = before_.rbegin(); it != before_.rend(); ++it) {
    const auto& [path, entry] = *it;
    auto found = found_.find(path);
    bool same_kind = found != found_.end() && found->second == entry.is_dir;
    if (same_kind) continue;
    auto now = workspace_.Stat(path);
    if (!now) return now.error();
    if (!*now) continue;  // went with its directory
    if (auto removed = workspace_.Remove(path, true); !removed) return removed;
  }
  for (const auto& [path, is_dir] : found_) {
    auto old = before_.find(path);
    bool known = old != before_.end() && old->second.is_dir == is_dir;
    if (is_dir) {
      if (known) continue;
      auto made = workspace_.MakeDir(path, true);
      if (!made) return made.error();
    } else if (auto taken = TakeFile(root->get(), path); !taken) {
      return taken;
    }
  }
  return {};
}

Status Layout::Walk(int root, const std::string& folder, int depth, std::vector<std::string>& warnings) {
  auto here = OpenBeneath(root, folder, O_RDONLY | O_DIRECTORY);
  if (!here) return Error{here.code(), fmt::format("looking into '{}': {}", folder, here.message())};
  int copy = ::dup(here->get());
  DIR* entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (!entries) {
    int why = errno;
    if (copy >= 0) ::close(copy);
    return SystemError(fmt::format("looking into '{}'", folder), why);
  }
  std::vector<std::string> names;
  while (dirent* entry = ::readdir(entries)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
    if (std::int64_t(names.size() + found_.size()) > workspace_.limits().max_files) {
      ::closedir(entries);
      return Error{Code::kInvalid, fmt::format("the program left more than {} files", workspace_.limits().max_files)};
    }
  }
  ::closedir(entries);
  if (std::size_t(depth) >= kMaxPathDepth && !names.empty()) {
    return Error{Code::kInvalid,
                 fmt::format("the program left a path of more than {} names below '{}...'", kMaxPathDepth, folder.substr(0, 40))};
  }
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    auto path = NormalisePath(folder.empty() ? "./" + name : folder + "/" + name);
    if (!path) {
      Warn(warnings, fmt::format("ignored a file in '{}': {}", LogicalPath(folder), path.message()));
      continue;
    }
    struct stat info {};
    if (::fstatat(here->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(info.st_mode)) {
      found_[*path] = true;
      if ((info.st_mode & 0700) != 0700 && ::fchmodat(here->get(), name.c_str(), 0700, 0) != 0)
        return SystemError("looking into a folder", errno);
      if (auto walked = Walk(root, *path, depth + 1, warnings); !walked) return walked;
    } else if (S_ISREG(info.st_mode)) {
      found_[*path] = false;
    } else if (before_.contains(*path)) {
      return Error{Code::kInvalid, fmt::format("the program put {} in the place of '{}'; files of a run are files and directories only",
                                               KindOf(info.st_mode), *path)};
    } else {
      Warn(warnings, fmt::format("ignored '{}': it is {}", LogicalPath(*path), KindOf(info.st_mode)));
    }
  }
  return {};
}

Status Layout::TakeFile(int root, const std::string& path) {
  auto laid = laid_.find(path);
  // O_NONBLOCK: a FIFO swapped in since the walk must not hold us.
  auto file = OpenBeneath(root, path, O_RDONLY | O_NONBLOCK);
  if (!file && file.code() == Code::kExhausted) return file.error();
  if (!file && laid != laid_.end() && file.code() == Code::kUnavailable)
    return Error{Code::kInvalid, fmt::format("'{}' cannot be read any more: {}", path, file.message())};
  if (!file) return Error{Code::kInvalid, fmt::format("reading what the program wrote: {}", file.message())};
  auto seen = Look(file->get());
  if (!seen) return seen.error();
  if (laid != laid_.end() && laid->second == *seen) return {};
  struct stat info {};
  if (::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode))
    return Error{Code::kInvalid, fmt::format("'{}' is not a file any more", path)};
  const auto& limits = workspace_.limits();
  if (seen->size > limits.max_file_bytes) {
    return Error{Code::kInvalid, fmt::format("'{}' has {} bytes, {} are allowed for one file", path, seen->size, limits.max_file_bytes)};
  }
  auto bytes = ReadAll(file->get(), std::size_t(limits.max_file_bytes));
  if (!bytes) return Error{bytes.code(), fmt::format("'{}': {}", path, bytes.message())};
  return workspace_.Write(path, *bytes, true, seen->mode);
}

}  // namespace acl
