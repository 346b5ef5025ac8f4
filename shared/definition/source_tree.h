#pragma once
// A file's text as a tree in which every key and value knows its place: what the loader checks. YAML 1.2 core schema (our own reading of
// plain scalars, not yaml-cpp's) or JSON. Everything that could make a small text large or ambiguous is refused here: aliases beyond a
// node count, cyclic aliases, duplicate and merge keys, explicit tags, several documents, NUL, invalid UTF-8
// (docs/architecture.md#workflows).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"
#include "shared/definition/loader.h"

namespace acl {

struct SourceEntry;

struct SourceNode {
  enum class Kind { kNull, kBoolean, kInteger, kFloat, kString, kList, kMap };
  Kind kind = Kind::kNull;
  SourceMark mark;
  Json scalar;                       // null, boolean, number or string; unused for lists and maps
  std::vector<SourceNode> items;     // of a list
  std::vector<SourceEntry> entries;  // of a map, in file order, keys distinct

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_string() const { return kind == Kind::kString; }
  bool is_null() const { return kind == Kind::kNull; }
  const SourceEntry* Find(std::string_view key) const;
};

struct SourceEntry {
  std::string key;
  SourceMark key_mark;
  SourceNode value;
};

// "a string", "a list" ...: for messages.
std::string_view KindName(SourceNode::Kind kind);

Json ToJson(const SourceNode& node);

// Reads the text; what is wrong is added to `findings`. nullopt if the text is not readable at all. A tree may come with errors (a
// duplicate key, say: the first one is kept), so that the rest of the file is checked in the same pass.
std::optional<SourceNode> ReadSource(const std::string& text, const LoadOptions& options, std::vector<Finding>* findings);

// ---- the two readers behind ReadSource

std::optional<SourceNode> ReadYaml(const std::string& text, const LoadOptions& options, std::vector<Finding>* findings);
std::optional<SourceNode> ReadJsonSource(const std::string& text, const LoadOptions& options, std::vector<Finding>* findings);

// A plain (unquoted) YAML scalar by the 1.2 core schema. `error` is set if it is a number that JSON or 64 bits cannot hold.
struct PlainScalar {
  SourceNode::Kind kind = SourceNode::Kind::kString;
  Json value;
  std::string error;
};
PlainScalar ResolvePlain(const std::string& text);

// Shared by both readers: adds an entry or reports the duplicate.
void AddEntry(SourceNode* map, SourceEntry entry, std::vector<Finding>* findings);
void AddError(std::vector<Finding>* findings, SourceMark mark, std::string code, std::string message);
// Everything that is found goes through here: a message that quotes a large value is cut, and beyond limits::kFindingsKept only errors are
// kept, up to as many again: an error that is not kept stands behind kFindingsKept that are, so the file is refused all the same.
void AddFinding(std::vector<Finding>* findings, Finding finding);

}  // namespace acl
