#include "shared/base/utf8.h"

namespace acl {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

}  // namespace

std::size_t Utf8SequenceLength(std::string_view text) {
  auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  std::size_t length = lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  unsigned char second = at(1);
  bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  bool outside = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t length = Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string StorableText(std::string_view bytes, bool* changed) {
  std::string out;
  out.reserve(bytes.size());
  bool replaced = false;
  while (!bytes.empty()) {
    std::size_t length = bytes[0] == '\0' ? 0 : Utf8SequenceLength(bytes);
    if (length == 0) {
      out += kReplacement;
      replaced = true;
      length = 1;
    } else {
      out += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  if (changed) *changed = replaced;
  return out;
}

std::size_t CountCodePoints(std::string_view text) {
  std::size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

std::string FromLatin1(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += char(0xc0 | (byte >> 6));
      out += char(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

bool ToSingleBytes(std::string_view text, unsigned limit, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    unsigned point = byte;
    if (byte >= 0xc0) {
      if (byte > 0xc3 || i + 1 >= text.size()) return false;
      point = unsigned(byte & 0x1f) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3fu);
    }
    if (point >= limit) return false;
    out += char(point);
  }
  return true;
}

}  // namespace acl
