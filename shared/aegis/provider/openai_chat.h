#pragma once
// Chat completions as OpenAI, Ollama, vLLM and llama.cpp speak them. What differs between them and is understood here:
//   - usage comes with the finish reason, or in a last chunk without choices, or not at all
//   - [DONE] may be missing: an answer with a finish reason is whole
//   - an error may come as an object in mid-stream, or as the body of a 200
//   - a tool call comes in fragments by index, or whole, or as several whole ones that all say index 0 (Ollama)
//   - tool_choice "required" may be ignored: the answer then has no tool call, and that is what is given back

#include "shared/aegis/provider/protocol.h"

namespace acl::aegis {

class OpenAiChat final : public Protocol {
 public:
  WireRequest Encode(const ModelRequest& request, bool stream, const Dialect& dialect) const override;
  std::pair<std::string, std::string> KeyHeader(const std::string& key) const override;
  ModelResult DecodeAnswer(std::string_view body) const override;
  std::unique_ptr<EventReader> ReadEvents() const override;
};

}  // namespace acl::aegis
