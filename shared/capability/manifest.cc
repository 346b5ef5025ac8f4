#include "shared/capability/manifest.h"

#include <fmt/format.h>

#include <set>

#include "shared/base/canonical_json.h"
#include "shared/base/limits.h"
#include "shared/base/utf8.h"
#include "shared/journal/json_patch.h"

namespace acl {

namespace {

std::string Escapes(std::string_view raw) {
  return fmt::format(
      "Security error: Path '{}' escapes workspace boundary; files of a run live under {}: write it relative (\"data/x.csv\") or as {}/...",
      raw, kLogicalRoot, kLogicalRoot);
}

}  // namespace

Json FileEntryToJson(const FileEntry& entry) {
  if (entry.is_dir) return Json{{"dir", true}, {"mode", entry.mode}};
  return Json{{"hash", ToHex(entry.hash)}, {"size", entry.size}, {"mode", entry.mode}};
}

Result<FileEntry> FileEntryFromJson(const Json& json) {
  if (!json.is_object()) return Error{Code::kInvalid, "a file entry is an object"};
  FileEntry entry;
  auto mode = json.find("mode");
  if (mode == json.end() || !mode->is_number_integer()) return Error{Code::kInvalid, "a file entry needs \"mode\", a whole number"};
  auto bits = mode->get<std::int64_t>();
  if (bits < 0 || bits > 0777) return Error{Code::kInvalid, "\"mode\" holds permission bits only: 0 to 511 (0777)"};
  entry.mode = int(bits);
  auto dir = json.find("dir");
  if (dir != json.end()) {
    if (!dir->is_boolean() || !dir->get<bool>()) return Error{Code::kInvalid, "\"dir\" is true or absent"};
    entry.is_dir = true;
    return entry;
  }
  auto hash = json.find("hash");
  auto parsed = hash != json.end() && hash->is_string() ? HashFromHex(hash->get_ref<const std::string&>()) : std::nullopt;
  if (!parsed) return Error{Code::kInvalid, "a file entry needs \"hash\", 64 hex digits"};
  entry.hash = *parsed;
  auto size = json.find("size");
  if (size == json.end() || !size->is_number_integer() || size->get<std::int64_t>() < 0) {
    return Error{Code::kInvalid, "a file entry needs \"size\", its bytes"};
  }
  entry.size = size->get<std::int64_t>();
  return entry;
}

Result<std::string> NormalisePath(std::string_view raw) {
  if (!IsUtf8(raw)) return Error{Code::kInvalid, fmt::format("a path must be UTF-8 (bytes in hex: {})", ToHex(raw.substr(0, 200)))};
  for (char c : raw) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return Error{Code::kInvalid,
                   fmt::format("a path must not hold NUL or control characters (byte {:#04x})", static_cast<unsigned char>(c))};
    }
  }
  std::string_view rest = raw;
  if (!rest.empty() && rest.front() == '/') {
    if (rest.substr(0, kLogicalRoot.size()) != kLogicalRoot) return Error{Code::kInvalid, Escapes(raw)};
    rest.remove_prefix(kLogicalRoot.size());
    if (!rest.empty() && rest.front() != '/') return Error{Code::kInvalid, Escapes(raw)};
  }
  std::vector<std::string_view> parts;
  while (!rest.empty()) {
    auto slash = rest.find('/');
    std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {  // no symbolic links in a manifest, so going up is purely lexical
      if (parts.empty()) return Error{Code::kInvalid, Escapes(raw)};
      parts.pop_back();
      continue;
    }
    if (part.size() > kMaxComponentBytes) {
      return Error{Code::kInvalid, fmt::format("a name in a path has {} bytes, {} are allowed: '{}...'", part.size(), kMaxComponentBytes,
                                               part.substr(0, 40))};
    }
    parts.push_back(part);
  }
  if (parts.size() > kMaxPathDepth)
    return Error{Code::kInvalid,
                 fmt::format("a path has {} names, {} are allowed: '{}...'", parts.size(), kMaxPathDepth, raw.substr(0, 40))};
  std::string path;
  for (auto part : parts) {
    if (!path.empty()) path += '/';
    path += part;
  }
  if (path.size() > kMaxPathBytes)
    return Error{Code::kInvalid, fmt::format("a path has {} bytes, {} are allowed", path.size(), kMaxPathBytes)};
  return path;
}

std::string LogicalPath(std::string_view path) {
  std::string out(kLogicalRoot);
  if (!path.empty()) out.append("/").append(path);
  return out;
}

std::string ParentPath(std::string_view path) {
  auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

std::string BaseName(std::string_view path) {
  auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool IsUnder(std::string_view path, std::string_view folder) {
  if (folder.empty()) return !path.empty();
  return path.size() > folder.size() && path[folder.size()] == '/' && path.substr(0, folder.size()) == folder;
}

std::string FileKey(std::string_view path) { return std::string(kFileKeyPrefix).append(path); }

Result<std::optional<FileEntry>> FindFile(const Document& state, std::string_view path) {
  const Json* json = state.Find(FileKey(path));
  if (!json) return std::optional<FileEntry>();
  auto entry = FileEntryFromJson(*json);
  if (!entry) return Error{Code::kCorrupt, fmt::format("manifest entry '{}': {}", path, entry.message())};
  return std::optional<FileEntry>(*entry);
}

Result<Manifest> ReadManifest(const Document& state) {
  Manifest manifest;
  std::optional<Error> bad;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (key.compare(0, kFileKeyPrefix.size(), kFileKeyPrefix) != 0) return true;
    auto entry = FileEntryFromJson(value);
    if (!entry) {
      bad = Error{Code::kCorrupt, fmt::format("manifest entry '{}': {}", key, entry.message())};
      return false;
    }
    manifest.emplace(key.substr(kFileKeyPrefix.size()), *entry);
    return true;
  });
  if (bad) return *bad;
  return manifest;
}

std::optional<std::string> ImpossibleIn(const Manifest& manifest) {
  std::set<std::string_view> directories;  // those that are sound, all the way up
  for (const auto& [path, entry] : manifest) {
    for (std::string_view rest = path; rest.rfind('/') != std::string_view::npos;) {
      rest = rest.substr(0, rest.rfind('/'));
      if (!directories.insert(rest).second) break;
      const auto above = manifest.find(rest);
      if (above != manifest.end() && !above->second.is_dir) return fmt::format("'{}' is a file, yet '{}' lies below it", rest, path);
    }
  }
  return std::nullopt;
}

FileEntry EntryOf(const FileChange& change) {
  FileEntry entry;
  entry.mode = change.mode;
  entry.is_dir = change.is_dir;
  if (!change.is_dir) {
    entry.hash = change.hash.value_or(Hash256{});
    entry.size = change.size;
  }
  return entry;
}

Hash256 FoundAt(const Document& state, std::string_view path) {
  const Json* entry = state.Find(FileKey(path));
  return entry ? CanonicalHash(*entry) : Hash256{};
}

Json PatchFiles(const Document& state, const std::vector<FileChange>& changes) {
  Json patch = Json::array();
  for (const auto& change : changes) {
    std::string key = FileKey(change.path);
    const Json* old = state.Find(key);
    if (IsDeletion(change)) {
      if (old) patch.push_back(PatchRemove({key}));
      continue;
    }
    Json entry = FileEntryToJson(EntryOf(change));
    if (!old) {
      patch.push_back(PatchAdd({key}, std::move(entry)));
    } else if (*old != entry) {
      patch.push_back(PatchReplace({key}, std::move(entry)));
    }
  }
  return patch;
}

Result<std::vector<FileChange>> WithParents(std::vector<FileChange> files) {
  std::map<std::string, FileChange> all;
  std::size_t bytes = 0;
  const auto count = [&](const std::string& path) -> Status {
    bytes += path.size();
    if (all.size() > limits::kRunFiles) {
      return {Code::kInvalid,
              fmt::format("more than {} files and folders (those above a file count); pack them into one (io.archive)", limits::kRunFiles)};
    }
    if (bytes > limits::kRunPathsBytes) {
      return {Code::kInvalid,
              fmt::format("the paths of all files and folders have more than {} bytes; use shorter names, or pack them into "
                          "one file (io.archive)",
                          limits::kRunPathsBytes)};
    }
    return {};
  };
  for (auto& file : files) {
    auto path = NormalisePath(file.path);
    if (!path) return path.error();
    if (path->empty()) return Error{Code::kInvalid, "a file needs a path below the workspace root"};
    file.path = *path;
    if (IsDeletion(file)) return Error{Code::kInvalid, fmt::format("file '{}' has no hash", *path)};
    if (!all.emplace(*path, std::move(file)).second) return Error{Code::kInvalid, fmt::format("file '{}' is there twice", *path)};
    if (Status counted = count(*path); !counted) return counted.error();
  }
  std::vector<std::string> paths;
  paths.reserve(all.size());
  for (const auto& [path, change] : all) paths.push_back(path);
  for (const auto& path : paths) {
    for (std::string parent = ParentPath(path); !parent.empty(); parent = ParentPath(parent)) {
      const auto [it, fresh] = all.try_emplace(parent, FileChange{parent, std::nullopt, 0, 0755, true});
      if (!it->second.is_dir) {
        return Error{Code::kInvalid, fmt::format("'{}' is a file, but '{}' needs it to be a directory", parent, path)};
      }
      if (!fresh) break;  // what lies above it is looked at with the path that named it, or was when it was added
      if (Status counted = count(parent); !counted) return counted.error();
    }
  }
  std::vector<FileChange> out;
  out.reserve(all.size());
  for (auto& [path, change] : all) out.push_back(std::move(change));
  return out;
}

std::string ManifestRoot(const Document& state) {
  Json manifest = Json::object();
  state.ForEach([&](const std::string& key, const Json& entry) {
    if (key.starts_with(kFileKeyPrefix)) manifest[key] = entry;
    return true;
  });
  return manifest.empty() ? "" : ToHex(CanonicalHash(manifest));
}

}  // namespace acl
