#include "shared/journal/json_patch.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/json_object.h"
#include "shared/journal/patch_ops.h"

namespace acl {

namespace {

// False, with the reason; the document is then thrown away.
bool ApplyOp(Json& document, const patch::Op& op, patch::Copies& copies, std::string& why) {
  switch (op.kind) {
    case patch::OpKind::kAdd: return patch::Add(document, op.path, *op.value, why);
    case patch::OpKind::kReplace: return patch::Replace(document, op.path, *op.value, why);
    case patch::OpKind::kRemove: {
      if (!op.path.empty()) return patch::Take(document, op.path, why).has_value();
      why = "the whole document cannot be removed; replace it";
      return false;
    }
    case patch::OpKind::kCopy:
    case patch::OpKind::kMove: {
      const Json* from = patch::Find(document, op.from, why);
      if (from == nullptr) {
        why = "\"from\": " + why;
        return false;
      }
      if (op.kind == patch::OpKind::kCopy) return copies.Take(*from, why) && patch::Add(document, op.path, Json(*from), why);
      if (op.from == op.path) return true;
      auto moved = patch::Take(document, op.from, why);
      return moved && patch::Add(document, op.path, std::move(*moved), why);
    }
    case patch::OpKind::kTest: {
      const Json* at = patch::Find(document, op.path, why);
      if (at == nullptr) return false;
      why = "the value is another one";
      return patch::Equal(*at, *op.value);
    }
  }
  return false;
}

}  // namespace

Result<Json> ApplyPatch(Json document, const Json& patch) {
  auto ops = patch::Parse(patch);
  if (!ops) return ops.error();
  std::string why;
  patch::Copies copies;
  for (std::size_t i = 0; i < ops->size(); ++i) {
    if (!ApplyOp(document, (*ops)[i], copies, why)) return patch::At(i, (*ops)[i], why);
  }
  return document;
}

Result<std::vector<std::string>> ParsePointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer[0] != '/') return {Code::kInvalid, "a JSON Pointer is empty or starts with \"/\""};
  tokens.reserve(std::size_t(std::count(pointer.begin(), pointer.end(), '/')));
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      const std::size_t end = std::min(pointer.find_first_of("/~", i + 1), pointer.size());
      tokens.emplace_back(pointer.substr(i + 1, end - i - 1));
      i = end - 1;
    } else if (pointer[i] != '~') {
      tokens.back() += pointer[i];
    } else {
      const char escape = ++i < pointer.size() ? pointer[i] : '/';
      if (escape != '0' && escape != '1') return {Code::kInvalid, "\"~\" in a JSON Pointer is followed by 0 or 1"};
      tokens.back() += escape == '0' ? '~' : '/';
    }
  }
  return tokens;
}

void AppendPointerToken(std::string_view token, std::string& pointer) {
  pointer += '/';
  if (token.find_first_of("~/") == std::string_view::npos) {
    pointer += token;
    return;
  }
  for (char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

namespace {

Json Operation(const char* name, std::string pointer) {
  Json op = ObjectFor(3);
  AddMember(op, "op", name);
  AddMember(op, "path", std::move(pointer));
  return op;
}

Json With(Json op, const char* name, Json value) {
  AddMember(op, name, std::move(value));
  return op;
}

}  // namespace

std::string MakePointer(const std::vector<std::string>& tokens) {
  std::string pointer;
  for (const std::string& token : tokens) AppendPointerToken(token, pointer);
  return pointer;
}

Json PatchAdd(std::vector<std::string> path, Json value) { return With(Operation("add", MakePointer(path)), "value", std::move(value)); }

Json PatchReplace(std::vector<std::string> path, Json value) {
  return With(Operation("replace", MakePointer(path)), "value", std::move(value));
}

Json PatchRemove(std::vector<std::string> path) { return Operation("remove", MakePointer(path)); }

Json PatchCopy(std::vector<std::string> from, std::vector<std::string> path) {
  return With(Operation("copy", MakePointer(path)), "from", MakePointer(from));
}

}  // namespace acl
