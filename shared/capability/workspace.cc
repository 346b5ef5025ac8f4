#include "shared/capability/workspace.h"

#include <fmt/format.h>

namespace acl {

namespace {

constexpr FileEntry kDirectory{Hash256{}, 0, 0755, true};

}  // namespace

Result<const Manifest*> Workspace::Base() {
  if (!base_) {
    auto manifest = ReadManifest(state_);
    if (!manifest) return manifest.error();
    base_ = std::move(*manifest);
  }
  return static_cast<const Manifest*>(&*base_);
}

Result<std::optional<FileEntry>> Workspace::Entry(const std::string& path) {
  auto it = layer_.find(path);
  if (it != layer_.end()) return it->second;
  return FindFile(state_, path);
}

Result<std::optional<FileEntry>> Workspace::Stat(const std::string& path) {
  if (path.empty()) return std::optional<FileEntry>(kDirectory);
  auto entry = Entry(path);
  if (!entry || *entry) return entry;
  // No entry of its own: a directory if anything lies below it.
  std::string first = path + "/";
  for (auto it = layer_.lower_bound(first); it != layer_.end() && IsUnder(it->first, path); ++it) {
    if (it->second) return std::optional<FileEntry>(kDirectory);
  }
  auto base = Base();
  if (!base) return base.error();
  for (auto it = (*base)->lower_bound(first); it != (*base)->end() && IsUnder(it->first, path); ++it) {
    auto over = layer_.find(it->first);
    if (over == layer_.end() || over->second) return std::optional<FileEntry>(kDirectory);
  }
  return std::optional<FileEntry>();
}

Result<Manifest> Workspace::Files() {
  auto base = Base();
  if (!base) return base.error();
  Manifest files = **base;
  for (const auto& [path, entry] : layer_) {
    if (entry) {
      files[path] = *entry;
    } else {
      files.erase(path);
    }
  }
  return files;
}

Result<std::vector<std::pair<std::string, FileEntry>>> Workspace::List(const std::string& path, bool recursive) {
  auto here = Stat(path);
  if (!here) return here.error();
  if (!*here) return Error{Code::kNotFound, fmt::format("Directory not found: {}", path)};
  if (!(*here)->is_dir) return Error{Code::kInvalid, fmt::format("Not a directory: {}", path)};
  auto files = Files();
  if (!files) return files.error();
  std::map<std::string, FileEntry> found;
  std::size_t prefix = path.empty() ? 0 : path.size() + 1;
  for (auto it = files->lower_bound(path.empty() ? path : path + "/"); it != files->end() && IsUnder(it->first, path); ++it) {
    for (auto slash = it->first.find('/', prefix); slash != std::string::npos; slash = it->first.find('/', slash + 1)) {
      found.emplace(it->first.substr(0, slash), kDirectory);  // a directory without an entry; one that has an entry came before
      if (!recursive) break;
    }
    if (recursive || it->first.find('/', prefix) == std::string::npos) found[it->first] = it->second;
  }
  return std::vector<std::pair<std::string, FileEntry>>(found.begin(), found.end());
}

Result<std::string> Workspace::Read(const std::string& path) {
  auto entry = Stat(path);
  if (!entry) return entry.error();
  if (!*entry) return Error{Code::kNotFound, fmt::format("File not found: {}", path)};
  if ((*entry)->is_dir) return Error{Code::kInvalid, fmt::format("Is a directory, not a file: {}", path)};
  return contents_.Get((*entry)->hash);
}

Status Workspace::EnsureParent(const std::string& path, bool create) {
  std::string parent = ParentPath(path);
  if (parent.empty()) return {};
  auto entry = Stat(parent);
  if (!entry) return entry.error();
  if (*entry) {
    if ((*entry)->is_dir) {
      RelyOn(parent);
      return {};
    }
    return Error{Code::kInvalid, fmt::format("'{}' is a file, so nothing can lie below it: {}", parent, path)};
  }
  if (!create) {
    return Error{Code::kNotFound,
                 fmt::format("Directory not found: {}; make it with io.fs.make_dir, or say create_dirs: true where the capability knows it",
                             parent)};
  }
  if (auto above = EnsureParent(parent, true); !above) return above;
  if (auto quota = CheckQuota(parent, 0, 1); !quota) return quota;
  layer_[parent] = kDirectory;
  return {};
}

// One that has no entry of its own gets one, so that what is made in it cannot hang in the air.
void Workspace::RelyOn(const std::string& directory) {
  if (directory.empty()) return;
  const auto entry = Entry(directory);
  layer_.emplace(directory, entry && *entry ? **entry : kDirectory);
}

Status Workspace::CheckQuota(const std::string& path, std::int64_t grows_by, std::int64_t more_files) {
  if (total_bytes_ < 0) {
    auto files = Files();
    if (!files) return files.error();
    total_bytes_ = 0;
    total_files_ = std::int64_t(files->size());
    for (const auto& [name, entry] : *files) total_bytes_ += entry.size;
  }
  if (more_files > 0 && total_files_ + more_files > limits_.max_files) {
    return Error{Code::kInvalid,
                 fmt::format("'{}' would be file {} of this run, {} are allowed", path, total_files_ + more_files, limits_.max_files)};
  }
  if (grows_by > 0 && total_bytes_ + grows_by > limits_.max_total_bytes) {
    return Error{Code::kInvalid, fmt::format("'{}' would bring the run's files to {} bytes, {} are allowed", path, total_bytes_ + grows_by,
                                             limits_.max_total_bytes)};
  }
  total_bytes_ += grows_by;
  total_files_ += more_files;
  return {};
}

Status Workspace::PutEntry(const std::string& path, const FileEntry& entry, bool create_parents) {
  if (path.empty()) return Error{Code::kInvalid, "the workspace root itself cannot be written; name a file below it"};
  auto old = Stat(path);
  if (!old) return old.error();
  if (*old && (*old)->is_dir != entry.is_dir) {
    return Error{Code::kInvalid, fmt::format("'{}' is a {}; remove it first", path, (*old)->is_dir ? "directory" : "file")};
  }
  if (entry.size > limits_.max_file_bytes) {
    return Error{Code::kInvalid, fmt::format("'{}' has {} bytes, {} are allowed for one file", path, entry.size, limits_.max_file_bytes)};
  }
  if (auto parent = EnsureParent(path, create_parents); !parent) return parent;
  auto quota = CheckQuota(path, entry.size - (*old ? (*old)->size : 0), *old ? 0 : 1);
  if (!quota) return quota;
  layer_[path] = entry;
  return {};
}

Status Workspace::Write(const std::string& path, const std::string& bytes, bool create_parents, std::optional<int> mode) {
  auto old = Stat(path);
  if (!old) return old.error();
  FileEntry entry;
  entry.size = std::int64_t(bytes.size());
  entry.mode = mode.value_or(*old && !(*old)->is_dir ? (*old)->mode : 0644);
  if (auto put = PutEntry(path, entry, create_parents); !put) return put;  // limits before the bytes go anywhere
  auto hash = contents_.Put(bytes);
  if (!hash) return hash.error();
  layer_[path]->hash = *hash;
  return {};
}

Result<bool> Workspace::MakeDir(const std::string& path, bool parents) {
  auto old = Stat(path);
  if (!old) return old.error();
  if (*old) {
    if (!(*old)->is_dir) return Error{Code::kInvalid, fmt::format("'{}' is a file", path)};
    RelyOn(path);
    return false;
  }
  if (auto put = PutEntry(path, kDirectory, parents); !put) return put.error();
  return true;
}

Status Workspace::Remove(const std::string& path, bool recursive) {
  if (path.empty()) return Error{Code::kInvalid, "the workspace root itself cannot be removed"};
  auto here = Stat(path);
  if (!here) return here.error();
  if (!*here) return Error{Code::kNotFound, fmt::format("Path not found: {}", path)};
  std::vector<std::pair<std::string, FileEntry>> below;
  if ((*here)->is_dir) {
    auto listed = List(path, true);
    if (!listed) return listed.error();
    below = std::move(*listed);
    if (!below.empty() && !recursive) {
      return Error{Code::kInvalid,
                   fmt::format("Directory not empty: {} ({} entries); say recursive: true to remove them too", path, below.size())};
    }
  }
  // A directory that is there only by what lies below it must not vanish with it.
  std::string parent = ParentPath(path);
  if (!parent.empty()) {
    auto entry = Entry(parent);
    if (!entry) return entry.error();
    if (!*entry) layer_[parent] = kDirectory;
  }
  below.emplace_back(path, **here);
  for (const auto& [name, entry] : below) {
    layer_[name] = std::nullopt;
    if (total_bytes_ >= 0) {
      total_bytes_ -= entry.size;
      --total_files_;
    }
  }
  return {};
}

Status Workspace::RemoveMoved(const std::string& path) {
  if (Status removed = Remove(path, true); !removed) return removed;
  for (const auto& [name, entry] : layer_) {
    if (!entry && (name == path || IsUnder(name, path))) moved_.insert(name);
  }
  return {};
}

Status Workspace::Copy(const std::string& source, const std::string& destination) {
  auto entry = Stat(source);
  if (!entry) return entry.error();
  if (!*entry) return Error{Code::kNotFound, fmt::format("Source not found: {}", source)};
  std::vector<std::pair<std::string, FileEntry>> below;
  if ((*entry)->is_dir) {
    if (destination == source || IsUnder(destination, source)) {
      return Error{Code::kInvalid, fmt::format("a directory cannot go into itself: {} to {}", source, destination)};
    }
    auto listed = List(source, true);
    if (!listed) return listed.error();
    below = std::move(*listed);
  }
  if (auto put = PutEntry(destination, **entry, false); !put) return put;
  if ((*entry)->is_dir) whole_.insert(destination);
  for (const auto& [path, child] : below) {
    auto target = NormalisePath(destination + path.substr(source.size()));  // may have become too long
    if (!target) return target.error();
    if (auto put = PutEntry(*target, child, true); !put) return put;
  }
  return {};
}

std::vector<FileChange> Workspace::Changes() const {
  std::vector<FileChange> changes;
  for (const auto& [path, entry] : layer_) {
    FileChange change;
    change.path = path;
    change.found = FoundAt(state_, path);
    change.whole = entry ? entry->is_dir && whole_.contains(path) : moved_.contains(path);
    if (entry) {
      change.is_dir = entry->is_dir;
      change.mode = entry->mode;
      change.size = entry->size;
      if (!entry->is_dir) change.hash = entry->hash;
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace acl
