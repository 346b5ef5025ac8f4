#include "shared/kernel/store.h"

namespace acl {

Result<std::map<Hash256, std::string>> KernelStore::GetContents(std::span<const Hash256> hashes) {
  std::map<Hash256, std::string> found;
  for (const Hash256& hash : hashes) {
    auto content = GetContent(hash);
    if (content) {
      found.emplace(hash, std::move(*content));
    } else if (content.code() != Code::kNotFound && content.code() != Code::kCorrupt) {
      return content.error();
    }
  }
  return found;
}

}  // namespace acl
