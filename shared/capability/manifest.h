#pragma once
// The files of a run (docs/architecture.md#workspaces): entries `file:<path>` of the state Document.
//
//   "file:out/report.md"  ->  {"hash": "<sha-256 hex>", "size": 1234, "mode": 420}
//   "file:out"            ->  {"dir": true, "mode": 493}
//
// Contents lie by hash in the content store. A path is relative, "/"-separated, without ".", ".." or empty components; people see it
// under the logical root `/workspace/`, which is accepted back as input and is the same on every worker.
// A directory is there if it has an entry or if something lies under it; WithParents makes the entries.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/ids.h"
#include "shared/base/json.h"
#include "shared/journal/document.h"
#include "shared/kernel/kind.h"

namespace acl {

inline constexpr std::string_view kFileKeyPrefix = "file:";
inline constexpr std::string_view kLogicalRoot = "/workspace";
inline constexpr std::size_t kMaxPathBytes = 3000;
inline constexpr std::size_t kMaxComponentBytes = 255;
inline constexpr std::size_t kMaxPathDepth = 200;  // names in a path; the same at submit and in every step

struct FileEntry {
  Hash256 hash{};         // zero for directories
  std::int64_t size = 0;  // bytes; 0 for directories
  int mode = 0644;        // permission bits, 0 .. 0777
  bool is_dir = false;

  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

Json FileEntryToJson(const FileEntry& entry);
Result<FileEntry> FileEntryFromJson(const Json& json);  // kInvalid with what is wrong

// What people write ("a/b", "./a//b", "a/../b", "/workspace/a/b") -> "a/b"; the root is "". kInvalid with the reason and which root
// applies: leaves the workspace, NUL or control characters, not UTF-8, a component over 255 bytes, over 3000 bytes or 200 names in all.
Result<std::string> NormalisePath(std::string_view raw);
std::string LogicalPath(std::string_view path);                // "a/b" -> "/workspace/a/b"; "" -> "/workspace"
std::string ParentPath(std::string_view path);                 // "a/b" -> "a"; "a" -> ""
std::string BaseName(std::string_view path);                   // "a/b" -> "b"
bool IsUnder(std::string_view path, std::string_view folder);  // strictly below; every path but "" is under ""

std::string FileKey(std::string_view path);  // "file:a/b"

// nullopt: no entry (it may still be a directory without one). kCorrupt if the entry does not parse.
Result<std::optional<FileEntry>> FindFile(const Document& state, std::string_view path);

// The whole manifest, sorted by path. Walks the state. kCorrupt names the entry that does not parse.
using Manifest = std::map<std::string, FileEntry, std::less<>>;
Result<Manifest> ReadManifest(const Document& state);
// SHA-256 over RFC 8785 of all entries, hex: what a decision about the files is bound to. Empty: there are none. Walks the state.
std::string ManifestRoot(const Document& state);
// What no file system could hold: "'d' is a file, yet 'd/y' lies below it"; nullopt if the manifest can be.
std::optional<std::string> ImpossibleIn(const Manifest& manifest);

// A change that deletes: a file has a hash, a directory says so.
inline bool IsDeletion(const FileChange& change) { return !change.hash && !change.is_dir; }
FileEntry EntryOf(const FileChange& change);
// FileChange::found of a path in this state.
Hash256 FoundAt(const Document& state, std::string_view path);
// The patch operations (JSON Patch array) that make these changes to the state; changes that change nothing are left out.
Json PatchFiles(const Document& state, const std::vector<FileChange>& changes);
// Normalises paths, adds missing parent directories, sorts. kInvalid: bad path, two entries of one path, a file where a directory is
// needed, with the directories more than limits::kRunFiles or kRunPathsBytes.
Result<std::vector<FileChange>> WithParents(std::vector<FileChange> files);

}  // namespace acl
