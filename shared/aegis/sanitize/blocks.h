#pragma once
// What is cut over several lines, or by its size: private keys and certificates (PEM), the values of an .env file, a log or journal beyond
// its first lines, long base64 or hex, bytes that are no text.

#include <cstdint>
#include <string_view>
#include <vector>

namespace acl::aegis {

inline constexpr int kLogExcerptLines = 8;           // of a log or journal stay
inline constexpr int kEnvLines = 3;                  // so many assignments make an .env file, if one of them has a secret's name
inline constexpr int kBase64Lines = 6;               // of nothing but base64 are a file
inline constexpr int kHexDumpLines = 4;              // as hexdump and xxd print them
inline constexpr std::size_t kLongPiece = 256;       // so many bytes of base64 without a break are a file; of hex twice as many
inline constexpr std::size_t kLongestArmor = 65536;  // between the BEGIN and the END of a key

struct Block {
  std::size_t begin = 0, end = 0;
  const char* kind = "";
};

struct Blocks {
  std::vector<Block> found;
  std::size_t open;  // what stands from here on could still become one if the text goes on
  std::size_t keep;  // a line start: what stands before it decides nothing behind it
};

Blocks FindBlocks(std::string_view text);

// Its parts. `open` is lowered to where more text could change what is found; kept by FindBlocks in one place.
void FindArmor(std::string_view text, Blocks& blocks);       // armor.cc
void FindLongPieces(std::string_view text, Blocks& blocks);  // pieces.cc
void FindBinary(std::string_view text, Blocks& blocks);      // pieces.cc
void FindLineRuns(std::string_view text, Blocks& blocks);    // line_runs.cc

inline bool IsBase64Byte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '=' || c == '-' ||
         c == '_';
}
// Base64 of something, or long hex: characters of several kinds, as chance mixes them.
bool IsRandom(std::string_view piece);

}  // namespace acl::aegis
