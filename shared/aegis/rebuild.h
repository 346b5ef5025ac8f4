#pragma once
// A bundle and its prompt from what a ledger recorded, bit by bit. Plain texts: a rebuilt prompt cannot be sent to a model by the
// pipeline's types.

#include <functional>
#include <map>

#include "shared/aegis/render.h"

namespace acl::aegis {

struct Rebuilt {
  std::string bundle;  // context_bundle.json, canonical
  std::string bundle_hash;
  std::vector<PromptMessage> messages;
  std::string prefix_hash, prompt_hash;

  friend bool operator==(const Rebuilt&, const Rebuilt&) = default;
};

// `recorded`: of CompileInputToJson. kInvalid: it is no such record, or was made by another version of the compiler.
Result<Rebuilt> RebuildBundle(const Json& recorded);

// A record with its kernel and artifacts stored by content: an artifact that is known to a thousand exchanges is stored once, and the
// record holds its hash.
struct SplitRecord {
  Json record;
  std::map<std::string, std::string> contents;  // "sha256:..." -> the canonical text that it is of
};
SplitRecord SplitByContent(const Json& recorded);
// The record again. `read`: the content of a hash. kCorrupt if a content is not what its hash says; an error of `read` as it is.
Result<Json> JoinRecord(const Json& record, const std::function<Result<std::string>(const std::string&)>& read);

// The same of what was just rendered, for comparison.
Rebuilt TextsOf(const RenderedPrompt& prompt);

}  // namespace acl::aegis
