#include "shared/workflow/record_patch.h"

#include "shared/journal/json_patch.h"

namespace acl::workflow {

namespace {

constexpr std::size_t kOperationBytes = 45;  // what an operation takes besides path and value

// Of the text, roughly.
std::size_t TextBytes(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() + 2;
  if (!value.is_structured()) return 6;
  std::size_t bytes = 2;
  for (auto it = value.begin(); it != value.end(); ++it) bytes += TextBytes(*it) + (value.is_object() ? it.key().size() + 4 : 1);
  return bytes;
}

}  // namespace

void PatchMembers(Json& patch, std::string_view key, const Json& before, const Json& after) {
  for (auto it = after.begin(); it != after.end(); ++it) {
    auto old = before.find(it.key());
    if (old == before.end() || *old != it.value()) patch.push_back(PatchAdd({std::string(key), it.key()}, it.value()));
  }
  for (auto it = before.begin(); it != before.end(); ++it) {
    if (!after.contains(it.key())) patch.push_back(PatchRemove({std::string(key), it.key()}));
  }
}

void PatchRecord(Json& patch, const std::string& key, const Json* before, Json after) {
  if (before == nullptr) {
    patch.push_back(PatchAdd({key}, std::move(after)));
    return;
  }
  Json operations = Json::array();
  PatchMembers(operations, key, *before, after);
  std::size_t bytes = 0;
  for (const Json& operation : operations) bytes += TextBytes(operation);
  if (operations.size() > 1 && TextBytes(after) + key.size() + kOperationBytes <= bytes) {
    patch.push_back(PatchAdd({key}, std::move(after)));
  } else {
    for (Json& operation : operations) patch.push_back(std::move(operation));
  }
}

}  // namespace acl::workflow
