#pragma once
// JSON Patch (RFC 6902) and JSON Pointer (RFC 6901): the form of every change of a subject's state (document 000, 11.7.5).

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"

namespace acl {

// Applies the patch (an array of operations: add, remove, replace, move, copy, test) to a whole value. All or nothing.
// kInvalid with the index of the operation and the reason.
Result<Json> ApplyPatch(Json document, const Json& patch);

// "/a~1b" -> {"a/b"}; kInvalid if it does not start with "/" or has a bad escape. "" -> {}.
Result<std::vector<std::string>> ParsePointer(std::string_view pointer);
// {"a/b"} -> "/a~1b"
std::string MakePointer(const std::vector<std::string>& tokens);
// "a/b" -> "/a~1b", behind what is there.
void AppendPointerToken(std::string_view token, std::string& pointer);

// Single operations. (Kinds say theirs as values: delta.h.)
Json PatchAdd(std::vector<std::string> path, Json value);
Json PatchReplace(std::vector<std::string> path, Json value);
Json PatchRemove(std::vector<std::string> path);
Json PatchCopy(std::vector<std::string> from, std::vector<std::string> path);

}  // namespace acl
