#include <utf8proc.h>

#include <cstdlib>
#include <cstring>

#include "shared/definition/draft.h"

namespace acl {

namespace {

// Decodes one code point of valid UTF-8 at `at` and moves on.
unsigned NextCodePoint(std::string_view text, std::size_t* at) {
  auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  unsigned first = byte(*at);
  int more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  unsigned code = more == 0 ? first : first & (0x3Fu >> more);
  for (int k = 1; k <= more; ++k) code = (code << 6) | (byte(*at + static_cast<std::size_t>(k)) & 0x3F);
  *at += static_cast<std::size_t>(more) + 1;
  return code;
}

bool IsSpace(unsigned c) {
  return c == ' ' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x3000;
}
// Control characters, line separators, and the marks that reorder or hide text on a screen.
bool IsInvisible(unsigned c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFFE && c <= 0xFFFF);
}

// Unicode NFC: one spelling of what looks the same, so that equal names are equal bytes.
bool IsNfc(std::string_view text) {
  utf8proc_uint8_t* composed = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), utf8proc_ssize_t(text.size()), &composed,
                                   utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const bool same = length == utf8proc_ssize_t(text.size()) && std::memcmp(composed, text.data(), text.size()) == 0;
  std::free(composed);
  return same;
}

}  // namespace

std::optional<std::string> BadName(std::string_view name, std::size_t longest) {
  if (name.empty()) return "is empty; give it a name of its own";
  if (name.size() > longest) return "has " + std::to_string(name.size()) + " bytes; the limit is " + std::to_string(longest);
  std::size_t at = 0;
  unsigned first = 0, last = 0;
  for (bool begin = true; at < name.size(); begin = false) {
    unsigned code = NextCodePoint(name, &at);
    if (IsInvisible(code)) return "holds a control or invisible character; remove it";
    if (begin) first = code;
    last = code;
  }
  if (!IsNfc(name)) return "holds a letter and its accent as two characters; write it composed (Unicode NFC)";
  if (IsSpace(first) || IsSpace(last)) return "begins or ends with a space; remove it";
  return std::nullopt;
}

}  // namespace acl
