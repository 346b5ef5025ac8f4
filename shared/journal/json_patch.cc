#include "shared/journal/json_patch.h"

#include <fmt/format.h>

#include "shared/journal/patch_ops.h"

namespace acl {

namespace {

// False, with the reason; the document is then thrown away.
bool ApplyOp(Json& document, const patch::Op& op, std::string& why) {
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
      if (op.kind == patch::OpKind::kCopy) return patch::Add(document, op.path, Json(*from), why);
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

Json Operation(const char* name, const std::vector<std::string>& path) {
  Json op = Json::object();
  auto& members = op.get_ref<Json::object_t&>();
  members.reserve(3);
  members.emplace_back("op", name);
  members.emplace_back("path", MakePointer(path));
  return op;
}

Json With(Json op, const char* name, Json value) {
  op.get_ref<Json::object_t&>().emplace_back(name, std::move(value));
  return op;
}

}  // namespace

Result<Json> ApplyPatch(Json document, const Json& patch) {
  auto ops = patch::Parse(patch);
  if (!ops) return ops.error();
  std::string why;
  for (std::size_t i = 0; i < ops->size(); ++i) {
    if (!ApplyOp(document, (*ops)[i], why)) return patch::At(i, (*ops)[i], why);
  }
  return document;
}

Result<std::vector<std::string>> ParsePointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer[0] != '/') return {Code::kInvalid, "a JSON Pointer is empty or starts with \"/\""};
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      tokens.emplace_back();
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

std::string MakePointer(const std::vector<std::string>& tokens) {
  std::string pointer;
  for (const std::string& token : tokens) {
    pointer += '/';
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
  return pointer;
}

Json PatchAdd(std::vector<std::string> path, Json value) { return With(Operation("add", path), "value", std::move(value)); }

Json PatchReplace(std::vector<std::string> path, Json value) { return With(Operation("replace", path), "value", std::move(value)); }

Json PatchRemove(std::vector<std::string> path) { return Operation("remove", path); }

Json PatchCopy(std::vector<std::string> from, std::vector<std::string> path) {
  return With(Operation("copy", path), "from", MakePointer(from));
}

}  // namespace acl
