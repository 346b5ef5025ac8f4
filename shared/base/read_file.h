#pragma once
// A file whole, as text or bytes. A folder, a file without rights or one that is too large is an error that says so, never an exception.

#include <string>

#include "shared/base/result.h"

namespace acl {

// kInvalid: "cannot read PATH: why". Pipes are read to their end; `most`: bytes.
Result<std::string> ReadFile(const std::string& path, std::size_t most);
// kInvalid if the file cannot be opened for reading or is a folder: before a stream reads it piece by piece.
Status CheckReadable(const std::string& path);

}  // namespace acl
