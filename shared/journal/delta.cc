#include "shared/journal/delta.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/json_object.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

using Kind = DeltaOp::Kind;

constexpr std::string_view kNames[] = {"add", "remove", "replace", "move", "copy", "test"};

void AppendEscaped(std::string_view token, std::string& pointer) {
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

std::string Below(std::string_view member) {
  std::string below(1, '/');
  AppendEscaped(member, below);
  return below;
}

std::string Shown(const std::string& text) {
  constexpr std::size_t kShown = 60;
  return DumpJson(Json(text.size() <= kShown ? text : text.substr(0, kShown) + "..."));
}

// "/a~1b/c" into "a/b" and "/c".
Status SplitPointer(const Json* member, const char* name, std::string& entry, std::string& below) {
  if (member == nullptr) return {Code::kInvalid, fmt::format("has no \"{}\"", name)};
  if (!member->is_string()) return {Code::kInvalid, fmt::format("\"{}\" is a {}, not a JSON Pointer", name, member->type_name())};
  const std::string& pointer = member->get_ref<const std::string&>();
  if (pointer.find('~') != std::string::npos || pointer.empty() || pointer[0] != '/') {
    auto tokens = ParsePointer(pointer);
    if (!tokens) return {Code::kInvalid, fmt::format("\"{}\": {}", name, tokens.message())};
    if (tokens->empty()) {
      return {Code::kInvalid, fmt::format("(\"{}\" is \"\"): a path of a state names an entry; the whole state cannot be replaced, "
                                          "copied or tested",
                                          name)};
    }
    entry = std::move(tokens->front());
    const auto second = pointer.find('/', 1);
    if (second != std::string::npos) below = pointer.substr(second);
    return {};
  }
  const auto second = pointer.find('/', 1);
  entry.assign(pointer, 1, second == std::string::npos ? second : second - 1);
  if (second != std::string::npos) below.assign(pointer, second);
  return {};
}

Result<DeltaOp> ParseOp(const Json& json) {
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
    return {Code::kInvalid,
            fmt::format("\"op\" is {}; known are add, remove, replace, move, copy, test", Shown(name->get_ref<const std::string&>()))};
  }
  DeltaOp op;
  op.kind = Kind(known - std::begin(kNames));
  if (auto path = SplitPointer(at, "path", op.entry, op.below); !path) return path.error();
  if (op.kind == Kind::kMove || op.kind == Kind::kCopy) {
    if (auto from = SplitPointer(from_at, "from", op.from_entry, op.from_below); !from) return from.error();
    const bool below = op.entry == op.from_entry && op.below.size() > op.from_below.size() && op.below.starts_with(op.from_below) &&
                       op.below[op.from_below.size()] == '/';
    if (op.kind == Kind::kMove && below) return {Code::kInvalid, "moves a value into itself"};
  } else if (op.kind != Kind::kRemove) {
    if (value == nullptr) return {Code::kInvalid, "has no \"value\""};
    op.value = *value;
  }
  return op;
}

}  // namespace

std::string_view NameOf(Kind kind) { return kNames[std::size_t(kind)]; }

void AppendPointer(std::string_view entry, std::string_view below, std::string& out) {
  out += '/';
  AppendEscaped(entry, out);
  out += below;
}

const Json& DeltaOp::said() const { return leaf ? leaf->value : value; }

Delta::Delta(const Json& patch) {
  auto parsed = Parse(patch);
  if (parsed) {
    ops = std::move(parsed->ops);
  } else {
    broken = std::make_shared<Error>(parsed.error());
  }
}

Result<Delta> Delta::Parse(const Json& patch) {
  if (!patch.is_array()) return {Code::kInvalid, fmt::format("a JSON Patch is an array of operations, not a {}", patch.type_name())};
  Delta delta;
  delta.ops.reserve(patch.size());
  for (const Json& json : patch.get_ref<const Json::array_t&>()) {
    auto op = ParseOp(json);
    if (!op) return {Code::kInvalid, fmt::format("JSON Patch operation {} {}", delta.ops.size(), op.message())};
    delta.ops.push_back(std::move(*op));
  }
  return delta;
}

DeltaOp& Delta::Op(Kind kind, std::string_view entry) {
  DeltaOp& op = ops.emplace_back();
  op.kind = kind;
  op.entry = entry;
  return op;
}

void Delta::AddMember(std::string_view entry, std::string_view member, Json value) {
  DeltaOp& op = Op(Kind::kAdd, entry);
  op.below = Below(member);
  op.value = std::move(value);
}

void Delta::RemoveMember(std::string_view entry, std::string_view member) { Op(Kind::kRemove, entry).below = Below(member); }

void Delta::Copy(std::string_view from_entry, std::string_view from_member, std::string_view entry) {
  DeltaOp& op = Op(Kind::kCopy, entry);
  op.from_entry = from_entry;
  op.from_below = Below(from_member);
}

Delta Delta::Impossible(std::string_view reason) {
  Delta delta;
  delta.Op(Kind::kReplace, fmt::format("impossible: {}", reason));
  return delta;
}

Json Delta::ToPatch() const {
  Json patch = Json::array();
  for (const DeltaOp& op : ops) {
    Json one = ObjectFor(3);
    std::string path, from;
    AppendPointer(op.entry, op.below, path);
    const bool has_from = op.kind == Kind::kMove || op.kind == Kind::kCopy;
    if (has_from) {
      AppendPointer(op.from_entry, op.from_below, from);
      acl::AddMember(one, "from", std::move(from));
    }
    acl::AddMember(one, "op", NameOf(op.kind));
    acl::AddMember(one, "path", std::move(path));
    if (!has_from && op.kind != Kind::kRemove) acl::AddMember(one, "value", op.said());
    patch.push_back(std::move(one));
  }
  return patch;
}

}  // namespace acl
