#pragma once
// From a bundle to a prompt. The stable part stands first, so that a provider's prompt cache holds it: kernel, constraints, tools, older
// facts. Then the facts of this session, open items, work and turns; then sight, freshness and the clock; the question last.
//
// What is untrusted stands between two lines that name a random marker of this exchange, each of its lines behind "| ". It cannot close
// its block: a line of it never begins with the marker's line, whatever the text, and the marker itself is replaced where it occurs.

#include <memory>
#include <string>
#include <vector>

#include "shared/aegis/bundle.h"

namespace acl::aegis {

struct PromptMessage {
  std::string role;  // "system", "user"
  std::string content;
  friend bool operator==(const PromptMessage&, const PromptMessage&) = default;
};

struct PromptParts {
  CompiledBundle bundle;
  std::vector<PromptMessage> messages;  // the first is the stable part
  std::string prefix_hash;  // "sha256:..." over RFC 8785 of the first message: unchanged between turns with the same older facts
  std::string prompt_hash;  // of all messages
};

// Made by Render alone.
class RenderedPrompt {
 public:
  RenderedPrompt(RenderedPrompt&&) noexcept = default;
  RenderedPrompt& operator=(RenderedPrompt&&) noexcept = default;
  RenderedPrompt(const RenderedPrompt&) = delete;
  RenderedPrompt& operator=(const RenderedPrompt&) = delete;

  const CompiledBundle& bundle() const { return parts().bundle; }
  const std::vector<PromptMessage>& messages() const { return parts().messages; }
  const std::string& prefix_hash() const { return parts().prefix_hash; }
  const std::string& prompt_hash() const { return parts().prompt_hash; }

 private:
  friend Result<RenderedPrompt> Render(CompiledBundle bundle);
  explicit RenderedPrompt(std::unique_ptr<const PromptParts> parts) : parts_(std::move(parts)) {}
  const PromptParts& parts() const {
    ACL_CHECK(parts_ != nullptr, "a prompt that was moved on");
    return *parts_;
  }

  std::unique_ptr<const PromptParts> parts_;
};

// kInvalid if the bundle's marker is not 16 to 64 lower-case letters and digits.
Result<RenderedPrompt> Render(CompiledBundle bundle);

// RFC 8785 of the messages: [{"content": ..., "role": ...}, ...].
std::string CanonicalMessages(const std::vector<PromptMessage>& messages);

// One untrusted text between its markers.
std::string Delimited(std::string_view what, std::string_view text, std::string_view marker);

}  // namespace acl::aegis
