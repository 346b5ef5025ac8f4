#pragma once
// A bundle and its prompt from what a ledger recorded, bit by bit. Plain texts: a rebuilt prompt cannot be sent to a model by the
// pipeline's types.

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

// The same of what was just rendered, for comparison.
Rebuilt TextsOf(const RenderedPrompt& prompt);

}  // namespace acl::aegis
