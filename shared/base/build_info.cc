#include "shared/base/build_info.h"

namespace acl {

[[gnu::weak]] std::string_view BuildCommit() { return "unknown"; }

std::string VersionLine(std::string_view program, std::string_view version) {
  return std::string(program) + " " + std::string(version) + " (" + std::string(BuildCommit()) + ")";
}

}  // namespace acl
