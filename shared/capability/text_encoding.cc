#include "shared/capability/text_encoding.h"

#include <fmt/format.h>

#include "shared/base/utf8.h"

namespace acl {

namespace {

enum class Encoding { kUtf8, kAscii, kLatin1 };

Result<Encoding> ParseEncoding(std::string_view name) {
  std::string word;
  for (char c : name) {
    if (c == '_' || c == ' ') c = '-';
    word += char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  if (word == "utf-8" || word == "utf8") return Encoding::kUtf8;
  if (word == "ascii" || word == "us-ascii") return Encoding::kAscii;
  if (word == "latin-1" || word == "latin1" || word == "iso-8859-1") return Encoding::kLatin1;
  return Error{Code::kInvalid, fmt::format("unknown encoding '{}'; write utf-8, ascii or latin-1", name)};
}

}  // namespace

std::string BadEncoding(const Json& name) {
  return name.is_string() && !ParseEncoding(name.get_ref<const std::string&>())
             ? "must be utf-8, ascii or latin-1, not " + name.dump().substr(0, 100)
             : "";
}

Result<DecodedText> DecodeText(std::string_view bytes, std::string_view encoding) {
  auto kind = ParseEncoding(encoding);
  if (!kind) return kind.error();
  if (bytes.find('\0') != std::string_view::npos) {
    return Error{Code::kInvalid,
                 "holds NUL bytes, so it is not text that can be kept in the journal; io.fs.hash_file or sys.exec.run can work on it"};
  }
  if (*kind == Encoding::kLatin1) return DecodedText{FromLatin1(bytes), bytes.size()};
  std::string single;
  bool fits = *kind == Encoding::kUtf8 ? IsUtf8(bytes) : ToSingleBytes(bytes, 128, single);
  if (!fits)
    return Error{Code::kInvalid,
                 fmt::format("is not {} text; set `encoding` (utf-8, ascii, latin-1) or use io.fs.hash_file for binary files", encoding)};
  return DecodedText{std::string(bytes), CountCodePoints(bytes)};
}

Result<std::string> EncodeText(std::string_view text, std::string_view encoding) {
  auto kind = ParseEncoding(encoding);
  if (!kind) return kind.error();
  if (*kind == Encoding::kUtf8) return std::string(text);
  std::string bytes;
  if (!ToSingleBytes(text, *kind == Encoding::kAscii ? 128 : 256, bytes)) {
    return Error{Code::kInvalid, fmt::format("the content has characters that {} cannot write; use utf-8", encoding)};
  }
  return bytes;
}

}  // namespace acl
