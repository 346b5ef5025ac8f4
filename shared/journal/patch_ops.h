#pragma once
// JSON Patch inside: operations as values, and what they do below one value. ApplyPatch runs them on a whole value, Document::Apply on
// its entries; both mean exactly the same.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"

namespace acl::patch {

using Path = std::span<const std::string>;

enum class OpKind { kAdd, kRemove, kReplace, kMove, kCopy, kTest };
std::string_view NameOf(OpKind kind);  // "add", "remove" ...

// What one operation says, where it says it. The pointers are texts that nobody has read yet.
struct OpWords {
  OpKind kind = OpKind::kAdd;
  const std::string* path = nullptr;
  const std::string* from = nullptr;  // move and copy only
  const Json* value = nullptr;        // add, replace and test only
};
// kInvalid: it has not the form of an operation.
Result<OpWords> ReadOp(const Json& json);

struct Op {
  OpKind kind = OpKind::kAdd;
  std::vector<std::string> path, from;  // from: move and copy only
  const Json* value = nullptr;          // add, replace and test only; lives in the patch
};

// Checks the form of every operation before any is applied. kInvalid with the index.
Result<std::vector<Op>> Parse(const Json& patch);
// "operation 3 (replace /a/b): why"
Error At(std::size_t index, const Op& op, std::string_view why);

// nullptr, with the reason in `why`, if the path does not lead to a value.
const Json* Find(const Json& root, Path path, std::string& why);
// False, with the reason, and nothing changed. An empty path is the root itself.
bool Add(Json& root, Path path, Json value, std::string& why);
bool Replace(Json& root, Path path, Json value, std::string& why);
// The path is not empty. Moves the value out.
std::optional<Json> Take(Json& root, Path path, std::string& why);

// The copies of one patch, which are bounded: a copy of the whole below itself doubles it. False, with the reason, if this one is too much.
class Copies {
 public:
  bool Take(const Json& value, std::string& why);

 private:
  std::size_t left_ = limits::kPatchCopyBytes;
};

// RFC 6902, 4.6: numbers by value (1 equals 1.0, exactly, also beyond 2^53), objects whatever the order of their keys.
bool Equal(const Json& a, const Json& b);
// True if `path` lies below `from`: nothing can be moved into itself.
bool IsProperPrefix(Path from, Path path);

}  // namespace acl::patch
