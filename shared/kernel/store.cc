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

Result<CommitOutcome> KernelStore::Direct(const SubjectId& subject, const DirectDecider& decide) {
  CommandRequest request;
  request.subject = subject;
  request.takes_inbox = false;
  return Command(request, [&](const CommandView& view) -> Result<std::optional<CommandItem>> {
    auto item = decide(view.claimed);
    if (!item) return item.error();
    return std::optional(CommandItem{std::move(*item), {}, {}});
  });
}

}  // namespace acl
