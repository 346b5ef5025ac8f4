#include "shared/base/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "shared/base/utf8.h"

namespace acl {

namespace {

struct Range {
  char32_t first, last;
};
// In order of their code points.
constexpr std::array<Range, 13> kUnsafe = {{{0x00, 0x08},
                                            {0x0B, 0x1F},
                                            {0x7F, 0x9F},
                                            {0x61C, 0x61C},
                                            {0x180E, 0x180E},
                                            {0x200B, 0x200B},
                                            {0x200E, 0x200F},
                                            {0x2028, 0x202E},
                                            {0x2060, 0x206F},
                                            {0xFEFF, 0xFEFF},
                                            {0xFFF9, 0xFFFB},
                                            {0x1D173, 0x1D17A},
                                            {0xE0000, 0xE007F}}};

bool IsUnsafe(char32_t point) {
  return std::any_of(kUnsafe.begin(), kUnsafe.end(), [&](const Range& range) { return point >= range.first && point <= range.last; });
}

char32_t PointOf(std::string_view sequence) {
  constexpr unsigned char kLead[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t point = static_cast<unsigned char>(sequence[0]) & kLead[sequence.size()];
  for (std::size_t i = 1; i < sequence.size(); ++i) point = point << 6 | (static_cast<unsigned char>(sequence[i]) & 0x3F);
  return point;
}

bool IsPlain(char c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t'; }

template <class Write>
std::string Escaped(std::string_view text, const Write& write) {
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    const std::size_t length = Utf8SequenceLength(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || (!IsPlain(one[0]) && IsUnsafe(PointOf(one)))) {
      write(one, length > 0, out);
    } else {
      out += one;
    }
    text.remove_prefix(one.size());
  }
  return out;
}

void AppendUnit(std::string& out, std::uint32_t unit) { fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit); }

}  // namespace

std::string TerminalText(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  return Escaped(text, [](std::string_view one, bool whole, std::string& out) {
    const auto point = static_cast<std::uint32_t>(whole ? PointOf(one) : static_cast<unsigned char>(one[0]));
    if (!whole || point < 0x80) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", point);
    } else if (point < 0x10000) {
      AppendUnit(out, point);
    } else {
      fmt::format_to(std::back_inserter(out), "\\U{:08x}", point);
    }
  });
}

std::string TerminalJson(std::string json) {
  if (std::all_of(json.begin(), json.end(), IsPlain)) return json;
  return Escaped(json, [](std::string_view one, bool whole, std::string& out) {
    const auto point = static_cast<std::uint32_t>(whole ? PointOf(one) : 0xFFFD);
    if (point < 0x10000) return AppendUnit(out, point);
    AppendUnit(out, 0xD7C0 + (point >> 10));
    AppendUnit(out, 0xDC00 + (point & 0x3FF));
  });
}

}  // namespace acl
