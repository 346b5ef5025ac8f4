#pragma once
// The encodings io.fs.read_file and io.fs.write_file know: utf-8, ascii, latin-1 (and Python's other spellings of them).

#include <string>
#include <string_view>

#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl {

struct DecodedText {
  std::string text;            // UTF-8
  std::size_t characters = 0;  // code points
};

// "must be ..." of the name of an encoding; "": it is one.
std::string BadEncoding(const Json& name);
Result<DecodedText> DecodeText(std::string_view bytes, std::string_view encoding);
Result<std::string> EncodeText(std::string_view text, std::string_view encoding);

}  // namespace acl
