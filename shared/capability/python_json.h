#pragma once
// JSON text as Python's json module writes it, and values as its str() does: what files written for the earlier runtime expect of
// data.json.* (docs/reference/other-runtimes.md#capabilities).

#include <string>

#include "shared/base/json.h"

namespace acl {

struct PythonJsonStyle {
  bool ascii = true;                   // non-ASCII as \uXXXX
  int indent = 0;                      // 0: one line, ", " and ": "
  std::size_t most = std::size_t(-1);  // a text that becomes longer is not finished
};

std::string PythonJson(const Json& value, const PythonJsonStyle& style = {});
// 1 -> "1", 1.0 -> "1.0", 1e16 -> "1e+16"
std::string PythonNumber(const Json& number);
// Strings as they are, True, False, None, numbers as above, maps and lists as JSON.
std::string PythonText(const Json& value);

}  // namespace acl
