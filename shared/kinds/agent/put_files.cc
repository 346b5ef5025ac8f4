#include "shared/kinds/agent/put_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shared/base/ids.h"
#include "shared/base/json_members.h"
#include "shared/capability/manifest.h"
#include "shared/capability/merge.h"

namespace acl::agent {

namespace {

Result<FileChange> ChangeFrom(const Json& json) {
  FileChange change;
  if (!json.is_object() || TextOrNone(json, "path").empty()) return Error{Code::kInvalid, "a file without a path"};
  change.path = TextOrNone(json, "path");
  change.is_dir = json.contains("dir");
  change.mode = int(NumberIn(json, "mode"));
  if (change.is_dir) return change;
  change.hash = HashFromHex(TextOrNone(json, "hash"));
  change.size = NumberIn(json, "size");
  if (!change.hash) return Error{Code::kInvalid, "the file '" + change.path + "' has no hash"};
  return change;
}

bool IsFolderNow(const Document& state, const std::string& path) {
  const auto found = FindFile(state, path);
  return found && *found && (*found)->is_dir;
}

// What lies at a path and below it.
std::vector<FileChange> Gone(const Document& state, const std::string& path) {
  std::vector<FileChange> changes;
  state.ForEach([&](const std::string& key, const Json&) {
    if (!key.starts_with(kFileKeyPrefix)) return true;
    const std::string at = key.substr(kFileKeyPrefix.size());
    if (at != path && !IsUnder(at, path)) return true;
    FileChange change;
    change.path = at;
    changes.push_back(std::move(change));
    return true;
  });
  return changes;
}

}  // namespace

Json FilesPayload(const std::vector<FileChange>& files, const std::vector<std::string>& removed) {
  Json payload = {{"files", Json::array()}, {"remove", removed}};
  for (const FileChange& file : files) {
    Json item = {{"path", file.path}, {"mode", file.mode}};
    if (file.is_dir) {
      item["dir"] = true;
    } else if (file.hash) {
      item["hash"] = ToHex(*file.hash);
      item["size"] = file.size;
    }
    payload["files"].push_back(std::move(item));
  }
  return payload;
}

Result<std::vector<FileChange>> PutFiles(const Document& state, const Json& payload) {
  std::vector<FileChange> put, changes;
  std::set<std::string> said;
  if (!payload.is_object()) return Error{Code::kInvalid, "no files and none to remove"};
  for (const Json& item : payload.value("files", Json::array())) {
    auto change = ChangeFrom(item);
    if (!change) return change.error();
    said.insert(change->path);
    put.push_back(std::move(*change));
  }
  auto whole = WithParents(std::move(put));
  if (!whole) return whole.error();
  for (FileChange& change : *whole)
    if (!change.is_dir || said.contains(change.path) || !IsFolderNow(state, change.path)) changes.push_back(std::move(change));
  for (const Json& path : payload.value("remove", Json::array())) {
    if (!path.is_string()) return Error{Code::kInvalid, "'remove' is no list of paths"};
    auto normal = NormalisePath(path.get_ref<const std::string&>());
    if (!normal) return normal.error();
    auto gone = Gone(state, *normal);
    if (gone.empty()) return Error{Code::kConflict, fmt::format("there is no file '{}' (airun agent files)", *normal)};
    for (FileChange& change : gone) {
      const bool put_too = std::any_of(changes.begin(), changes.end(), [&](const FileChange& one) { return one.path == change.path; });
      if (put_too) return Error{Code::kInvalid, fmt::format("'{}' is put and removed at once", change.path)};
      changes.push_back(std::move(change));
    }
  }
  if (const auto conflict = FindConflict(state, changes)) return Error{Code::kConflict, conflict->what};
  return RealChanges(state, std::move(changes));
}

}  // namespace acl::agent
