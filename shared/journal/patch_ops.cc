#include "shared/journal/patch_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "shared/journal/json_patch.h"

namespace acl::patch {

namespace {

constexpr std::string_view kNames[] = {"add", "remove", "replace", "move", "copy", "test"};

std::string Shown(const std::string& token) {
  constexpr std::size_t kShown = 60;
  return DumpJson(Json(token.size() <= kShown ? token : token.substr(0, kShown) + "..."));
}

// "0", "7", "12"; not "", "01", "+1", "-1", "1e0".
std::optional<std::size_t> Index(const std::string& token) {
  if (token.empty() || token.size() > 9 || (token.size() > 1 && token[0] == '0')) return std::nullopt;
  std::size_t index = 0;
  for (char c : token) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + std::size_t(c - '0');
  }
  return index;
}

const Json* Child(const Json& parent, const std::string& token, std::string& why) {
  if (parent.is_object()) {
    if (auto it = parent.find(token); it != parent.end()) return &*it;
    why = fmt::format("there is no member {}", Shown(token));
    return nullptr;
  }
  if (!parent.is_array()) {
    why = fmt::format("{} is looked up in a {}, which has no members", Shown(token), parent.type_name());
    return nullptr;
  }
  auto index = Index(token);
  if (!index) {
    why = fmt::format("{} is not an array index", Shown(token));
  } else if (*index >= parent.size()) {
    why = fmt::format("index {} is outside an array of {}", *index, parent.size());
  } else {
    return &parent[*index];
  }
  return nullptr;
}

Json* FindMutable(Json& root, Path path, std::string& why) { return const_cast<Json*>(Find(root, path, why)); }

bool EqualNumbers(const Json& a, const Json& b) {
  if (!a.is_number_float() && !b.is_number_float()) {
    // Not with ==, which takes 2^64 - 1 for -1.
    const bool a_negative = !a.is_number_unsigned() && a.get<std::int64_t>() < 0;
    const bool b_negative = !b.is_number_unsigned() && b.get<std::int64_t>() < 0;
    return a_negative == b_negative && a.get<std::uint64_t>() == b.get<std::uint64_t>();
  }
  if (a.is_number_float() && b.is_number_float()) return a.get<double>() == b.get<double>();
  const double real = a.is_number_float() ? a.get<double>() : b.get<double>();
  const Json& whole = a.is_number_float() ? b : a;
  if (real != std::floor(real)) return false;
  if (whole.is_number_unsigned()) {
    return real >= 0 && real < 0x1p64 && static_cast<std::uint64_t>(real) == whole.get<std::uint64_t>();
  }
  return real >= -0x1p63 && real < 0x1p63 && static_cast<std::int64_t>(real) == whole.get<std::int64_t>();
}

Result<const std::string*> PointerIn(const Json* member, const char* name) {
  if (member == nullptr) return {Code::kInvalid, fmt::format("has no \"{}\"", name)};
  if (!member->is_string()) return {Code::kInvalid, fmt::format("\"{}\" is a {}, not a JSON Pointer", name, member->type_name())};
  return &member->get_ref<const std::string&>();
}

Status ReadPointer(const std::string& text, const char* name, std::vector<std::string>& path) {
  auto pointer = ParsePointer(text);
  if (!pointer) return {Code::kInvalid, fmt::format("\"{}\": {}", name, pointer.message())};
  path = std::move(*pointer);
  return {};
}

Result<Op> ParseOp(const Json& json) {
  auto words = ReadOp(json);
  if (!words) return words.error();
  Op op;
  op.kind = words->kind;
  op.value = words->value;
  if (auto path = ReadPointer(*words->path, "path", op.path); !path) return path.error();
  if (words->from == nullptr) return op;
  if (auto from = ReadPointer(*words->from, "from", op.from); !from) return from.error();
  if (op.kind == OpKind::kMove && IsProperPrefix(op.from, op.path)) return {Code::kInvalid, "moves a value into itself"};
  return op;
}

}  // namespace

std::string_view NameOf(OpKind kind) { return kNames[std::size_t(kind)]; }

Result<OpWords> ReadOp(const Json& json) {
  if (!json.is_object()) return {Code::kInvalid, fmt::format("is a {}, not an object", json.type_name())};
  const Json *name = nullptr, *at = nullptr, *from_at = nullptr, *value = nullptr;
  for (const auto& [key, member] : json.get_ref<const Json::object_t&>()) {
    const std::string_view is = key;
    if (is == "op") name = &member;
    if (is == "path") at = &member;
    if (is == "from") from_at = &member;
    if (is == "value") value = &member;
  }
  if (name == nullptr || !name->is_string()) return {Code::kInvalid, "has no \"op\" that is a string"};
  auto known = std::find(std::begin(kNames), std::end(kNames), name->get_ref<const std::string&>());
  if (known == std::end(kNames)) {
    return {Code::kInvalid, fmt::format("\"op\" is {}; known are add, remove, replace, move, copy, test", Shown(*name))};
  }
  OpWords words;
  words.kind = OpKind(known - std::begin(kNames));
  auto path = PointerIn(at, "path");
  if (!path) return path.error();
  words.path = *path;
  if (words.kind == OpKind::kMove || words.kind == OpKind::kCopy) {
    auto from = PointerIn(from_at, "from");
    if (!from) return from.error();
    words.from = *from;
  } else if (words.kind != OpKind::kRemove) {
    if (value == nullptr) return {Code::kInvalid, "has no \"value\""};
    words.value = value;
  }
  return words;
}

Result<std::vector<Op>> Parse(const Json& patch) {
  if (!patch.is_array()) return {Code::kInvalid, fmt::format("a JSON Patch is an array of operations, not a {}", patch.type_name())};
  std::vector<Op> ops;
  ops.reserve(patch.size());
  for (const Json& json : patch) {
    auto op = ParseOp(json);
    if (!op) return {Code::kInvalid, fmt::format("JSON Patch operation {} {}", ops.size(), op.message())};
    ops.push_back(std::move(*op));
  }
  return ops;
}

Error At(std::size_t index, const Op& op, std::string_view why) {
  std::string path = MakePointer(op.path);
  if (path.size() > 200) path = path.substr(0, 200) + "...";
  return {Code::kInvalid, fmt::format("JSON Patch operation {} ({} {}): {}", index, NameOf(op.kind), DumpJson(Json(path)), why)};
}

const Json* Find(const Json& root, Path path, std::string& why) {
  const Json* at = &root;
  for (const std::string& token : path) {
    at = Child(*at, token, why);
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool Add(Json& root, Path path, Json value, std::string& why) {
  if (path.empty()) {
    root = std::move(value);
    return true;
  }
  Json* parent = FindMutable(root, path.first(path.size() - 1), why);
  if (parent == nullptr) return false;
  const std::string& last = path.back();
  if (parent->is_object()) {
    (*parent)[last] = std::move(value);
    return true;
  }
  if (!parent->is_array()) {
    why = fmt::format("{} cannot be added to a {}", Shown(last), parent->type_name());
    return false;
  }
  auto index = last == "-" ? std::optional(parent->size()) : Index(last);
  if (!index) {
    why = fmt::format("{} is not an array index", Shown(last));
    return false;
  }
  if (*index > parent->size()) {
    why = fmt::format("index {} is beyond the end of an array of {}", *index, parent->size());
    return false;
  }
  parent->insert(parent->begin() + std::ptrdiff_t(*index), std::move(value));
  return true;
}

bool Replace(Json& root, Path path, Json value, std::string& why) {
  Json* at = FindMutable(root, path, why);
  if (at == nullptr) return false;
  *at = std::move(value);
  return true;
}

std::optional<Json> Take(Json& root, Path path, std::string& why) {
  Json* parent = FindMutable(root, path.first(path.size() - 1), why);
  if (parent == nullptr) return std::nullopt;
  const Json* child = Child(*parent, path.back(), why);
  if (child == nullptr) return std::nullopt;
  Json taken = std::move(*const_cast<Json*>(child));
  if (parent->is_object()) {
    parent->erase(path.back());
  } else {
    parent->erase(*Index(path.back()));
  }
  return taken;
}

bool Equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return EqualNumbers(a, b);
  if (a.type() != b.type()) return false;
  if (!a.is_structured()) return a == b;
  if (a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), [](const Json& x, const Json& y) { return Equal(x, y); });
  for (auto it = a.begin(), hint = b.begin(); it != a.end(); ++it, ++hint) {
    auto other = hint.key() == it.key() ? hint : b.find(it.key());  // mostly in the same order
    if (other == b.end() || !Equal(*it, *other)) return false;
  }
  return true;
}

bool IsProperPrefix(Path from, Path path) { return from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin()); }

bool Copies::Take(const Json& value, std::string& why) {
  const std::size_t bytes = SizeOf(value, left_);
  if (bytes > left_) {
    why = fmt::format("the copies of this patch make more than {} bytes", limits::kPatchCopyBytes);
    return false;
  }
  left_ -= bytes;
  return true;
}

}  // namespace acl::patch
