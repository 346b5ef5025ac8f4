#include "shared/workflow/step_id.h"

#include <fmt/format.h>

#include "shared/base/sha256.h"

namespace acl::workflow {

namespace {

constexpr std::size_t kHashDigits = 16;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string Escaped(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (std::string_view("/[]#%:*").find(c) != std::string_view::npos) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string Shortened(std::string id) {
  std::size_t chars = 0, cut = id.size();
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (IsContinuation(id[i])) continue;
    if (chars == kMaxStepIdChars - kHashDigits - 1) cut = i;
    ++chars;
  }
  if (chars <= kMaxStepIdChars) return id;
  std::string hash = ToHex(Sha256(id)).substr(0, kHashDigits);
  id.resize(cut);
  return id + "~" + hash;
}

}  // namespace

std::string StepIdOf(std::string_view name) { return Shortened(Escaped(name)); }
std::string UndoIdOf(std::string_view name) { return Shortened("undo:" + Escaped(name)); }
std::string GlobalUndoIdOf(int index) { return fmt::format("undo:/global[{}]", index); }

std::string IdempotencyKeyOf(std::string_view run_id, std::string_view step_id) {
  return ToHex(Sha256({"acl-idempotency-v1", std::string_view("\0", 1), run_id, std::string_view("\0", 1), step_id})).substr(0, 32);
}

}  // namespace acl::workflow
