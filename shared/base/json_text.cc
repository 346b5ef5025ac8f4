#include "shared/base/json_text.h"

#include <double-conversion/double-conversion.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "shared/base/check.h"

namespace acl {

namespace {

// Whether one of the eight bytes is a control character, a quote or a backslash: a byte is below n if taking n from it borrows, and equal
// to c if it is below 1 after XOR with c. (A borrow may spread to the byte above, but only from one that is there.)
bool NeedsEscape(std::uint64_t eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u, kHigh = 0x8080808080808080u;
  const std::uint64_t quote = eight ^ (kOnes * '"'), backslash = eight ^ (kOnes * '\\');
  return ((((eight - kOnes * 0x20) & ~eight) | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash)) & kHigh) != 0;
}

}  // namespace

// What is left as it is goes out in one piece.
void AppendJsonString(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::uint64_t eight; i + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if (!NeedsEscape(eight)) {
        i += sizeof eight - 1;
        continue;
      }
    }
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, from, i - from);
    from = i + 1;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\f': out += "\\f"; break;
      case '\r': out += "\\r"; break;
      default:
        out += "\\u00";
        out += kHex[c >> 4];
        out += kHex[c & 15];
    }
  }
  out.append(text, from, text.size() - from);
  out += '"';
}

void AppendEcmaScriptNumber(double value, std::string& out) {
  ACL_CHECK(std::isfinite(value), "JSON has no NaN or infinity; CheckStorable refuses them");
  char buffer[64];
  double_conversion::StringBuilder builder(buffer, sizeof buffer);
  double_conversion::DoubleToStringConverter::EcmaScriptConverter().ToShortest(value, &builder);
  out.append(buffer, size_t(builder.position()));
}

std::size_t FindBadUtf8(std::string_view text) {
  auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  for (std::size_t i = 0; i < text.size();) {
    if (std::uint64_t eight; i + sizeof eight <= text.size()) {  // ASCII, mostly
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const unsigned c = byte(i), second = byte(i + 1);
    if (c < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    bool good = length > 0;
    for (std::size_t k = 1; k < length; ++k) good = good && (byte(i + k) & 0xc0) == 0x80;
    if (c == 0xe0) good = good && second >= 0xa0;  // no overlong forms
    if (c == 0xed) good = good && second <= 0x9f;  // no surrogates
    if (c == 0xf0) good = good && second >= 0x90;
    if (c == 0xf4) good = good && second <= 0x8f;  // no more than U+10FFFF
    if (!good) return i;
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace acl
