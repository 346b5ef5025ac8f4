// Long base64 or hex without a break, and bytes that are no text.
#include <algorithm>

#include "shared/aegis/sanitize/blocks.h"
#include "shared/aegis/sanitize/value_checks.h"
#include "shared/base/utf8.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kBinaryGap = 8;  // fewer good bytes between bad ones belong to them

bool IsOfImage(std::string_view text, std::size_t begin, std::string_view piece) {
  if (IsImage(piece)) return true;
  const auto before = text.substr(begin < 64 ? 0 : begin - 64, std::min<std::size_t>(begin, 64));
  return before.ends_with("base64,") && (before.find("data:image/") != before.npos || before.find("data:font/") != before.npos);
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\b' && c != '\x1b') || byte == 0x7f;
}

// Bytes of text at `at`; 0: none.
std::size_t TextBytes(std::string_view text, std::size_t at) {
  if (static_cast<unsigned char>(text[at]) < 0x80) return IsControl(text[at]) ? 0 : 1;
  return Utf8SequenceLength(text.substr(at, 4));
}

}  // namespace

bool IsRandom(std::string_view piece) {
  bool lower = false, upper = false, digit = false, hex = true;
  for (const char c : piece) {
    lower |= c >= 'a' && c <= 'z';
    upper |= c >= 'A' && c <= 'Z';
    digit |= c >= '0' && c <= '9';
    hex &= (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }
  if (hex) return digit && piece.size() >= 2 * kLongPiece && BitsOfCharacter(piece) >= 3;
  return lower && upper && digit && BitsOfCharacter(piece) >= 4;
}

void FindLongPieces(std::string_view text, Blocks& blocks) {
  for (std::size_t at = 0; at < text.size();) {
    if (!IsBase64Byte(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && IsBase64Byte(text[at])) ++at;
    const auto piece = text.substr(begin, at - begin);
    if (at == text.size()) blocks.open = std::min(blocks.open, begin);
    if (piece.size() >= kLongPiece && IsRandom(piece) && !IsOfImage(text, begin, piece)) blocks.found.push_back({begin, at, "blob"});
  }
}

void FindBinary(std::string_view text, Blocks& blocks) {
  std::size_t begin = text.npos, end = 0;
  const auto close = [&] {
    if (begin == text.npos) return;
    blocks.found.push_back({begin, end, "binary"});
    if (text.size() - end < kBinaryGap) blocks.open = std::min(blocks.open, begin);
    begin = text.npos;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t good = TextBytes(text, at);
    if (good == 0) {
      if (begin == text.npos) begin = at;
      end = ++at;
      continue;
    }
    at += good;
    if (begin != text.npos && at - end >= kBinaryGap) close();
  }
  close();
}

}  // namespace acl::aegis
