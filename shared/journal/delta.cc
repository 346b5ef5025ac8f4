#include "shared/journal/delta.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/json_object.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

using Kind = DeltaOp::Kind;

std::string Below(std::string_view member) {
  std::string below;
  AppendPointerToken(member, below);
  return below;
}

// "/a~1b/c" into "a/b" and "/c".
Status SplitPointer(const std::string& pointer, const char* name, std::string& entry, std::string& below) {
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

// Takes the value out of it.
Result<DeltaOp> ParseOp(Json& json) {
  auto words = patch::ReadOp(json);
  if (!words) return words.error();
  DeltaOp op;
  op.kind = words->kind;
  if (auto path = SplitPointer(*words->path, "path", op.entry, op.below); !path) return path.error();
  if (words->value != nullptr) op.value = std::move(*json.find("value"));
  if (words->from == nullptr) return op;
  if (auto from = SplitPointer(*words->from, "from", op.from_entry, op.from_below); !from) return from.error();
  const bool below = op.entry == op.from_entry && op.below.size() > op.from_below.size() && op.below.starts_with(op.from_below) &&
                     op.below[op.from_below.size()] == '/';
  if (op.kind == Kind::kMove && below) return {Code::kInvalid, "moves a value into itself"};
  return op;
}

}  // namespace

void AppendPointer(std::string_view entry, std::string_view below, std::string& out) {
  AppendPointerToken(entry, out);
  out += below;
}

const Json& DeltaOp::said() const { return leaf ? leaf->value() : value; }

Delta::Delta(const Json& patch) {
  auto parsed = Parse(patch);
  if (parsed) {
    ops = std::move(parsed->ops);
  } else {
    broken = std::make_shared<Error>(parsed.error());
  }
}

Result<Delta> Delta::Parse(Json patch) {
  if (!patch.is_array()) return {Code::kInvalid, fmt::format("a JSON Patch is an array of operations, not a {}", patch.type_name())};
  Delta delta;
  delta.ops.reserve(patch.size());
  for (Json& json : patch.get_ref<Json::array_t&>()) {
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
