#include "cli/project_files.h"

#include <filesystem>

#include "shared/base/read_file.h"
#include "shared/base/sha256.h"

namespace acl::cli {

namespace {

constexpr std::size_t kMostBytes = std::size_t(1) << 30;
constexpr std::string_view kFile = "file:", kHash = "@sha256:";

void Check(Json& one) {
  const std::string reference = one.value("reference", "");
  const auto hash = reference.rfind(kHash);
  if (!reference.starts_with(kFile) || hash == std::string::npos || one.value("state", "") != "unchecked") return;
  const std::string path = reference.substr(kFile.size(), hash - kFile.size());
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    one["state"] = "gone";
    one["why"] = "there is no such file here";
    return;
  }
  auto bytes = ReadFile(path, kMostBytes);
  if (!bytes) {
    one["why"] = bytes.message();
    return;
  }
  const bool same = ToHex(Sha256(*bytes)) == reference.substr(hash + kHash.size());
  one["state"] = same ? "ok" : "stale";
  one["why"] = same ? "it is here, unchanged" : "it is here, and not what it was";
}

}  // namespace

void CheckFiles(Json& next) {
  const auto references = next.find("references");
  if (references == next.end() || !references->is_array()) return;
  for (Json& one : *references) Check(one);
}

}  // namespace acl::cli
