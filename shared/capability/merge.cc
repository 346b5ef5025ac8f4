#include "shared/capability/merge.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"

namespace acl {

namespace {

using ByPath = std::map<std::string, const FileChange*, std::less<>>;

bool IsDirAt(const Document& state, std::string_view path) {
  const auto entry = FindFile(state, path);
  return entry && *entry && (*entry)->is_dir;
}

Hash256 TargetOf(const FileChange& change) { return IsDeletion(change) ? Hash256{} : CanonicalHash(FileEntryToJson(EntryOf(change))); }

// The first entry of the state below one of the folders that `known` does not name.
std::optional<std::string> FirstUnknownBelow(const Document& state, const std::set<std::string, std::less<>>& folders,
                                             const std::function<bool(std::string_view)>& known) {
  std::optional<std::string> first;
  state.ForEach([&](const std::string& key, const Json&) {
    if (key.compare(0, kFileKeyPrefix.size(), kFileKeyPrefix) != 0) return true;
    const std::string path = key.substr(kFileKeyPrefix.size());
    if (known(path) || (first && *first < path)) return true;
    for (std::string above = ParentPath(path); !above.empty(); above = ParentPath(above)) {
      if (!folders.contains(above)) continue;
      first = path;
      break;
    }
    return true;
  });
  return first;
}

// What to say of a path that another step changed.
std::string Meanwhile(const FileChange& change, const Hash256& now) {
  return fmt::format("it {} {}, which another step {} while it ran", *change.found == TargetOf(change) ? "relied on" : "changed",
                     LogicalPath(change.path), now == Hash256{} ? "removed" : "changed");
}

// What is wrong above the path of a change that leaves something there.
std::optional<std::string> WrongAbove(const Document& state, const FileChange& change, const ByPath& changes) {
  for (std::string above = ParentPath(change.path); !above.empty(); above = ParentPath(above)) {
    if (const auto own = changes.find(above); own != changes.end()) {
      if (own->second->is_dir) return std::nullopt;  // looked at by itself
      return fmt::format("it leaves {} below {}, which it leaves no directory", LogicalPath(change.path), LogicalPath(above));
    }
    const auto entry = FindFile(state, above);
    if (!entry) return entry.message();
    if (*entry && (*entry)->is_dir) return std::nullopt;
    if (*entry) {
      return fmt::format("it made {}, and another step made {} a file while it ran", LogicalPath(change.path), LogicalPath(above));
    }
    if (!change.found) continue;  // nobody looked
    const bool holds = FirstUnknownBelow(state, {above}, [&](std::string_view path) {
                         const auto own = changes.find(path);
                         return own != changes.end() && IsDeletion(*own->second);
                       }).has_value();
    if (!holds) return fmt::format("it made {}, and another step removed {} while it ran", LogicalPath(change.path), LogicalPath(above));
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileConflict> FindConflict(const Document& state, const std::vector<FileChange>& changes) {
  ByPath by_path;
  for (const FileChange& change : changes) by_path.emplace(change.path, &change);
  std::set<std::string, std::less<>> closed;  // directories in which nothing unseen may lie
  for (const FileChange& change : changes) {
    if (change.found) {
      const Hash256 now = FoundAt(state, change.path);
      if (now != *change.found && (change.whole || now != TargetOf(change))) return FileConflict{change.path, Meanwhile(change, now)};
    }
    if (change.whole || (!change.is_dir && IsDirAt(state, change.path))) closed.insert(change.path);
    if (IsDeletion(change)) continue;
    if (auto wrong = WrongAbove(state, change, by_path)) return FileConflict{change.path, std::move(*wrong)};
  }
  if (closed.empty()) return std::nullopt;
  const auto below = FirstUnknownBelow(state, closed, [&](std::string_view path) { return by_path.contains(path); });
  if (!below) return std::nullopt;
  std::string folder = ParentPath(*below);
  while (!closed.contains(folder)) folder = ParentPath(folder);
  return FileConflict{folder, fmt::format("it removed or replaced {}, in which another step made {} while it ran", LogicalPath(folder),
                                          LogicalPath(*below))};
}

std::vector<FileChange> RealChanges(const Document& state, std::vector<FileChange> changes) {
  std::erase_if(changes, [&](const FileChange& change) { return FoundAt(state, change.path) == TargetOf(change); });
  return changes;
}

Result<Json> UndoFiles(const Document& state, const Json& before) {
  const MembersByKey entries(before);
  std::set<std::string, std::less<>> closed, kept;
  for (auto it = before.begin(); it != before.end(); ++it) {
    const bool stays_dir = it.value().is_object() && it.value().contains("dir");
    if (!stays_dir && IsDirAt(state, it.key())) closed.insert(it.key());
  }
  // Below what becomes a file or goes: everything that is not undone with it keeps its directories.
  while (!closed.empty()) {
    const auto below = FirstUnknownBelow(state, closed, [&](std::string_view path) { return entries.Find(path) != nullptr; });
    if (!below) break;
    for (std::string above = ParentPath(*below); !above.empty(); above = ParentPath(above)) {
      if (!closed.erase(above)) continue;
      if (!entries.Find(above)->is_null()) {
        return Error{Code::kConflict, fmt::format("{} was a file before the step, and {} has been made below it since", LogicalPath(above),
                                                  LogicalPath(*below))};
      }
      kept.insert(above);
    }
  }
  KeyedObject out(before.size());
  for (auto it = before.begin(); it != before.end(); ++it) {
    if (kept.contains(it.key())) continue;
    out.Put(it.key(), it.value());
    if (it.value().is_null()) continue;
    for (std::string above = ParentPath(it.key()); !above.empty(); above = ParentPath(above)) {
      const Json* own = entries.Find(above);
      if (own != nullptr && !own->is_null()) break;
      const auto entry = FindFile(state, above);
      if (!entry) return entry.error();
      if (*entry && (*entry)->is_dir) break;
      if (*entry && own == nullptr) {
        return Error{Code::kConflict,
                     fmt::format("{} cannot come back: {} has been made a file since", LogicalPath(it.key()), LogicalPath(above))};
      }
      out.Put(above, FileEntryToJson(FileEntry{Hash256{}, 0, 0755, true}));
    }
  }
  return std::move(out).Take();
}

}  // namespace acl
