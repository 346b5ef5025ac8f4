#pragma once
// Anthropic's Messages. What differs from the other protocol and is understood here:
//   - system messages stand apart; max_tokens must be given; there is no seed
//   - `input_tokens` leaves out what was read from the cache and written to it
//   - usage comes in two parts: the prompt's at the start of a stream, the answer's with the stop reason
//   - blocks of thinking are passed over

#include "shared/aegis/provider/protocol.h"

namespace acl::aegis {

class AnthropicMessages final : public Protocol {
 public:
  WireRequest Encode(const ModelRequest& request, bool stream, const Dialect& dialect) const override;
  std::pair<std::string, std::string> KeyHeader(const std::string& key) const override;
  ModelResult DecodeAnswer(std::string_view body) const override;
  std::unique_ptr<EventReader> ReadEvents() const override;
};

}  // namespace acl::aegis
