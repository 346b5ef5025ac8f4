#include "shared/kernel/subject_part.h"

namespace acl {

std::optional<std::string> SubjectPart(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  std::string part;
  for (char c : text) {
    if (c == '-') continue;
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return std::nullopt;
    part += c;
  }
  if (part.size() < kFewestIdDigits || part.size() > kDigits) return std::nullopt;
  return part;
}

std::string NoSuchRun(std::string_view text) { return "there is no workflow run '" + std::string(text) + "'"; }

std::string ShortId(std::string_view id) { return std::string(id.substr(id.rfind('-') + 1)); }

}  // namespace acl
