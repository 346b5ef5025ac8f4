#include "cli/upload.h"

#include <filesystem>
#include <map>
#include <set>

#include "shared/base/ids.h"
#include "shared/base/read_file.h"
#include "shared/base/sha256.h"
#include "shared/base/utf8.h"

namespace acl::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20'000;
constexpr std::size_t kLargest = 64u << 20;

// By the path in the run.
struct Found {
  std::map<std::string, fs::path> files, folders;
};

// Bytes that a terminal would show as something else, in hex.
std::string Escaped(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      constexpr const char* kHex = "0123456789abcdef";
      out += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
    }
  }
  return out;
}

Error TwoWouldBe(const std::string& path) {
  return {Code::kInvalid, "--files: two files would be " + path + "; give the folders prefixes: DIR=PREFIX"};
}

Status Collect(Session* session, const std::string& folder, Found* found) {
  std::size_t equals = folder.rfind('=');
  fs::path root = folder;
  std::string prefix;
  std::error_code error;
  if (equals != std::string::npos && !fs::exists(root, error)) {
    root = folder.substr(0, equals);
    prefix = folder.substr(equals + 1);
    while (prefix.ends_with('/')) prefix.pop_back();
    while (prefix.starts_with('/')) prefix.erase(0, 1);
    if (!prefix.empty()) prefix += '/';
  }
  if (!fs::is_directory(root, error)) return Error{Code::kInvalid, "--files: " + root.string() + " is no folder"};
  fs::recursive_directory_iterator it(root, fs::directory_options::none, error), end;
  for (; !error && it != end; it.increment(error)) {
    const fs::file_status status = it->symlink_status(error);
    if (error) break;
    const std::string path = prefix + it->path().lexically_relative(root).generic_string();
    if (!IsUtf8(path)) {
      return Error{Code::kInvalid, "--files: the name '" + Escaped(it->path().string()) +
                                       "' is not UTF-8, and a run can hold no other; rename it (convmv does that for whole folders)"};
    }
    if (fs::is_directory(status)) {
      found->folders.emplace(path, it->path());
      continue;
    }
    if (!fs::is_regular_file(status)) {
      session->Note("airun: skipped " + it->path().string() + ": neither file nor folder (links are not followed)");
      continue;
    }
    if (!found->files.emplace(path, it->path()).second) return TwoWouldBe(path);
    if (found->files.size() > kMostFiles) return Error{Code::kInvalid, "--files: more than " + std::to_string(kMostFiles) + " files"};
  }
  if (error) return Error{Code::kInvalid, "--files: cannot read " + root.string() + ": " + error.message()};
  return {};
}

// A folder is there by what lies in it; of the others each is an entry of its own, once if it is in several of `--files`.
Status AddEmptyFolders(Found* found) {
  std::map<std::string, fs::path>& files = found->files;
  for (auto folder = found->folders.rbegin(); folder != found->folders.rend(); ++folder) {  // what lies deeper comes first
    const auto inside = files.lower_bound(folder->first + "/");
    if (files.contains(folder->first)) return TwoWouldBe(folder->first);
    if (inside == files.end() || !inside->first.starts_with(folder->first + "/")) files.insert(*folder);
  }
  if (files.size() > kMostFiles) return Error{Code::kInvalid, "--files: more than " + std::to_string(kMostFiles) + " files"};
  return {};
}

}  // namespace

Result<Json> Upload(Session* session, ApiClient& api, const std::vector<std::string>& folders) {
  Found found;
  for (const std::string& folder : folders)
    if (Status collected = Collect(session, folder, &found); !collected) return collected.error();
  if (Status added = AddEmptyFolders(&found); !added) return added.error();
  Json list = Json::array();
  std::set<std::string> sent;
  for (const auto& [path, from] : found.files) {
    std::error_code error;
    const int mode = static_cast<int>(fs::status(from, error).permissions()) & 0777;
    if (fs::is_directory(from, error)) {
      list.push_back({{"path", path}, {"dir", true}, {"mode", mode}});
      continue;
    }
    auto bytes = ReadFile(from.string(), kLargest);
    if (!bytes) return Error{Code::kInvalid, "--files: " + bytes.message()};
    const std::string hash = ToHex(Sha256(*bytes));
    const std::size_t size = bytes->size();
    if (sent.insert(hash).second)
      if (Status put = api.PutContent(hash, std::move(*bytes)); !put) return Error{put.code(), "--files: " + path + ": " + put.message()};
    list.push_back({{"path", path}, {"hash", hash}, {"size", size}, {"mode", mode}});
  }
  return list;
}

}  // namespace acl::cli
